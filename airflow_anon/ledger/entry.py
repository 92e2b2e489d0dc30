"""An entry of the ledger, and the part of its document that each column comes from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from airflow_anon.ledger.errors import LedgerError

RECALLED, REMOVED, GIVEN_UP = "recalled", "removed", "given-up"
OUTCOMES = ("released", "refused", "failed", RECALLED, REMOVED, GIVEN_UP)
OF_NO_ATTEMPT = (RECALLED, REMOVED, GIVEN_UP)
"""Outcomes of entries about releases that were made before."""
FORMAT = 1
"""The form of documents and entries."""
_LARGEST = 2**63 - 1

# Kind of each column, and whether it may be null; kinds are exact: true is not a number.
KINDS: dict[str, tuple[type, bool]] = {
    "sequence": (int, False),
    "recorded_at": (str, False),
    "job": (str, False),
    "dag_id": (str, False),
    "run_id": (str, False),
    "task_group": (str, False),
    "attempt": (int, False),
    "outcome": (str, False),
    "release_id": (str, True),
    "rows": (int, True),
    "suppressed": (int, True),
    "suppressed_share": (float, True),
    "information_loss": (float, True),
    "privacy_margin": (float, True),
    "optimal": (bool, True),
    "seconds": (float, True),
    "job_sha256": (str, True),
    "manifest_sha256": (str, True),
    "document_sha256": (str, False),
    "previous_sha256": (str, False),
    "entry_sha256": (str, False),
}

NAMED = ("job", "release_id", "dag_id", "run_id", "manifest_sha256")
"""Columns of a pending release that are also in its document."""

_FROM_DOCUMENT = {
    "job": ("name",),
    "dag_id": ("run", "dag_id"),
    "run_id": ("run", "run_id"),
    "task_group": ("run", "task_group"),
    "attempt": ("run", "attempt"),
    "outcome": ("outcome",),
    "release_id": ("publication", "release_id"),
    "rows": ("records", "source"),
    "suppressed": ("records", "suppressed"),
    "suppressed_share": ("records", "suppressed_share"),
    "information_loss": ("solution", "information_loss"),
    "privacy_margin": ("privacy_margin",),
    "optimal": ("solution", "optimal"),
    "job_sha256": ("job", "sha256"),
    "manifest_sha256": ("publication", "manifest_sha256"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of `release_ledger`; docs/ledger.md says what each column means."""

    sequence: int
    recorded_at: str
    job: str
    dag_id: str
    run_id: str
    task_group: str
    attempt: int
    outcome: str
    release_id: str | None
    rows: int | None
    suppressed: int | None
    suppressed_share: float | None
    information_loss: float | None
    privacy_margin: float | None
    optimal: bool | None
    seconds: float | None
    job_sha256: str | None
    manifest_sha256: str | None
    document_sha256: str
    previous_sha256: str
    entry_sha256: str

    @classmethod
    def of_cells(cls, cells: Mapping[str, Any]) -> Entry:
        """Make an entry from a database row; a damaged cell is empty, and the check of the chain reports it."""
        return cls(**{name: _readable(name, cells[name]) for name in KINDS})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pending:
    """One row of `pending_release`: a publication that has begun; `revoked` while it is being taken back."""

    job: str
    release_id: str
    dag_id: str
    run_id: str
    manifest_sha256: str
    revoked: bool
    since: str
    document: dict[str, Any]

    @property
    def airflow(self) -> str | None:
        """The id of the Airflow that has begun it; None if it is not known."""
        return _airflow_of(self.document)

    def is_of_run(self, dag_id: str, run_id: str) -> bool:
        """Whether it has the ids of a run, which may be one of another Airflow."""
        return (self.dag_id, self.run_id) == (dag_id, run_id)

    def is_of_another(self, airflow: str | None) -> bool:
        """Whether it is known to be of another Airflow than the one with this id."""
        return is_of_another(self.document, airflow)

    def refuse_another(self, run: Mapping[str, Any]) -> None:
        """Refuse that a run goes on with the publication of a run of the same id in another Airflow.

        Parameters
        ----------
        run : mapping
            `run` of a document.

        Raises
        ------
        LedgerError
            It is known to be one.
        """
        if self.is_of_another(run.get("airflow")):
            raise LedgerError(
                f"release {self.release_id!r} of job {self.job!r}: a run of the same id in another Airflow has begun "
                f"to publish it; let one of the two have another ledger, or another id of its DAG. If the other "
                f"Airflow is gone, end what it left by `airflow-anon settle {self.job}/{self.release_id}`"
            )


def is_of_another(document: Mapping[str, Any], airflow: str | None) -> bool:
    """Whether a document is known to be of a run in another Airflow than the one with this id."""
    theirs = _airflow_of(document)
    return None not in (airflow, theirs) and airflow != theirs


def cell(name: str, raw: Any) -> Any:
    """Return a column's value from a database row, exactly of the column's kind.

    Raises
    ------
    LedgerError
        It is of another kind, so this package did not write it.
    """
    kind, may_be_null = KINDS[name]
    if raw is None and may_be_null:
        return None
    # SQLite has no boolean type.
    value = bool(raw) if kind is bool and type(raw) is int and raw in (0, 1) else raw
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise LedgerError(f"{name} cannot be read")
    return value


def columns_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of `release_ledger` that come from an entry's document.

    Raises
    ------
    LedgerError
        The document lacks one of them, or has a value that the column cannot hold.
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise LedgerError(f"the document's format: must be {FORMAT}")
    columns = {name: _column(name, _found(document, path), ".".join(path)) for name, path in _FROM_DOCUMENT.items()}
    columns["seconds"] = _seconds(document)
    if columns["outcome"] not in OUTCOMES:
        raise LedgerError(f"the document's outcome: must be one of {', '.join(OUTCOMES)}")
    if columns["outcome"] in (RECALLED, REMOVED):
        return _withdrawn(document, columns)
    published = (columns["release_id"] is not None, columns["manifest_sha256"] is not None)
    if published != ((columns["outcome"] == "released"),) * 2:
        raise LedgerError(
            "the document's publication: must have release_id and manifest_sha256 if the outcome is released, and "
            "be null otherwise"
        )
    return columns


def _withdrawn(document: Mapping[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of an entry that takes a release out of the share; it names that release."""
    named = _column("release_id", _found(document, ("withdrawal", "release_id")), "withdrawal.release_id")
    if named is None or columns["manifest_sha256"] is not None:
        raise LedgerError(
            "the document's withdrawal: must have release_id, and its publication must be null, if the outcome is "
            f"{RECALLED} or {REMOVED}"
        )
    return {**columns, "release_id": named}


def stored_text(what: str, text: Any) -> str:
    """Return a text that every database can hold.

    Raises
    ------
    LedgerError
        It is not text, or holds a NUL or a lone surrogate.
    """
    if not isinstance(text, str) or not is_storable(text):
        raise LedgerError(f"{what}: must be a text without NUL and without lone surrogates")
    return text


def is_storable(value: str | int) -> bool:
    """Whether every database can hold a value: a number, or a text without NUL and lone surrogates."""
    if isinstance(value, int):
        return 0 <= value <= _LARGEST
    return "\x00" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _airflow_of(document: Mapping[str, Any]) -> str | None:
    found = _found(document, ("run", "airflow"))
    return found if isinstance(found, str) else None


def _found(document: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = document
    for key in path:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _column(name: str, value: Any, where: str) -> Any:
    kind, may_be_null = KINDS[name]
    if value is None and may_be_null:
        return None
    if kind is str:
        return stored_text(f"the document's {where}", value)
    if kind is float and _is_double(value):
        # PostgreSQL's numeric literals have no negative zero.
        return float(value) + 0.0
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return int(value)
    if kind is bool and isinstance(value, bool):
        return value
    needed = {int: "a whole number of at least 0", float: "a finite number", bool: "true or false"}[kind]
    raise LedgerError(f"the document's {where}: must be {needed}{' or null' if may_be_null else ''}")


def _is_double(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _seconds(document: Mapping[str, Any]) -> float | None:
    """Return the sum of the times of the engine's steps, which do not overlap, in seconds."""
    timings = document.get("timings")
    if timings is None:
        return None
    if not isinstance(timings, Mapping):
        raise LedgerError("the document's timings: must be a mapping of steps to seconds, or null")
    steps = [_column("seconds", seconds, f"timings.{step}") for step, seconds in timings.items()]
    # canonical JSON changes the order of the steps; fsum does not depend on it.
    return math.fsum(step for step in steps if step is not None)


def _readable(name: str, raw: Any) -> Any:
    kind, may_be_null = KINDS[name]
    try:
        value = cell(name, raw)
    except LedgerError:
        return None if may_be_null else kind()
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value
