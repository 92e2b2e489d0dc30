"""The records of a source, generalized anew for the verification of an output, by the rows of the hierarchies.

In: an output, its job and levels, and the source. Out: the cell, the person and the sensitive values of each record of
the source, numbered together with the cells of the output, so that the two can be compared.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.column_text import as_text, texts_of_chunks
from engine.tables.sources.linked_name import TABLE
from engine.verification.records.kept import MARK
from engine.verification.records.linked import having
from engine.verification.records.people_inside import people_inside
from engine.verification.records.persons_named import persons_named
from engine.verification.records.population import open_source_of
from engine.verification.records.sensitive import SensitiveAttribute, sensitive_attribute
from engine.verification.records.value_labels import ValueLabels

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.class_table import ClassTable, SensitiveValues

_ROOM = 1 << 62
_DENSE = 4
"""Possible keys per key up to which they are numbered without a sort."""


@dataclass(frozen=True, eq=False)
class SourceRecords:
    """The n records of a source that may be released.

    Attributes
    ----------
    cells : int64, shape (n,)
        Cell of each record at the levels.
    persons : int64, shape (n,)
    number : int
        Distinct persons.
    values : mapping of sensitive attribute to Array, shape (n,)
        Of those that models read; texts that mean a missing value are missing.
    has : mapping of sensitive attribute to bool, shape (n,)
        Which records have the attribute: of linked tables, only those of tables with this column.
    released : int64, shape (C,)
        Cells of the classes of the output.
    star : int
        The cell that is `*` throughout.
    refused : bool, shape (n,)
        Records that are suppressed because of a value without an entry in the hierarchy.
    left_out : int or None
        Rows beyond the `max_rows` of a person; None for a job without.
    """

    cells: NDArray[np.int64]
    persons: NDArray[np.int64]
    number: int
    values: Mapping[str, pa.Array]
    has: Mapping[str, NDArray[np.bool_]]
    released: NDArray[np.int64]
    star: int
    refused: NDArray[np.bool_]
    left_out: int | None

    def agree(self, table: ClassTable, job: Job, inside: NDArray[np.bool_], cells: NDArray[np.int64]) -> bool:
        """Tell whether an output has exactly these records: each cell, and each cell and value, as often.

        Parameters
        ----------
        inside : bool, shape (n,)
            Which records are to be in the output.
        cells : int64, shape (n,)
            Their cells there.
        """
        agrees = _same_counts(cells[inside], None, self.released, table.records)
        for name, column in self.values.items():
            found = sensitive_attribute(job.attributes[name]).with_nulls(table, name).sensitive[name]
            of_output = (self.released[found.classes], found.values.column(), found.records)
            there = inside & self.has[name]
            own = _text(pa.chunked_array([column.filter(pa.array(there))]), name)
            agrees = agrees and _same_counts(cells[there], own, *of_output)
        return agrees


def source_records(
    table: ClassTable,
    job: Job,
    levels: Mapping[str, int | NDArray[np.int64]],
    source: Any = None,
    *,
    rows_key: bytes | None = None,
) -> SourceRecords:
    """Generalize the source of an output anew.

    Parameters
    ----------
    table : ClassTable
        Of the output, suppressed records included.
    levels : mapping of quasi-identifier to int, or int64 of shape (n,)
        Of all records, or of each.
    source : optional
        What was de-identified, instead of the job's source file.
    rows_key : bytes, optional
        Of a job with `max_rows`: the key that chose the rows of persons that stay.

    Raises
    ------
    InvalidData
        The source cannot be read, lacks columns or persons, or has values without an entry in the hierarchy; or the
        key is not given.
    """
    assert job.subject is not None  # noqa: S101 (the caller asks only for such a job)
    modelled = list(dict.fromkeys(m.sensitive_attribute for m in job.privacy if m.sensitive_attribute is not None))
    records, persons, number, left_out = _with_persons(job, source, [*job.quasi_identifiers, *modelled], rows_key)
    own, others, star, refused = cells_of(records, table, job, levels)
    values = {
        name: _values(records[name], table.sensitive[name], sensitive_attribute(job.attributes[name]), name)
        for name in modelled
    }
    has = dict.fromkeys(modelled, np.ones(persons.size, np.bool_))
    if job.tables is not None:
        of_table = _text(records[TABLE], TABLE)
        has = {name: having(of_table, job, name) for name in modelled}
    return SourceRecords(own, persons, number, values, has, others, star, refused, left_out)


def _with_persons(
    job: Job, source: Any, names: Sequence[str], rows_key: bytes | None
) -> tuple[pa.Table, NDArray[np.int64], int, int | None]:
    """Return the records that stay, the person of each, the number of persons, and the rows beyond `max_rows`."""
    assert job.subject is not None  # noqa: S101 (the caller asks only for such a job)
    if callable(getattr(source, "people", None)):
        return people_inside(source, list(dict.fromkeys(names)), job.max_rows)
    records = _read(open_source_of(job, source), [*names, job.subject])
    persons, number = _persons(records[job.subject], job.subject)
    if job.max_rows is None:
        return records, persons, number, None
    stays = _staying(persons, job.max_rows, rows_key)
    return records.filter(pa.array(stays)), persons[stays], number, int((~stays).sum())


def _read(source: Any, names: Sequence[str]) -> pa.Table:
    missing = sorted(set(names) - set(source.schema.names))
    if missing:
        raise InvalidData(
            f"the source lacks {len(missing)} of the columns that say what is counted, and whose the records are; "
            "give the source that was de-identified, with its header"
        )
    wanted = list(dict.fromkeys(names))
    schema = pa.schema([source.schema.field(name) for name in wanted])
    # a source may give texts as dictionaries, whatever its schema says
    return pa.Table.from_batches((batch.select(wanted).cast(schema) for batch in source.batches(wanted)), schema)


def _text(column: pa.ChunkedArray, name: str) -> pa.Array:
    return texts_of_chunks(column, name).combine_chunks()


def _persons(column: pa.ChunkedArray, name: str) -> tuple[NDArray[np.int64], int]:
    """Return a number for each record's person; case and blanks tell nobody apart, so they are never too many."""
    chunks = [persons_named(chunk, name) for chunk in column.chunks]
    texts = pa.chunked_array(chunks, pa.string()).combine_chunks()
    plain = pc.replace_substring_regex(pc.utf8_lower(texts), r"[\s\p{Z}]", "")
    if plain.null_count or pc.any(pc.equal(plain, "")).as_py():
        raise InvalidData(f"subject {name!r}: a record of the source has no value; fill it in the source")
    encoded = plain.dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), len(encoded.dictionary)


def _staying(persons: NDArray[np.int64], most: int, key: bytes | None) -> NDArray[np.bool_]:
    """Choose the rows of each person that stay: those whose place in the source has the smallest keyed hashes."""
    if key is None:
        raise InvalidData(
            "max_rows left out rows by a key that is not given; keep the one of the run, or verify in the run itself"
        )
    of_person: dict[int, list[tuple[bytes, int]]] = {}
    crowded = np.bincount(persons)[persons] > most
    for place in np.flatnonzero(crowded).tolist():
        digest = hashlib.blake2b(place.to_bytes(8, "big"), key=key, digest_size=8).digest()
        of_person.setdefault(int(persons[place]), []).append((digest, place))
    stays: NDArray[np.bool_] = ~crowded
    for rows in of_person.values():
        stays[[place for _, place in heapq.nsmallest(most, rows)]] = True
    return stays


def cells_of(
    records: pa.Table, table: ClassTable, job: Job, levels: Mapping[str, int | NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, NDArray[np.bool_]]:
    """Give numbers to the cells of records and of classes; also return that of suppressed ones, and who is refused.

    A column that the table of a record lacks is missing at every level.
    """
    rows, refused = records.num_rows, np.zeros(records.num_rows, np.bool_)
    columns = []
    of_table = _text(records[TABLE], TABLE) if job.tables is not None else None
    for name in job.quasi_identifiers:
        encoded = _text(records[name], name).dictionary_encode(null_encoding="encode")
        values, places = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
        labels = ValueLabels(name, job.attributes[name], values)
        refused |= np.array([labels.refuses(value) for value in values], np.bool_)[places]
        level = levels[name]
        if not isinstance(level, int):
            width = int(level.max(initial=0)) + 1
            pairs, places = np.unique(places * width + level, return_inverse=True)
            shown = [labels.at(values[pair // width], pair % width) for pair in pairs.tolist()]
        else:
            shown = [labels.at(value, level) for value in values]
        own = pa.array(shown, pa.string())
        none = pa.nulls(1, pa.string())
        of_value, of_output, of_mark, of_none = value_codes([own, table.labels[name].column(), pa.array([MARK]), none])
        own_codes = of_value[places]
        if of_table is not None and name != TABLE:
            own_codes = np.where(having(of_table, job, name), own_codes, of_none[0])
        columns.append(np.concatenate([own_codes, of_output, of_mark]))
    cells = _joined(columns)
    return cells[:rows], cells[rows:-1], int(cells[-1]), refused


def _values(own: pa.ChunkedArray, released: SensitiveValues, entry: SensitiveAttribute, name: str) -> pa.Array:
    """Return a sensitive column of the source in the type of the output, and texts that mean none missing."""
    plain = own.cast(own.type.value_type) if pa.types.is_dictionary(own.type) else own
    kind = released.kind.value_type if pa.types.is_dictionary(released.kind) else released.kind
    try:
        plain = plain.cast(kind).combine_chunks()
    except pa.ArrowException:  # its message may quote a value
        raise InvalidData(f"column {name!r}: has another type in the source than in the output") from None
    if not entry.missing:
        return plain
    absent = pc.is_in(_text(pa.chunked_array([plain]), name), value_set=pa.array(sorted(entry.missing), pa.string()))
    return pc.if_else(absent, pa.scalar(None, kind), plain)


def value_codes(columns: Sequence[pa.Array]) -> list[NDArray[np.int64]]:
    """Give the values of several columns numbers, equal texts the same; a missing value is a value."""
    texts = pa.chunked_array([as_text(column, "") for column in columns], pa.string())
    encoded = texts.combine_chunks().dictionary_encode(null_encoding="encode")
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


def _joined(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Give the distinct rows of some columns of codes a number from 0, shape (rows,)."""
    keys = _keys(columns)
    if int(keys.max(initial=0)) > _DENSE * keys.size:
        return np.unique(keys, return_inverse=True)[1]
    numbers: NDArray[np.int64] = np.cumsum(np.bincount(keys) > 0) - 1
    return numbers[keys]


def first_of(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one row of each distinct combination of codes."""
    return np.unique(_keys(columns), return_index=True)[1]


def _keys(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return a number for each row of some columns of codes that is the same only for equal rows, shape (rows,)."""
    keys, possible = np.zeros(columns[0].size, np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if possible * width > _ROOM:
            keys = np.unique(keys, return_inverse=True)[1]
            possible = int(keys.max(initial=0)) + 1
        keys, possible = keys * width + column, possible * width
    return keys


def _same_counts(
    own: NDArray[np.int64],
    values: pa.Array | None,
    cells: NDArray[np.int64],
    *released: Any,
) -> bool:
    """Tell whether each cell, or each pair of a cell and a value, has as many records in source and output.

    Parameters
    ----------
    own : int64, shape (records,)
        Cell of each record of the source.
    values : Array, shape (records,), or None
        Its value as text.
    cells : int64, shape (P,)
        Cells of the output.
    *released
        With values, those of the output as text, shape (P,); then the records of each, int64, shape (P,).
    """
    *others, records = released
    columns = [np.concatenate([own, cells])]
    if values is not None:
        columns.append(np.concatenate(value_codes([values, *others])))
    pairs = _joined(columns)
    size = int(pairs.max(initial=-1)) + 1
    found = np.bincount(pairs[: own.size], minlength=size)
    stated = np.zeros(size, np.int64)
    np.add.at(stated, pairs[own.size :], records)
    return np.array_equal(found, stated)
