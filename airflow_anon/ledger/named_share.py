"""A share as a person or an entry names it, and which places of a release are in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_anon.ledger.released_places import places_of
from airflow_anon.transport.address import parent_of


@dataclass(frozen=True, kw_only=True)
class NamedShare:
    """A share by its `path`, or its address in a store; or by `conn_id` and `table`."""

    path: str | None = None
    conn_id: str | None = None
    table: str | None = None

    @property
    def words(self) -> str:
        """The share as texts name it."""
        return f"table {self.table} of {self.conn_id!r}" if self.path is None else self.path

    def places_of(self, publication: Any) -> list[str]:
        """Return the places of a release that are in it.

        Parameters
        ----------
        publication : Any
            That part of the document of the release, of whatever form somebody gave it.

        Returns
        -------
        list of str
            Paths and addresses of the release; for a table its `words`.
        """
        return [place for place, share in shares_of(publication).items() if share == self]


def shares_of(publication: Any) -> dict[str, NamedShare]:
    """Return each place of a release, a table by its words, and the share that it is in."""
    if not isinstance(publication, Mapping):
        return {}
    found = {place: NamedShare(path=parent_of(parent_of(place))) for place in places_of(publication)}
    table = publication.get("table")
    if isinstance(table, Mapping):
        share = NamedShare(conn_id=table.get("conn_id"), table=table.get("table"))
        found[share.words] = share
    return found
