"""What readers of a share get, compared with the ledger: which release they are led to, and what their table holds.

In: an entry of a release. Out: its standing among the releases of its job, and the states of the link `current` and of
the table. The release with the largest id is the one that readers should get (docs/ledger.md, the steps of a
publication).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_anon.ledger.errors import LedgerError, LedgerUnreachable
from airflow_anon.ledger.expected_file import CHANGED, MATCHES, MISSING, UNREACHABLE
from airflow_anon.ledger.form import read
from airflow_anon.ledger.given_up import given_up, left_of, left_of_form
from airflow_anon.ledger.share_check import HARMS, check_files
from airflow_anon.ledger.standing import WITHDRAWN
from airflow_anon.ledger.table_check import FoundTable, TableUnreachable, read_table
from airflow_anon.transport.address import parent_of
from airflow_anon.transport.object_store import is_in_store
from airflow_anon.transport.release_files import CURRENT

if TYPE_CHECKING:
    from airflow_anon.ledger.entry import Entry
    from airflow_anon.ledger.form import Document
    from airflow_anon.ledger.form_publication import Publication, Table
    from airflow_anon.ledger.given_up import GivenUp
    from airflow_anon.ledger.store import Ledger

SUPERSEDED, PENDING, NOT_RECORDED, NOT_COUNTED = "superseded", "pending", "not-recorded", "not-counted"
WITHDRAWN_STATE = "withdrawn"
"""Of the link and the table of a release that was recalled or removed."""
FINE = (MATCHES, SUPERSEDED, PENDING, WITHDRAWN_STATE)
"""States that need no look."""
SWITCH_SECONDS = 0.5
"""Time that a publication has between its entry and the switch of `current`."""


@dataclass(frozen=True, kw_only=True)
class LinkState:
    """The link `current` of a share folder, or the object `current` of a store.

    Attributes
    ----------
    state : {"matches", "changed", "missing", "unreachable", "superseded", "withdrawn"}
        "superseded" if it should name a newer release than the entry's; "withdrawn" if the release was recalled or
        removed, and it does not name it.
    named : str or None
        The release that it names.
    manifest_sha256 : str or None
        Of a store: the hash of the manifest that readers compare with.
    place : str or None
        The folder or the address of the job's releases that it is in; None for a link that was not compared.
    """

    state: str
    named: str | None = None
    manifest_sha256: str | None = None
    place: str | None = None


@dataclass(frozen=True, kw_only=True)
class TableState:
    """The table of a SQL share.

    Attributes
    ----------
    conn_id, table : str
    sha256 : str or None
        Hash of its content in the entry; None if it was not recorded.
    state : str
        "matches", "changed", "missing" or "unreachable"; "superseded" if it should hold a newer release; "withdrawn" if
        the release was recalled or removed; "pending" if it holds one that is being published; "not-recorded" if it
        says to hold the release and the entry has no hash; "not-counted" if it says so and has too many records to read
        at once.
    why : str or None
        Of one that is unreachable why, and what to do.
    """

    conn_id: str
    table: str
    sha256: str | None
    state: str
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What readers get of a release; None where there is no such place; `also`: the links of further shares.

    A place that was given up and is empty is none, unless the link of its share leads readers to another release.
    """

    link: LinkState | None
    table: TableState | None
    also: tuple[LinkState, ...] = ()


def link_of(place: str) -> LinkState:
    """Read `current` of a job, from the path or the address of its releases; "matches" if it names any release."""
    if is_in_store(place):
        return _pointer(place)
    folder = Path(place)
    link = folder / CURRENT
    try:
        if not folder.is_dir():
            return LinkState(state=UNREACHABLE)
        if link.is_symlink():
            return LinkState(state=MATCHES, named=link.readlink().name)
        return LinkState(state=CHANGED if link.exists() else MISSING)
    except (OSError, ValueError):
        return LinkState(state=UNREACHABLE)


def _pointer(place: str) -> LinkState:
    from airflow_anon.ledger.store_check import pointer_in  # noqa: PLC0415 (needs Airflow, which folders do not)

    found = pointer_in(place)
    if isinstance(found, str):
        return LinkState(state=found)
    return LinkState(state=MATCHES, named=found.release_id, manifest_sha256=found.manifest_sha256)


def delivery_of(
    ledger: Ledger,
    entry: Entry,
    document: Document,
    *,
    lost: Sequence[GivenUp] | None = None,
    rows_up_to: int | None = None,
) -> Delivery:
    """Compare what readers get with the entry of a release.

    Parameters
    ----------
    document : Document
        Of the entry.
    lost : sequence of GivenUp, optional
        Shares of the job that were given up; by default they are read.
    rows_up_to : int, optional
        Do not read the records of a table with more; by default all are read.

    Raises
    ------
    LedgerUnreachable
        The ledger cannot be read now.
    """
    publication = left_of_form(given_up(ledger, entry.job) if lost is None else lost, document).publication
    if publication is None or document.publication is None:
        return Delivery(link=None, table=None)
    if ledger.withdrawal(entry.job, entry.release_id or "") is not None:
        return _withdrawn(entry, publication)
    links = [
        replace(_link(ledger, entry, parent_of(place)), place=parent_of(place))
        for place in document.publication.folders
        if place in publication.folders or link_of(parent_of(place)).named is not None
    ]
    return Delivery(
        link=links[0] if links else None,
        table=None if publication.table is None else _table(ledger, entry, publication, rows_up_to),
        also=tuple(links[1:]),
    )


def delivered(ledger: Ledger, job: str) -> dict[str, Any] | None:
    """Recount what readers have of a job now; None before its first release, and after a recall.

    Returns
    -------
    dict
        `sequence` and `release_id` of the release that they should have; `files` (a state of `share_check`), `link` and
        `table` (states as above), None where there is no such place.

    Raises
    ------
    LedgerError
        The ledger cannot be read.
    """
    entry = ledger.current(job)
    document = None if entry is None else _document(ledger, entry)
    if entry is None or document is None:
        return None
    lost = given_up(ledger, job)
    found = delivery_of(ledger, entry, document, lost=lost)
    return {
        "sequence": entry.sequence,
        "release_id": entry.release_id,
        "files": worst([one.state for one in check_files(left_of(lost, document.stored()))]),
        "link": found.link and worst([found.link.state, *(one.state for one in found.also)]),
        "table": found.table and found.table.state,
    }


def worst(states: Sequence[str]) -> str | None:
    """Return the state of several files or links: a harm before one that cannot be told; None without any."""
    harm = next((state for state in HARMS if state in states), None)
    return harm or next((state for state in states if state != MATCHES), MATCHES if states else None)


def _withdrawn(entry: Entry, publication: Publication) -> Delivery:
    """Return what readers get of a release that was taken out of the share."""
    place, links = publication.table, []
    for folder in map(parent_of, publication.folders):
        found = link_of(folder)
        still = found.named is not None and found.named == entry.release_id
        links.append(LinkState(state=CHANGED if still else WITHDRAWN_STATE, named=found.named, place=folder))
    link, also = links[0] if links else None, tuple(links[1:])
    if place is None:
        return Delivery(link=link, table=None, also=also)
    sha256 = None if place.content is None else place.content.sha256
    told = {"conn_id": str(place.conn_id), "table": str(place.table)}
    return Delivery(link=link, table=TableState(**told, sha256=sha256, state=WITHDRAWN_STATE), also=also)


def _link(ledger: Ledger, entry: Entry, folder: str) -> LinkState:
    if not _is_newest(ledger, entry, lambda other: folder in map(parent_of, other.folders)):
        return LinkState(state=SUPERSEDED, named=link_of(folder).named)
    found = link_of(folder)
    if found.named != entry.release_id and found.state != UNREACHABLE:
        # The entry is written before the link is switched.
        time.sleep(SWITCH_SECONDS)
        found = link_of(folder)
    if found.state == MATCHES and found.named != entry.release_id:
        return LinkState(state=CHANGED, named=found.named)
    if found.manifest_sha256 not in (None, entry.manifest_sha256):
        return LinkState(state=CHANGED, named=found.named, manifest_sha256=found.manifest_sha256)
    return found


def _table(ledger: Ledger, entry: Entry, publication: Publication, rows_up_to: int | None) -> TableState:
    place = publication.table
    assert place is not None  # noqa: S101 (checked by the caller)
    content = place.content
    state, why = UNREACHABLE, None
    if not _is_newest(ledger, entry, lambda other: _same_table(other.table, place)):
        state = SUPERSEDED
    elif place.conn_id and place.table:
        try:
            found = read_table(place.conn_id, place.table, content, rows_up_to=rows_up_to)
            state = _judged(ledger, entry, place, found)
        except TableUnreachable as problem:
            why = str(problem)
        if state in HARMS and not _is_newest(ledger, entry, lambda other: _same_table(other.table, place)):
            state = SUPERSEDED  # a newer release came while the table was read
    told = {"conn_id": str(place.conn_id), "table": str(place.table)}
    return TableState(**told, sha256=None if content is None else content.sha256, state=state, why=why)


def _judged(ledger: Ledger, entry: Entry, place: Table, found: FoundTable | None) -> str:
    if found is None:
        return MISSING
    if (found.release_id, found.manifest_sha256) != (entry.release_id, entry.manifest_sha256):
        return PENDING if _is_pending(ledger, entry.job, place, found) else CHANGED
    if place.content is None:
        return NOT_RECORDED
    if found.is_readable and found.sha256 is None:
        return NOT_COUNTED
    return MATCHES if found.sha256 == place.content.sha256 else CHANGED


def _is_pending(ledger: Ledger, job: str, place: Table, found: FoundTable) -> bool:
    """Whether a table holds a release that is being published, and nothing else."""
    for one in ledger.pending(job):
        document = read(one.document)
        if document is None or document.publication is None or not _same_table(document.publication.table, place):
            continue
        if (one.release_id, one.manifest_sha256) == (found.release_id, found.manifest_sha256):
            table = document.publication.table
            # The columns may be others than those by which the table was read.
            return table is not None and (found.sha256 is None or _is_content(table, place))
    return False


def _is_content(table: Table, place: Table) -> bool:
    if table.content is None or not place.conn_id or not place.table:
        return False
    found = read_table(place.conn_id, place.table, table.content)
    return found is not None and found.sha256 == table.content.sha256


def _is_newest(ledger: Ledger, entry: Entry, is_there: Any) -> bool:
    """Whether no release of the job in the same place is newer."""
    known = ledger.of_job(entry.job)
    # one that was recalled before does not stand in the way
    gone = {_id(one) for one in known if one.outcome in WITHDRAWN and one.sequence < entry.sequence}
    newer = [one for one in known if one.outcome == "released" and _id(one) > _id(entry) and _id(one) not in gone]
    return not any(
        (document := _document(ledger, one)) is not None
        and document.publication is not None
        and is_there(document.publication)
        for one in sorted(newer, key=_id, reverse=True)
    )


def _id(entry: Entry) -> str:
    return entry.release_id or ""


def _same_table(table: Table | None, other: Table) -> bool:
    return table is not None and (table.conn_id, table.table) == (other.conn_id, other.table)


def _document(ledger: Ledger, entry: Entry) -> Document | None:
    """Return the document of an entry; None if it cannot be read, which the check of the ledger reports."""
    try:
        return read(ledger.document(entry.sequence))
    except LedgerUnreachable:
        raise
    except LedgerError:
        return None


def harm_words(found: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with what readers have, from the result of `delivered`, as sentences."""
    release = f"release {found.get('release_id')}, entry {found.get('sequence')}"
    words = {
        "files": "files in the share are not those of",
        "link": "the link that readers of the share follow does not lead to",
        "table": "the table that readers query does not hold what was released as",
    }
    return [f"{text} {release}: {found[name]}" for name, text in words.items() if found.get(name) in HARMS]
