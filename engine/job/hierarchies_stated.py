"""With which hierarchies a release was made: what its report says of them, and whether a job still has them.

In: the hierarchies of a job, and the key of fingerprints of whoever runs it. Out: a digest for each column. The key is
of the installation and leaves no run; its id does, so that digests of two keys are not compared.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from typing_extensions import TypedDict

from engine.errors import EngineError
from engine.fingerprint_key import FingerprintKey
from engine.hierarchy.digest import digest
from engine.key_file import FINGERPRINTS
from engine.tables.sources.linked_name import TABLE

if TYPE_CHECKING:
    from engine.hierarchy.builder import HierarchyBuilder
    from engine.job.job import Job

_HEXADECIMAL = re.compile("[0-9a-f]+")


Unknown = Literal["changed", "not-compared"]
"""Why a hierarchy is not known to be that of a release: it is another one, or there is no digest, or no key to it."""


class HierarchiesStated(TypedDict):
    """Of each column with a hierarchy its digest, under the key with that id, with the random salt of the release."""

    key_id: str
    salt: str
    digests: dict[str, str]


def hierarchies_stated(job: Job, secret: bytes) -> HierarchiesStated:
    """Return what the report says of the hierarchies as they are now.

    Parameters
    ----------
    secret : bytes
        The key of fingerprints.

    Raises
    ------
    InvalidJob, InvalidData
        A file of a hierarchy is missing or broken.
    """
    salt = secrets.token_hex(16)
    digests = {name: _digest(name, one, secret, salt) for name, one in _hierarchies(job)}
    return {"key_id": FingerprintKey(secret).id, "salt": salt, "digests": digests}


def is_stated(stated: Any) -> TypeGuard[HierarchiesStated]:
    """Whether something is what a report says of hierarchies.

    Their form is exact, since messages repeat the id of the key: another text could pass for one of theirs.
    """
    if not isinstance(stated, Mapping) or not isinstance(stated.get("digests"), Mapping):
        return False
    texts = [stated.get("key_id"), stated.get("salt"), *stated["digests"].values()]
    return all(isinstance(text, str) and _HEXADECIMAL.fullmatch(text) for text in texts)


def why_not_compared(stated: Any, secret: bytes | None) -> str | None:
    """Return why nobody can tell whether the hierarchies are those of a release, and what to do; None if one can."""
    if stated is None:
        return (
            "its report does not say with which hierarchies it was made, as those without a key of fingerprints and of "
            "earlier versions do not"
        )
    if secret is None:
        return (
            f"the key of fingerprints with the id {stated['key_id']} was not given: name a private file that holds it "
            f"in {FINGERPRINTS}"
        )
    if stated["key_id"] != FingerprintKey(secret).id:
        return (
            f"its report is under the key of fingerprints with the id {stated['key_id']}, and the one that was given "
            f"has the id {FingerprintKey(secret).id}: give the key of that time, if it is kept"
        )
    return None


def others_than_stated(job: Job, stated: HierarchiesStated, secret: bytes) -> Iterator[tuple[str, str]]:
    """Yield each column whose hierarchy is not the one of a release, and what it is and what to do, in words.

    Parameters
    ----------
    secret : bytes
        The key that the digests were made under; see `why_not_compared`.

    Raises
    ------
    InvalidJob, InvalidData
        A file of a hierarchy is missing or broken.
    """
    now = dict(_hierarchies(job))
    for name in dict.fromkeys([*stated["digests"], *now]):
        before, hierarchy = stated["digests"].get(name), now.get(name)
        if hierarchy is None:
            yield name, "the job has no hierarchy of it, and the release was made with one; give the job of the release"
        elif before is None:
            yield name, "the release was made without a hierarchy of it; give the job of the release"
        elif _digest(name, hierarchy, secret, stated["salt"]) != before:
            yield name, _changed(name, hierarchy, before, secret, stated["salt"])


def hierarchies_problem(job: Job, report: Mapping[str, Any], secret: bytes) -> str | None:
    """Return which hierarchies are not those of a release, and what to do; None if all are, or nobody can tell.

    A report that says of them what no run writes is a problem too.

    Raises
    ------
    InvalidJob, InvalidData
        A file of a hierarchy is missing or broken.
    """
    stated = report.get("hierarchies")
    if stated is not None and not is_stated(stated):
        return "hierarchies of the report are not as a run writes them; give the report of the release"
    if not is_stated(stated) or why_not_compared(stated, secret) is not None:
        return None
    others = [f"column {name!r}: {told}" for name, told in others_than_stated(job, stated, secret)]
    return "; ".join(others) or None


def why_unknown(job: Job, report: Mapping[str, Any], secret: bytes | None) -> dict[str, Unknown]:
    """Return the columns whose hierarchy is not known to be the one that a release was made with, and why not.

    Parameters
    ----------
    secret : bytes or None
        The key of fingerprints, if there is one.
    """
    stated = report.get("hierarchies")
    if secret is None or not is_stated(stated) or why_not_compared(stated, secret) is not None:
        return {name: "not-compared" for name, _ in _hierarchies(job)}
    digests, salt = stated["digests"], stated["salt"]
    same = {name for name, one in _hierarchies(job) if _is_of(one, name, digests.get(name), secret, salt)}
    return {name: "changed" for name, _ in _hierarchies(job) if name not in same}


def _hierarchies(job: Job) -> Iterator[tuple[str, HierarchyBuilder]]:
    """Yield the hierarchies of the columns of the source; which of several tables a record is of is none."""
    for name, attribute in job.attributes.items():
        if attribute.hierarchy is not None and not (name == TABLE and job.tables is not None):
            yield name, attribute.hierarchy


def _changed(name: str, hierarchy: HierarchyBuilder, before: str, secret: bytes, salt: str) -> str:
    if hierarchy.file is None:
        return (
            f"its hierarchy ({hierarchy.builder}) is not the one that the release was made with; give the job of the "
            "release, with the packages that its report names under versions"
        )
    path = Path(hierarchy.file)
    told = f"the hierarchy file {path} is not as it was when the release was made, or its other keys are not"
    below = getattr(hierarchy, "hierarchy", hierarchy)  # of a policy the one that its groups rest on
    others = ((one, below.model_copy(update={below.file_key: str(one)})) for one in _kept(path))
    kept = next((one for one, other in others if _is_of(other, name, before, secret, salt)), None)
    if kept is not None:
        return f"{told}; {kept.name} beside it is the file of that time: name it in a copy of the job file"
    return (
        f"{told}; name the file of that time, from a backup, in a copy of the job file (`place` keeps earlier ones "
        f"beside it, as {path.name}.v1, and none there is it)"
    )


def _kept(path: Path) -> list[Path]:
    with suppress(OSError):
        found = [one for one in path.parent.iterdir() if one.name.startswith(f"{path.name}.v")]
        return sorted(found, key=lambda one: (len(one.name), one.name), reverse=True)
    return []


def _is_of(hierarchy: HierarchyBuilder, name: str, before: str | None, secret: bytes, salt: str) -> bool:
    """Whether a hierarchy has a digest; one whose file cannot be read has none."""
    with suppress(EngineError, OSError):
        return _digest(name, hierarchy, secret, salt) == before
    return False


def _digest(name: str, hierarchy: HierarchyBuilder, secret: bytes, salt: str) -> str:
    return digest(hierarchy, FingerprintKey(secret).derived("hierarchies"), (name, salt))
