"""The private files of a job that looks for drift: what is remembered, what was refused last, and what was accepted.

In and out: plain data as JSON, mode 0600, each replaced in one step. `facts` is the file that the job names; beside it
`facts.refused` has the table that was refused last, and `facts.accepted` that somebody accepts it. All count few
records: none may leave the private side.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from typing_extensions import TypedDict

from engine.errors import DriftRefused, InvalidJob, unreadable
from engine.job.job import Job
from engine.regular_file import NotRegular, open_regular
from engine.tables.counting.drift_facts import Facts, keyed

FORMAT = 1
_ID_DIGITS = 16
_REFUSED, _ACCEPTED = "refused", "accepted"


class Difference(TypedDict):
    """How a table that was refused differs from that of the last release.

    `difference`: its name, a hash of all else but `made` of its facts; 16 hexadecimal digits that tell nothing, because
    facts have a random salt. `before`: SHA-256 of the facts that the table was compared with. `differences`: the limits
    that do not hold, in words without values.
    """

    format: int
    job: str
    difference: str
    before: str
    differences: list[str]
    facts: Facts


class Acceptance(Difference):
    """A difference that somebody accepts: `by` whom, `at` in UTC, ISO 8601, and with which `comment`."""

    by: str
    at: str
    comment: str | None


def read_facts(job: Job) -> Facts | None:
    """Read what is remembered of the last release; None if there is no file.

    Raises
    ------
    InvalidJob
        The file cannot be read, is open to others, or is of another job.
    """
    path = facts_file(job)
    found, named = _read(path), f"drift.facts, file {path}"
    return None if found is None else _sound(found["content"], named, job)


def keep_drift_facts(job: Job, facts: Mapping[str, Any]) -> None:
    """Remember the table of a release, once it is published: `facts` of its `Result`, in one step.

    What was refused or accepted before it is of the past, and is removed.

    Raises
    ------
    InvalidJob
        The facts are not those of a run of the job, or the file cannot be written.
    """
    path = facts_file(job)
    try:
        _write(path, _sound(dict(facts), "facts of a run", job))
        for kind in (_REFUSED, _ACCEPTED):
            _beside(path, kind).unlink(missing_ok=True)
    except OSError as problem:
        raise InvalidJob(
            f"drift.facts, file {path}: cannot be written ({unreadable(problem)}); the release is complete, and the "
            "next one is compared with the one before it"
        ) from None


@contextmanager
def keeping_refused_drift(job: Job) -> Iterator[None]:
    """Remember a table that is refused in the block, so that somebody can accept it: in place of the one before.

    Raises
    ------
    DriftRefused
        The same refusal; it says so if the file cannot be written.
    """
    try:
        yield
    except DriftRefused as refusal:
        if refusal.refused is None:
            raise
        path = _beside(facts_file(job), _REFUSED)
        try:
            _write(path, refusal.refused)
        except OSError as problem:
            raise DriftRefused(
                f"{refusal}; but nobody can accept it, since file {path} cannot be written ({unreadable(problem)})"
            ) from None
        raise


def difference_of(job: Job, before: Facts, differences: list[str], facts: Facts) -> Difference:
    """Return how a table differs from the one before, with its name."""
    found: Difference = {
        "format": FORMAT,
        "job": job.name,
        "difference": "",
        "before": hash_of(before),
        "differences": differences,
        "facts": facts,
    }
    return {**found, "difference": _name_of(found)}


def read_refused(job: Job) -> Difference | None:
    """Read what was refused last; None if nothing was since the last release.

    Raises
    ------
    InvalidJob
        As of `read_facts`.
    """
    return cast("Difference | None", _read_beside(job, _REFUSED))


def read_accepted(job: Job) -> Acceptance | None:
    """Read what somebody accepted since the last release; None if nobody did.

    Raises
    ------
    InvalidJob
        As of `read_facts`.
    """
    found = _read_beside(job, _ACCEPTED)
    if found is None:
        return None
    texts = (found.get("by"), found.get("at"), found.get("comment") or "")
    if not all(isinstance(text, str) for text in texts):
        raise InvalidJob(f"file {_beside(facts_file(job), _ACCEPTED)}: is damaged; remove it")
    return cast("Acceptance", found)


def write_accepted(job: Job, accepted: Acceptance) -> None:
    """Keep that a difference is accepted, readable for who owns the file of what was refused.

    Raises
    ------
    InvalidJob
        The file cannot be written: only who runs the job can accept.
    """
    facts = facts_file(job)
    path = _beside(facts, _ACCEPTED)
    try:
        _write(path, accepted, owned_as=_beside(facts, _REFUSED))
    except OSError as problem:
        raise InvalidJob(
            f"file {path}: cannot be written ({unreadable(problem)}); accept as the user who runs the job"
        ) from None


def facts_file(job: Job) -> Path:
    """Return where a job that looks for drift remembers."""
    assert job.drift is not None  # noqa: S101 (the caller has asked)
    return Path(job.drift.facts)


def hash_of(document: Any) -> str:
    """Return the SHA-256 of plain data, hexadecimal."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _name_of(found: Mapping[str, Any]) -> str:
    counted = {key: value for key, value in found["facts"].items() if key != "made"}
    return hash_of([found["before"], found["differences"], counted])[:_ID_DIGITS]


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def _read_beside(job: Job, kind: str) -> Any:
    path = _beside(facts_file(job), kind)
    found = _read(path)
    if found is None:
        return None
    content = found["content"]
    if not _is_difference(content):
        raise InvalidJob(f"file {path}: is damaged or of another version; remove it, and let the next run be refused")
    _sound(content["facts"], f"file {path}", job)
    return content


def _read(path: Path) -> dict[str, Any] | None:
    """Return the `content` of a private file, None where it is no JSON; or None if there is no such file."""
    named = f"drift.facts, file {path}"
    try:
        with open_regular(path) as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & 0o077:
                raise InvalidJob(
                    f"{named}: has mode {stat.S_IMODE(mode):04o}, must be closed to group and others; run `chmod 600`"
                )
            return {"content": json.loads(file.read())}
    except FileNotFoundError:
        return None
    except NotRegular:
        raise InvalidJob(f"{named}: is not a file; remove it") from None
    except OSError as problem:
        raise InvalidJob(f"{named}: cannot be read ({unreadable(problem)}); let who runs the job read it") from None
    except ValueError:
        return {"content": None}


def _write(path: Path, content: Mapping[str, Any], owned_as: Path | None = None) -> None:
    """Replace a private file in one step; root gives it to the owner of another one."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            if owned_as is not None and os.geteuid() == 0:
                owner = owned_as.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.write(json.dumps(content).encode())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _sound(found: Any, named: str, job: Job) -> Facts:
    """Return facts that have their form and are of the job."""
    if not _is_facts(found):
        raise InvalidJob(f"{named}: is damaged or of another version; remove it, and the next run begins anew")
    if found["job"] != job.name:
        raise InvalidJob(
            f"{named}: is of job {found['job']!r}; name one file per job. If that job was renamed to {job.name!r}, "
            "write this name for `job` in the file; or remove it, and the next run is compared with nothing"
        )
    return cast("Facts", found)


def _is_difference(found: Any) -> bool:
    """Whether nobody changed what was refused or accepted."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return False
    texts = found.get("differences")
    if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts) or not _is_facts(found["facts"]):
        return False
    return isinstance(found.get("before"), str) and found.get("difference") == _name_of(found)


def _is_facts(found: Any) -> bool:
    """Whether somebody else has not changed the form of a file of facts."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return False
    kinds: dict[str, type] = {"job": str, "made": str, "salt": str, "records": int, "types": dict, "columns": dict}
    if not all(isinstance(found.get(key), kind) for key, kind in kinds.items()):
        return False
    try:
        keyed(found["salt"], "", "")
    except ValueError:
        return False
    inner: dict[str, type] = {"definition": str, "level": int, "records": dict, "missing": int, "values": list}
    return all(
        isinstance(column, dict) and all(isinstance(column.get(key), kind) for key, kind in inner.items())
        for column in found["columns"].values()
    )
