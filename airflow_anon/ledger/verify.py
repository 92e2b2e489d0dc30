"""Checks a ledger: computes every hash again, follows every link and number, compares every document.

Nothing in the tables is trusted, and no value in them makes the check raise: an unreadable value is a break. All
statements of a check see one state, so that a concurrent writer causes no false alarm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from airflow_anon.ledger.chain import GENESIS, entry_sha256, text_sha256
from airflow_anon.ledger.entry import KINDS, NAMED, cell, columns_of
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.migrate import missing_parts, revision_of
from airflow_anon.ledger.schema import ledger_head, pending_release, release_document, release_ledger

_DOCUMENTS_AT_ONCE = 200
_HEX = set("0123456789abcdef")


@dataclass(frozen=True, kw_only=True)
class Break:
    """Something in the ledger that this package did not write.

    Attributes
    ----------
    sequence : int or None
        The entry it is about; None if there is none or its number cannot be read.
    what : str
        A sentence for a person.
    dag_id : str or None
        The DAG of that entry, if it can be read.
    """

    sequence: int | None
    what: str
    dag_id: str | None


def cells() -> list[sa.Label[Any]]:
    """Return the columns of `release_ledger` as stored, without SQLAlchemy's conversions.

    A conversion would raise or hide a change (as a boolean, every number but 0 is true).
    """
    return [sa.type_coerce(column, sa.types.NullType()).label(column.name) for column in release_ledger.c]


def breaks(connection: sa.Connection, sequences: Sequence[int] | None = None) -> list[Break]:
    """Check rows, head, pending rows and the documents of all entries, or of `sequences`."""
    missing = _missing(connection)
    if missing:
        return missing
    rows = _rows(connection)
    return [*_chain(rows), *_head(connection, rows), *_documents(connection, rows, sequences), *_pending(connection)]


def chain_breaks(connection: sa.Connection) -> list[Break]:
    """Check rows and head."""
    missing = _missing(connection)
    if missing:
        return missing
    rows = _rows(connection)
    return [*_chain(rows), *_head(connection, rows)]


def _missing(connection: sa.Connection) -> list[Break]:
    parts = missing_parts(connection)
    try:
        parts += [] if revision_of(connection) else ["version"]
    except LedgerError:
        parts.append("version, as this package writes it,")
    return [Break(sequence=None, what=f"The ledger's {part} is missing.", dag_id=None) for part in parts]


def _rows(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return all rows by number; rows without a valid number come first."""
    rows = [dict(row) for row in connection.execute(sa.select(*cells())).mappings()]
    return sorted(rows, key=lambda row: row["sequence"] if _is_sound("sequence", row["sequence"]) else -1)


def _chain(rows: Sequence[Mapping[str, Any]]) -> Iterator[Break]:
    expected, previous = 1, GENESIS
    for row in rows:
        sequence = row["sequence"]
        if not _is_sound("sequence", sequence):
            yield Break(sequence=None, what="An entry's number cannot be read.", dag_id=_dag_id(row))
            continue
        if sequence != expected:
            yield _gap(expected, row)
        elif row["previous_sha256"] != previous:
            before = "the beginning of the ledger" if expected == 1 else f"entry {expected - 1}"
            yield _break(row, f"Entry {sequence} does not follow {before}: the hash that links them differs.")
        yield from _row(row)
        expected, previous = sequence + 1, row["entry_sha256"]


def _gap(expected: int, row: Mapping[str, Any]) -> Break:
    sequence = row["sequence"]
    if sequence < expected:
        wrong = "occurs twice" if sequence > 0 else "is invalid: entries are numbered from 1"
        return _break(row, f"Entry {sequence} {wrong}.")
    if sequence == expected + 1:
        return Break(sequence=expected, what=f"Entry {expected} is missing.", dag_id=None)
    return Break(sequence=expected, what=f"Entries {expected} to {sequence - 1} are missing.", dag_id=None)


def _row(row: Mapping[str, Any]) -> Iterator[Break]:
    unreadable = [name for name in KINDS if not _is_sound(name, row[name])]
    if unreadable:
        yield _break(row, f"Entry {row['sequence']} was changed: {', '.join(unreadable)} cannot be read.")
    elif entry_sha256({name: cell(name, row[name]) for name in KINDS}) != row["entry_sha256"]:
        yield _break(row, f"Entry {row['sequence']} was changed: its hash does not match its values.")


def _head(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> Iterator[Break]:
    columns = (sa.type_coerce(column, sa.types.NullType()).label(column.name) for column in ledger_head.c)
    heads = list(connection.execute(sa.select(*columns)).mappings())
    if len(heads) != 1:
        yield Break(sequence=None, what=f"The head of the ledger must be one row; there are {len(heads)}.", dag_id=None)
        return
    head = heads[0]
    newest: Mapping[str, Any] = rows[-1] if rows else {"sequence": 0, "entry_sha256": GENESIS}
    number, last = head["sequence"], newest["sequence"]
    if not (_is_sound("sequence", number) and _is_sound("sequence", last)):
        yield Break(sequence=None, what="The number in the head of the ledger cannot be read.", dag_id=None)
    elif number > last:
        missing = f"Entry {number} is" if number == last + 1 else f"Entries {last + 1} to {number} are"
        yield Break(
            sequence=last + 1, what=f"{missing} missing from the end: the head of the ledger names it.", dag_id=None
        )
    elif number < last:
        what = f"The head of the ledger names entry {number}, but entry {last} is the newest: one of them was changed."
        yield Break(sequence=last, what=what, dag_id=_dag_id(newest))
    elif head["entry_sha256"] != newest["entry_sha256"]:
        what = f"The head of the ledger has another hash than entry {last}, the newest: one of them was changed."
        yield Break(sequence=last or None, what=what, dag_id=_dag_id(newest))


def _documents(
    connection: sa.Connection, rows: Sequence[Mapping[str, Any]], sequences: Sequence[int] | None
) -> Iterator[Break]:
    entries = {row["sequence"]: row for row in rows}
    asked = list(entries) if sequences is None else [number for number in sequences if number in entries]
    for start in range(0, len(asked), _DOCUMENTS_AT_ONCE):
        numbers = asked[start : start + _DOCUMENTS_AT_ONCE]
        texts = _texts(connection, numbers)
        for number in numbers:
            problem = _document(entries[number], texts.get(number))
            if problem:
                yield _break(entries[number], f"Entry {number}: {problem}.")
    if sequences is None:
        for number in connection.execute(sa.select(release_document.c.sequence)).scalars():
            if number not in entries:
                yield Break(sequence=number, what=f"Entry {number} is missing, but its document exists.", dag_id=None)


def _texts(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Any]:
    column = release_document.c
    text = sa.type_coerce(column.document, sa.types.NullType()).label("document")
    found = connection.execute(sa.select(column.sequence, text).where(column.sequence.in_(numbers)))
    return {row.sequence: row.document for row in found}


def _document(row: Mapping[str, Any], text: Any) -> str | None:
    """Return what is wrong with the document of an entry."""
    if text is None:
        return "its document is missing"
    if not isinstance(text, str) or text_sha256(text) != row["document_sha256"]:
        return "its document was changed"
    try:
        decided = columns_of(json.loads(text))
    except (LedgerError, ValueError, RecursionError):
        return "its document cannot be read"
    other = [name for name, value in decided.items() if not _is_sound(name, row[name]) or row[name] != value]
    return f"its document contradicts its row in {', '.join(other)}" if other else None


def _pending(connection: sa.Connection) -> Iterator[Break]:
    """Check pending publications as far as possible: they are not chained."""
    entries = release_ledger.c
    columns = [sa.type_coerce(column, sa.types.NullType()).label(column.name) for column in pending_release.c]
    released = {
        (job, release_id)
        for job, release_id in connection.execute(
            sa.select(
                sa.type_coerce(entries.job, sa.types.NullType()),
                sa.type_coerce(entries.release_id, sa.types.NullType()),
            ).where(entries.outcome == "released")
        )
    }
    for row in (dict(found) for found in connection.execute(sa.select(*columns)).mappings()):
        hash_ = row["manifest_sha256"]
        if not _is_pending(row) or len(hash_) != len(GENESIS) or set(hash_) - _HEX:
            yield Break(sequence=None, what="A pending release was changed: it cannot be read.", dag_id=_dag_id(row))
        elif (row["job"], row["release_id"]) in released:
            yield Break(sequence=None, what="A release is pending although it has its entry.", dag_id=_dag_id(row))


def _is_pending(row: Mapping[str, Any]) -> bool:
    """Whether a pending row can be read and its document is of the release that it names."""
    if not all(isinstance(value, str) for value in row.values()):
        return False
    try:
        decided = columns_of(json.loads(row["document"]))
    except (LedgerError, ValueError, RecursionError):
        return False
    return all(row[name] == decided[name] for name in NAMED)


def _is_sound(name: str, raw: Any) -> bool:
    try:
        cell(name, raw)
    except LedgerError:
        return False
    return True


def _break(row: Mapping[str, Any], what: str) -> Break:
    return Break(sequence=row["sequence"], what=what, dag_id=_dag_id(row))


def _dag_id(row: Mapping[str, Any]) -> str | None:
    found = row.get("dag_id")
    return found if isinstance(found, str) else None
