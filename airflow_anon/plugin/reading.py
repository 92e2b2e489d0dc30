"""What a page may read: the ledger and Airflow's tables, through the eyes of one user."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_anon.disclosure.figures import Figure, count, smallest_class, withheld
from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable

if TYPE_CHECKING:
    from airflow_anon.ledger import Break, Entry, Ledger, Pending

Sees = Callable[[Iterable[str]], set[str]]


DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What reading a document ends with that has not the form of one."""


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

    def document(self, sequence: int) -> dict[str, Any] | None:
        """Return the document of an entry; None where it is gone, or was changed so that it cannot be read.

        Raises
        ------
        LedgerUnreachable
            The ledger itself cannot be read now.
        """
        try:
            return self.ledger.document(sequence)
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
            self._smallest[key] = self._read_smallest(entry)
        return self._smallest[key]

    def rows_of(self, entry: Entry) -> Figure:
        """Return the records of an entry's source, from its row."""
        if not entry.rows:
            return count(entry.rows, 1)
        smallest = self.smallest_of(entry)
        return withheld(None) if smallest is None else count(entry.rows, smallest)

    def suppressed_of(self, entry: Entry) -> Figure:
        """Return the suppressed records of an entry, from its row."""
        return self._figure(entry, entry.suppressed)

    def suppressed_share_of(self, entry: Entry) -> Figure:
        """Return the share of suppressed records of an entry, from its row."""
        return self._figure(entry, entry.suppressed_share)

    def _figure(self, entry: Entry, value: Any) -> Figure:
        if value is None:
            # A release has both, unless they were withheld.
            return withheld(self.smallest_of(entry)) if entry.outcome == "released" else count(None, 1)
        smallest = self.smallest_of(entry) if entry.suppressed else 1
        few = smallest is None or count(entry.suppressed, smallest)["below"] is not None
        return withheld(smallest) if few else {"value": value, "below": None}

    def _read_smallest(self, entry: Entry) -> int | None:
        document = self.document(entry.sequence)
        try:
            return None if document is None else smallest_class(document)
        except DAMAGED:
            return None


def _texts(pending: Pending) -> tuple[Any, ...]:
    return pending.job, pending.release_id, pending.dag_id, pending.run_id, pending.since
