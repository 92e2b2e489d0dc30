"""What a page may read: the ledger and Airflow's tables, through the eyes of one user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure.ledger_rows import RowFigures, row_figures
from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.ledger.form import Document, read

if TYPE_CHECKING:
    from airflow_anon.ledger import Break, Entry, Ledger, Pending

Sees = Callable[[Iterable[str]], set[str]]


DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What a document ends with whose values do not go together; numbers may be of any size."""


class NoSuchPageError(Exception):
    """There is no such page for this user."""


class Reading:
    """One answer's view of the ledger.

    Parameters
    ----------
    ledger : Ledger
    sees : callable
        Of DAG ids, those that the user may see.
    """

    def __init__(self, ledger: Ledger, sees: Sees) -> None:
        self.ledger = ledger
        self._sees = sees
        self._seen: dict[str, bool] = {}
        self._smallest: dict[str, int | None] = {}

    def visible(self, dag_ids: Iterable[str]) -> set[str]:
        """Return those of the DAGs that the user may see."""
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
        """Whether anybody ever wrote to the ledger."""
        return bool(self.ledger.exists())

    @cached_property
    def chain(self) -> list[Break]:
        """Breaks of the chain of entries; documents are not read."""
        return list(self.ledger.check_chain())

    def pending(self, job: str | None = None) -> list[Pending]:
        """Return the publications that were cut off, of DAGs that the user may see."""
        # These rows are not chained, so one that was tampered with may hold anything.
        found = [one for one in self.ledger.pending(job) if all(isinstance(text, str) for text in _texts(one))]
        seen = self.visible(one.dag_id for one in found)
        return [one for one in found if one.dag_id in seen]

    def document(self, sequence: int) -> Document | None:
        """Return the document of an entry; None where it is gone, or was changed so that it cannot be read.

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

    def latest(self) -> list[Entry]:
        """Return the newest entry of each job and DAG that the user may see."""
        found = self.ledger.latest()
        seen = self.visible(one.dag_id for one in found)
        return [one for one in found if one.dag_id in seen]

    def smallest_of(self, entry: Entry) -> int | None:
        """Return the smallest class that an entry's job allows; None where its document cannot be read.

        It is a setting of the job, so one document is read for each version of a job.
        """
        key = entry.job_sha256 or f"entry {entry.sequence}"
        if key not in self._smallest:
            document = self.document(entry.sequence)
            self._smallest[key] = None if document is None else document.smallest
        return self._smallest[key]

    def counts_of(self, entry: Entry) -> RowFigures:
        """Return the counts of an entry, from its row."""
        return row_figures(entry, self.smallest_of(entry))


def _texts(pending: Pending) -> tuple[Any, ...]:
    return pending.job, pending.release_id, pending.dag_id, pending.run_id, pending.since
