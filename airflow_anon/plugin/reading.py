"""What a page may read for one user: the ledger and Airflow's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure.ledger_rows import RowFigures, row_figures
from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.ledger.form import Document, read
from airflow_anon.transport.address import parent_of

if TYPE_CHECKING:
    from airflow_anon.ledger import Break, Entry, Ledger, Pending
    from airflow_anon.ledger.given_up import GivenUp
    from airflow_anon.ledger.standing import Standing

Sees = Callable[[Iterable[str]], set[str]]


DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Errors raised by a document with inconsistent values; its numbers may be of any size."""


class NoSuchPageError(Exception):
    """The page does not exist for this user."""


@dataclass(frozen=True)
class Settings:
    """What pages need of the job of an entry; None if the entry's document cannot be read."""

    smallest: int | None = None
    measure: str | None = None
    asks_approval: bool = False
    counts_persons: bool = False


def measure(document: Document) -> str | None:
    """Return the measure of a document's information loss, with its aggregate; None if there is none."""
    solution = document.solution
    if solution is None or solution.measure is None:
        return None
    return solution.measure if solution.aggregate is None else f"{solution.measure}, {solution.aggregate}"


class Reading:
    """The ledger as one response sees it.

    Parameters
    ----------
    ledger : Ledger
    sees : callable
        Returns the DAG ids, of those given, that the user may see.
    """

    def __init__(self, ledger: Ledger, sees: Sees) -> None:
        self.ledger = ledger
        self._sees = sees
        self._seen: dict[str, bool] = {}
        self._settings: dict[str, Settings] = {}
        self._standings: dict[str, dict[int, Standing]] = {}
        self._named: dict[str, str | None] = {}
        self._given_up: dict[str, list[GivenUp]] = {}

    def visible(self, dag_ids: Iterable[str]) -> set[str]:
        """Return the DAGs, of those given, that the user may see."""
        # Airflow takes "no DAG" for "all DAGs", and a row that was tampered with may name none.
        asked = {dag_id for dag_id in dag_ids if isinstance(dag_id, str) and dag_id}
        new = asked - set(self._seen)
        if new:
            seen = self._sees(new)
            self._seen.update({dag_id: dag_id in seen for dag_id in new})
        return {dag_id for dag_id in asked if self._seen[dag_id]}

    def sees(self, dag_id: str) -> bool:
        """Tell whether the user may see the entries of a DAG."""
        return bool(self.visible([dag_id]))

    @cached_property
    def exists(self) -> bool:
        """Whether the ledger exists."""
        return bool(self.ledger.exists())

    @cached_property
    def chain(self) -> list[Break]:
        """Breaks of the chain of entries; documents are not read."""
        return list(self.ledger.check_chain())

    def pending(self, job: str | None = None) -> list[Pending]:
        """Return the pending publications of DAGs that the user may see."""
        # These rows are not chained, so one that was tampered with may hold anything.
        found = [one for one in self.ledger.pending(job) if all(isinstance(text, str) for text in _texts(one))]
        seen = self.visible(one.dag_id for one in found)
        return [one for one in found if one.dag_id in seen]

    def document(self, sequence: int) -> Document | None:
        """Return the document of an entry; None if it is missing or was changed so that it cannot be read.

        Raises
        ------
        LedgerUnreachable
            The ledger itself cannot be read now.
        """
        try:
            return read(self.ledger.document(sequence))
        except LedgerUnreachable:
            raise
        except LedgerError:
            return None

    def left(self, entry: Entry, document: Document) -> Document:
        """Return the document of an entry without the places that were given up and are empty."""
        from airflow_anon.ledger.given_up import left_of_form  # noqa: PLC0415 (only where there are releases)

        return left_of_form(self.given_up(entry.job), document)

    def given_up(self, job: str) -> list[GivenUp]:
        """Return the shares of a job that were given up, oldest first."""
        from airflow_anon.ledger.given_up import given_up  # noqa: PLC0415 (only where there are releases)

        if job not in self._given_up:
            self._given_up[job] = given_up(self.ledger, job)
        return self._given_up[job]

    def latest(self) -> list[Entry]:
        """Return the newest entry of each job and DAG that the user may see."""
        found = self.ledger.latest()
        seen = self.visible(one.dag_id for one in found)
        return [one for one in found if one.dag_id in seen]

    @cached_property
    def sees_any(self) -> bool:
        """Whether the user may see an entry or a pending publication of any DAG."""
        return bool(self.latest() or self.pending())

    def smallest_of(self, entry: Entry) -> int | None:
        """Return the smallest class that an entry's job allows; None if its document cannot be read."""
        return self._settings_of(entry).smallest

    def measure_of(self, entry: Entry) -> str | None:
        """Return the measure, with its aggregate, of an entry's information loss; None if it is not known."""
        return self._settings_of(entry).measure

    def asks_approval(self, entry: Entry) -> bool:
        """Whether releases of an entry's job waited for approval."""
        return self._settings_of(entry).asks_approval

    def _settings_of(self, entry: Entry) -> Settings:
        """Return settings of the entry's job, for which one document is read per version of a job."""
        # Without a release there is no loss, and so no measure of it.
        key = f"{entry.job_sha256 or entry.sequence} {entry.outcome}"
        if key not in self._settings:
            document = self.document(entry.sequence)
            self._settings[key] = Settings() if document is None else _settings(document)
        return self._settings[key]

    def standings(self, job: str) -> dict[int, Standing]:
        """Return the standing of each release of a job by its sequence."""
        from airflow_anon.ledger.standing import standings  # noqa: PLC0415 (only where there are releases)

        if job not in self._standings:
            self._standings[job] = standings(self.ledger.of_job(job))
        return self._standings[job]

    def named_current(self, job: str) -> str | None:
        """Return the release that the link `current` of a job names, "" if it names none; None if there is no link."""
        if job not in self._named:
            self._named[job] = self._link_of(job)
        return self._named[job]

    def _link_of(self, job: str) -> str | None:
        from airflow_anon.ledger.delivery import link_of  # noqa: PLC0415 (only where there are releases)
        from airflow_anon.ledger.given_up import left_of_form  # noqa: PLC0415 (as above)

        newest = next((number for number, standing in self.standings(job).items() if standing == "current"), None)
        document = None if newest is None else self.document(newest)
        document = document and left_of_form(self.given_up(job), document)
        folder = document and document.publication and document.publication.folder
        if not folder:
            return None
        found = link_of(parent_of(folder))
        return None if found.state == "unreachable" else found.named or ""

    def counts_of(self, entry: Entry) -> RowFigures:
        """Return the counts of an entry, from its row."""
        settings = self._settings_of(entry)
        return row_figures(entry, settings.smallest, persons=settings.counts_persons)


def _settings(document: Document) -> Settings:
    return Settings(document.smallest, measure(document), bool(document.job.approval), document.counts_persons)


def _texts(pending: Pending) -> tuple[Any, ...]:
    return pending.job, pending.release_id, pending.dag_id, pending.run_id, pending.since
