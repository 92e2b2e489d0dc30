"""Shares that are gone for good: which places of a release somebody has given up, and which of these are empty.

In: the entries `given-up` of a job, and where the document of a release says that it is. Out: the places that are left
to compare and to write, and those where the release may still lie. What is there again is not gone, whatever was said:
it is compared as ever, and a recall takes the release out of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_anon.ledger.entry import GIVEN_UP
from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.ledger.form import read
from airflow_anon.ledger.named_share import NamedShare
from airflow_anon.ledger.released_places import places_of
from airflow_anon.ledger.table_check import TableUnreachable, read_table
from airflow_anon.transport.object_store import is_in_store

if TYPE_CHECKING:
    from airflow_anon.ledger.entry import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.ledger.form_publication import GivenUpShare
    from airflow_anon.ledger.store import Ledger


MADE_ANEW = "can be reached, and has newer releases without these"
"""What is `found` in a share that was made anew at the same place."""


@dataclass(frozen=True, kw_only=True)
class GivenUp:
    """A share that was given up, of one job.

    Attributes
    ----------
    entry : Entry
    told : GivenUpShare
        What the entry says.
    """

    entry: Entry
    told: GivenUpShare

    @property
    def named(self) -> NamedShare:
        """The share."""
        return NamedShare(path=self.told.path, conn_id=self.told.conn_id, table=self.told.table)

    @property
    def share(self) -> str:
        """The share in words: its path or address, or its table."""
        return self.named.words

    @property
    def was_made_anew(self) -> bool:
        """Whether the share was there and had newer releases: then only the releases that it had lost were given up."""
        return self.told.found == MADE_ANEW

    @property
    def words(self) -> str:
        """Who gave it up, and when; of the reason nothing, which is a person's words."""
        moment = self.entry.recorded_at[:16].replace("T", " ")
        return f"given up on {moment} UTC by {self.told.by} (entry {self.entry.sequence})"


def given_up(ledger: Ledger, job: str) -> list[GivenUp]:
    """Return the shares of a job that were given up, oldest first; an entry that cannot be read gives up nothing."""
    found = []
    for entry in reversed(ledger.of_job(job, outcome=GIVEN_UP)):
        try:
            document = read(ledger.document(entry.sequence))
        except LedgerUnreachable:
            raise
        except LedgerError:
            continue
        if document is not None and document.given_up is not None:
            found.append(GivenUp(entry=entry, told=document.given_up))
    return found


def gone_from(shares: Sequence[GivenUp], publication: Any) -> dict[str, GivenUp]:
    """Return the places of a release that were given up and are empty: nobody can look whether it still lies there.

    Parameters
    ----------
    shares : sequence of GivenUp
        Those of the job.
    publication : Any
        That part of the document of the release, of whatever form somebody gave it.

    Returns
    -------
    dict
        Paths and addresses, and of a table the words of its share; then who gave them up.
    """
    found = given_up_of(shares, publication)
    return {place: share for place, share in found.items() if not _is_held(place, publication)}


def given_up_of(shares: Sequence[GivenUp], publication: Any) -> dict[str, GivenUp]:
    """Return the places of a release that were given up, whether or not anything is there again."""
    return {
        place: share
        for share in shares
        for place in share.named.places_of(publication)
        if publication.get("release_id") in share.told.releases
    }


def _is_held(place: str, publication: Mapping[str, Any]) -> bool:
    if place in places_of(publication):
        return is_there(place)
    table = publication["table"]
    try:
        return read_table(table["conn_id"], table["table"], None) is not None
    except TableUnreachable:
        return False


def is_there(place: str) -> bool:
    """Whether there is anything at a place of a release; False if it cannot be reached."""
    if is_in_store(place):
        from airflow_anon.ledger.store_check import has_objects  # noqa: PLC0415 (needs Airflow, which folders do not)

        return has_objects(place)
    return os.path.lexists(place)


def left_of(shares: Sequence[GivenUp], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a release with the places that are left: all but those that are gone.

    Parameters
    ----------
    shares : sequence of GivenUp
        Those of the job.
    """
    publication: Any = document.get("publication")
    gone = gone_from(shares, publication)
    if not gone:
        return dict(document)
    places: list[str | None] = [place for place in places_of(publication) if place not in gone]
    first, *further = places or [None]
    table = publication["table"] if not any(share.told.table for share in gone.values()) else None
    return {**document, "publication": {**publication, "folder": first, "also": further, "table": table}}


def left_of_form(shares: Sequence[GivenUp], document: Document) -> Document:
    """Return the same of a document that was read."""
    return read(left_of(shares, document.stored())) or document if shares else document
