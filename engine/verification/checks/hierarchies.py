"""Whether a release is judged by the hierarchies that it was made with: what others find would say nothing of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.job.hierarchies_stated import is_stated, others_than_stated, why_not_compared
from engine.message import Message
from engine.verification.finding import Finding

if TYPE_CHECKING:
    from engine.job.job import Job

CHECK = "hierarchy"


def check_hierarchies(job: Job, report: Mapping[str, Any] | None, secret: bytes | None) -> Iterator[Finding]:
    """Compare the hierarchies of a job with those that the report of a release says it was made with.

    There is none where nobody can tell: `why_not_compared` says why.

    Raises
    ------
    InvalidJob, InvalidData
        A file of a hierarchy is missing or broken.
    """
    stated = (report or {}).get("hierarchies")
    if stated is not None and not is_stated(stated):
        message = Message("hierarchies of the report are not as a run writes them; give the report of the release")
        yield Finding("report", False, None, None, None, message)
        return
    if stated is None or secret is None or why_not_compared(stated, secret) is not None:
        return
    others = dict(others_than_stated(job, stated, secret))
    for name in dict.fromkeys([*stated["digests"], *others]):
        other = others.get(name)
        told = f"column {name!r}: " + (other or "its hierarchy is the one that the release was made with")
        yield Finding(CHECK, other is None, None, None, name, Message(told), is_told=other is None)
