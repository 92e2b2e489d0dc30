"""The population of a job as verification sees it: the number of people with each tuple of labels.

In: the job, and its source where a subset of that is released. Out: counts of tuples of values, and of labels at the
levels of a release. Labels come from the rows that the hierarchies' builders give; nothing of the encoding is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import EngineError, InvalidData
from engine.tables.sources.column_text import as_text
from engine.tables.sources.csv_form import CsvForm
from engine.tables.sources.data_set import open_source_path
from engine.tables.sources.grouping import grouped
from engine.tables.sources.linked import LinkedTables, StackedTable
from engine.tables.sources.linked_name import TABLE
from engine.tables.sources.persons import PersonTable, by_person, counted_batches
from engine.tables.sources.source import open_data, open_path
from engine.tables.sources.table import Table
from engine.verification.records.listed import Listed
from engine.verification.records.value_labels import ValueLabels

if TYPE_CHECKING:
    from engine.job.job import Job

_COUNTS = ("people", "released")
_AT_ONCE = 1 << 19
"""Records that are read and compared with a subset at a time; distinct tuples that wait until they are added up."""


@dataclass(frozen=True, eq=False)
class Population:
    """The people of a job.

    Attributes
    ----------
    rows : int
        All of them.
    listed : Listed or None
        What the research subset says of them, if one is released.
    """

    rows: int
    listed: Listed | None
    _values: pa.Table
    _labels: tuple[ValueLabels, ...]

    def distinct_levels(self, name: str, levels: Sequence[int]) -> list[int]:
        """Return those levels of a quasi-identifier that differ in the label of some value, the lowest of each kind."""
        place, labels = next((i, labels) for i, labels in enumerate(self._labels) if labels.name == name)
        values = self._values[place].unique().to_pylist()
        found: dict[tuple[str | None, ...], int] = {}
        for level in levels:
            found.setdefault(tuple(labels.at(value, level) for value in values), level)
        return list(found.values())

    def tuples(
        self, levels: Mapping[str, Sequence[int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.int64]], list[list[set[str | None]]]]:
        """Return the distinct tuples of values, but those with a value that suppresses the record.

        Parameters
        ----------
        levels : mapping of quasi-identifier to its levels

        Returns
        -------
        people, released : int64, shape (T,)
        codes : list of int64, shape (T,)
            Of each quasi-identifier, the place of the tuple's value.
        labels : list of list of set
            Of each quasi-identifier and value, its labels at these levels.
        """
        codes, labels = [], []
        refused = np.zeros(self._values.num_rows, np.bool_)
        for place, of_column in enumerate(self._labels):
            encoded = self._values[place].combine_chunks().dictionary_encode(null_encoding="encode")
            values = encoded.dictionary.to_pylist()
            codes.append(encoded.indices.to_numpy().astype(np.int64))
            refused |= np.array([of_column.refuses(value) for value in values], np.bool_)[codes[-1]]
            labels.append([{of_column.at(value, level) for level in levels[of_column.name]} for value in values])
        counts = [self._values[name].to_numpy()[~refused] for name in _COUNTS]
        return counts[0], counts[1], [one[~refused] for one in codes], labels

    def at(self, levels: Mapping[str, int]) -> pa.Table:
        """Count the people by tuple of labels.

        Parameters
        ----------
        levels : mapping of quasi-identifier to level

        Returns
        -------
        pyarrow Table
            One text column for each quasi-identifier, in the job's order and named by its place; `people` and
            `released`, int64. People with a value that suppresses the record are in no row.
        """
        columns = []
        refused = np.zeros(self._values.num_rows, np.bool_)
        for place, labels in enumerate(self._labels):
            encoded = self._values[place].combine_chunks().dictionary_encode(null_encoding="encode")
            values = encoded.dictionary.to_pylist()
            codes = encoded.indices.to_numpy()
            refused |= np.array([labels.refuses(value) for value in values], np.bool_)[codes]
            found = [labels.at(value, levels[labels.name]) for value in values]
            columns.append(pa.array(found, pa.string()).take(encoded.indices))
        counts = [self._values[name] for name in _COUNTS]
        names = [str(place) for place in range(len(columns))]
        table = pa.Table.from_arrays([*columns, *counts], names=[*names, *_COUNTS])
        return _summed(table.filter(pa.array(~refused)), names)


def read_population(job: Job, source: Any = None) -> Population | None:
    """Read the population of a job: its source where a subset is released, else its population file.

    Parameters
    ----------
    source : Table, pyarrow Table, RecordBatchReader or pandas DataFrame, optional
        Taken instead of the file that the job's source names.

    Returns
    -------
    Population or None
        None where the job has none.

    Raises
    ------
    InvalidData
        It cannot be read, lacks columns, or has values without an entry in the hierarchy. Files are named, folders and
        values are not.
    """
    if job.subset is not None:
        return _read(job, open_source_of(job, source), _beside(job, job.subset, "subset"))
    if job.population is not None:
        people = by_person(_beside(job, job.population, "population"), job.quasi_identifiers, "the population")
        return _read(job, people, None)
    return None


def read_source(job: Job, source: Any) -> Population:
    """Read the source of a job as if it were the population; `released` counts the records of a subset.

    Raises
    ------
    InvalidData
        As of `read_population`.
    """
    subset = None if job.subset is None else _beside(job, job.subset, "subset")
    return _read(job, open_source_of(job, source), subset)


def open_source_of(job: Job, source: Any) -> Table:
    """Open what was de-identified: `source`, or without it the file that the job names, or those of its tables."""
    if job.tables is not None:
        return _opened_tables(job, source)
    if source is not None:
        return source if callable(getattr(source, "batches", None)) else open_data(source)
    if job.source is None or job.source.path is None:
        raise InvalidData(
            "the release is compared with its source, and the job names no source file; give the source that was "
            "de-identified"
        )
    return _opened(job.source.path, job.source.form, "source")


def _opened_tables(job: Job, source: Any) -> Table:
    """Open the linked tables that were de-identified: those given by name, those of the job, or one with all records.

    Raises
    ------
    InvalidData
        A table is not given and has no file.
    """
    if callable(getattr(source, "batches", None)):
        opened: Table = source
        return opened
    if source is not None and not isinstance(source, Mapping):
        return StackedTable(open_data(source), {name: (TABLE, *own) for name, own in job.columns_of_tables.items()})
    if source is None and job.source is not None and job.source.path is not None:
        stacked = _opened(job.source.path, job.source.form, "source")
        return StackedTable(stacked, {name: (TABLE, *own) for name, own in job.columns_of_tables.items()})
    tables: dict[str, Table] = {}
    for name, table in (job.tables or {}).items():
        if source is not None and name in source:
            tables[name] = open_data(source[name])
        elif table.source is not None and table.source.path is not None:
            tables[name] = _opened(table.source.path, table.source.form, "source")
        else:
            raise InvalidData(
                f"the release is compared with its source, and tables.{name} names no source file; give the source "
                "that was de-identified"
            )
    order = [name for name in job.attributes if name != TABLE]
    return LinkedTables(tables, job.columns_of_tables, order, job.quasi_identifiers)


def _beside(job: Job, path: str, what: str) -> Table:
    """Open a file that a job names beside its source; it is written alike."""
    return _opened(path, job.csv_form, what)


def _opened(path: str, form: CsvForm, what: str) -> Table:
    try:
        return open_source_path(path, form) if what == "source" else open_path(path, form)
    except EngineError as problem:
        reason = str(problem).replace(str(path), Path(path).name).removeprefix("source ")
        raise InvalidData(f"{what} {reason}") from None


def _read(job: Job, people: Table | PersonTable, subset: Table | None) -> Population:
    names = job.quasi_identifiers
    keys = [] if subset is None else subset.schema.names
    missing = sorted({*names, *keys} - set(people.schema.names))
    if missing:
        # the names are not given: without a header they are the values of the first record
        raise InvalidData(
            f"the population lacks {len(missing)} of the columns that the job and its subset name; give the source "
            "that was de-identified, or the population's own table, with its header"
        )
    listed = None if subset is None else Listed(keys, (part for part, _ in _parts(subset, keys)))
    places = [str(place) for place in range(len(names))]
    counted, rows = _Tuples(places), 0
    for part, persons in _parts(people, [*names, *keys]):
        released = np.zeros(part.num_rows, np.int64) if listed is None else listed.released(part).astype(np.int64)
        columns = [*(part[name] for name in names), pa.array(persons), pa.array(released)]
        counted.add(pa.Table.from_arrays(columns, names=[*places, *_COUNTS]))
        rows += int(persons.sum())
    values = counted.summed()
    labels = tuple(
        ValueLabels(name, job.attributes[name], values[place].unique().to_pylist())
        for place, name in zip(places, names, strict=True)
    )
    return Population(rows, listed, values, labels)


def _parts(table: Table | PersonTable, names: Sequence[str]) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
    """Read columns as text, one column for each name, and the persons of each row; many batches at a time."""
    wanted = list(dict.fromkeys(names))
    schema = pa.schema([(name, pa.string()) for name in wanted])
    batches: list[pa.RecordBatch] = []
    persons: list[NDArray[np.int64]] = []
    for batch, counts in counted_batches(table, wanted):
        columns = [as_text(batch.column(name), name) for name in wanted]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        persons.append(counts)
        if sum(counts.size for counts in persons) >= _AT_ONCE:
            yield pa.Table.from_batches(batches, schema), np.concatenate(persons)
            batches, persons = [], []
    if batches:
        yield pa.Table.from_batches(batches, schema), np.concatenate(persons)


class _Tuples:
    """Distinct tuples of values with their people, added up from time to time: memory grows with the tuples alone."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        schema = pa.schema([*((key, pa.string()) for key in keys), *((name, pa.int64()) for name in _COUNTS)])
        self._found = [schema.empty_table()]
        self._waits = 0

    def add(self, people: pa.Table) -> None:
        """Add the people of a part of the population."""
        part = _summed(people, self._keys)
        self._found.append(part)
        self._waits += part.num_rows
        if self._waits > max(_AT_ONCE, self._found[0].num_rows):
            self.summed()

    def summed(self) -> pa.Table:
        """Return every tuple once, with the sums of its counts."""
        self._found, self._waits = [_summed(pa.concat_tables(self._found), self._keys)], 0
        return self._found[0]


def _summed(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    summed = grouped(table, keys).aggregate([(name, "sum") for name in _COUNTS])
    return summed.select([*keys, *(f"{name}_sum" for name in _COUNTS)]).rename_columns([*keys, *_COUNTS])
