"""Somebody accepts the table that drift refused last: it is meant to be so.

In: a job, and who accepts which difference. Out: a private file that the next run finds. It holds for tables that are
like the refused one, until a release is made: then it is removed, and holds no more even if it is still there.
"""

from __future__ import annotations

import datetime as dt

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.pipeline.drift_file import (
    Acceptance,
    facts_file,
    hash_of,
    read_accepted,
    read_facts,
    read_refused,
    write_accepted,
)

LONGEST = 500
"""Characters of the name of who accepts, and of the comment."""


def accept_drift(
    job: Job, *, by: str, comment: str | None = None, difference: str | None = None
) -> tuple[Acceptance, bool]:
    """Accept the difference for which a table of the job was refused last.

    Parameters
    ----------
    by, comment : str
        Who accepts it, and why, as report and ledger of the next release say it.
    difference : str, optional
        The name of the difference, as the refusal told it: another one is not accepted.

    Returns
    -------
    Acceptance
        The new one, or the one that holds already.
    bool
        Whether it is new.

    Raises
    ------
    InvalidJob
        Nothing was refused since the last release, or another difference than the one named; a text is too long; or
        the files cannot be read and written by who asks.
    """
    if job.drift is None:
        raise InvalidJob(
            "drift: the job does not look for it, so no table is refused for it, and there is nothing to accept"
        )
    for what, text in (("name of who accepts", by), ("comment", comment)):
        if text is not None and (not text.strip() or len(text) > LONGEST or not text.isprintable()):
            raise InvalidJob(f"the {what}: must be one line of 1 to {LONGEST} characters")
    refused, before = read_refused(job), read_facts(job)
    if refused is None or before is None or refused["before"] != hash_of(before):
        raise InvalidJob(
            f"drift.facts, file {facts_file(job)}: no run refused a table since the last release, so there is nothing "
            "to accept; run the job first, since a check keeps nothing of a table that it refuses"
        )
    if difference is not None and difference != refused["difference"]:
        raise InvalidJob(
            f"--difference {difference}: the table that was refused last has another one, {refused['difference']}; "
            "read why it was refused, and accept that one if it is meant to be so"
        )
    known = read_accepted(job)
    if known is not None and (known["before"], known["difference"]) == (refused["before"], refused["difference"]):
        return known, False
    now = dt.datetime.now(dt.timezone.utc).isoformat(timespec="seconds")
    accepted: Acceptance = {**refused, "by": by, "at": now, "comment": comment}
    write_accepted(job, accepted)
    return accepted, True
