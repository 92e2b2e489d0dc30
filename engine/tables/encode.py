"""Values to codes: the columns of a stream become integers, the hierarchies become code tables.

In: a `Table`, the `Columns` to read, and the population if the job has one. Out: a frequency table, and an `Encoding`
that turns any batch of the same table into leaf codes. Each stream is read once: values get provisional codes as they
appear, and are mapped to leaves when all are known, so all values without a hierarchy entry are found at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData, InvalidJob
from engine.hierarchy.builder import HierarchyBuilder
from engine.hierarchy.entries import ADVICE, without_entry
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.memory import PROCESS, needed_beyond, resident, too_little
from engine.message import Count, Message
from engine.tables.column_text import as_text
from engine.tables.columns import Columns, Dictionary
from engine.tables.different_values import refuse_blanks, refuse_equal_numbers
from engine.tables.frequency import FrequencyTable, frequency_table
from engine.tables.persons import PersonTable, counted_batches
from engine.tables.ranks import ranks, refuse_other_types
from engine.tables.subset import Subset
from engine.tables.table import Table
from engine.tables.tuple_counts import TupleCounts

_EMPTY = "the table is empty: it has no records, so there is nothing to de-identify"
_TEXT = 250
"""Bytes of a distinct value beside its characters: as a key of a dictionary, in a hierarchy, and where it is sorted."""
_NAMED = 3
"""Columns that an error names."""


def _bytes_of_tuple(columns: int) -> int:
    """Return the memory that counting and searching need per distinct tuple, as docs/scale.md measures it."""
    return 16 * (columns + 6)


def _bytes_until_sorted(columns: int) -> int:
    """Return the least memory per distinct tuple that follows on counting: what was counted is unpacked and sorted."""
    return 4 * columns + 48


@dataclass(frozen=True, eq=False)
class Encoding:
    """Turns batches into leaf codes."""

    hierarchies: tuple[Hierarchy, ...]
    _dictionaries: tuple[Dictionary, ...]
    _leaves: tuple[NDArray[np.int32], ...]

    def leaf_codes(self, batch: pa.RecordBatch) -> list[NDArray[np.int32]]:
        """Code the quasi-identifiers of a batch.

        Returns
        -------
        list of m arrays, int32, shape (records,)

        Raises
        ------
        InvalidData
            The batch has a value that did not occur when the table was counted.
        """
        columns = (batch.column(dictionary.name) for dictionary in self._dictionaries)
        return [self.leaf_codes_of(a, column) for a, column in enumerate(columns)]

    def leaf_codes_of(self, attribute: int, column: pa.Array) -> NDArray[np.int32]:
        """Code values of one quasi-identifier, by its place; see `leaf_codes`."""
        dictionary = self._dictionaries[attribute]
        provisional = dictionary.encode(column, grow=False)
        if provisional.size and provisional.min() < 0:
            raise InvalidData(f"column {dictionary.name!r}: the source changed while it was read; run the job again")
        return self._leaves[attribute][provisional]


class Tuples(Protocol):
    """Counts the combinations of values of some columns of a table, outside of the engine."""

    def __call__(self, table: Table, columns: Sequence[str], /) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """Yield combinations with the records of each, int64, shape (rows,); one may come more than once."""


class Beside(Protocol):
    """Looks at released records while they are counted, so that the source is not read once more."""

    columns: tuple[str, ...]

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at a batch, which has `columns` and may have others."""


def encode(
    table: Table,
    columns: Columns,
    *,
    subset: Subset | None = None,
    population: Table | PersonTable | None = None,
    beside: Beside | None = None,
    tuples: Tuples | None = None,
    missing: Mapping[str, int] | None = None,
    memory: int | None = None,
) -> tuple[Encoding, FrequencyTable]:
    """Read a table once, and the table of its population if there is one.

    Parameters
    ----------
    subset : Subset, optional
        Which records are released; all records are the population.
    population : Table, optional
        The population, with the quasi-identifiers as columns.
    beside : Beside, optional
        Sees the released records.
    tuples : Tuples, optional
        Counts the table instead of the engine; not with a subset. The `first` of the frequency table then has no
        meaning.
    missing : mapping of column to int, optional
        Missing values of the columns that refuse them and are not counted as tuples; then only `tuples` is read.
    memory : int, optional
        Bytes that the process may use.

    Raises
    ------
    InvalidJob
        There are more distinct combinations of values than fit into the memory.
    InvalidData
        The table is empty, a hierarchy is invalid, values have no hierarchy entry, or values are missing in a column
        that refuses them. The message names columns and numbers of values, but no values.
    """
    counter = _Counter(columns, memory)
    if tuples is None or subset is not None:
        counter.read(table, subset, beside)
    else:
        counter.read_counted(table, tuples, beside, missing)
    people = None
    if population is not None:
        counter.read_population(population)
    if subset is not None or population is not None:
        people = counter.population()
    return _bind(columns, counter.dictionaries, *counter.released(), people)


class _Counter:
    """Distinct tuples of provisional codes: quasi-identifiers, sensitive values, and whether the record is released."""

    def __init__(self, columns: Columns, memory: int | None = None) -> None:
        self._columns = columns
        self._memory = memory
        quasi = [Dictionary(name, column.missing) for name, column in columns.quasi_identifiers.items()]
        self._sensitive = [Dictionary(name, column.missing) for name, column in columns.sensitive.items()]
        self._quasi = quasi
        self.dictionaries = (*quasi, *self._sensitive)
        self._counted = TupleCounts()
        self._tuples: tuple[NDArray[np.int32], NDArray[np.int64]] | None = None
        self._sampled = False
        self._held = 0 if memory is None else resident()
        self._process = max(PROCESS, self._held)

    def read(self, table: Table, subset: Subset | None, beside: Beside | None) -> None:
        """Count the records of the source, and refuse missing values in columns that must have none."""
        names = [dictionary.name for dictionary in self.dictionaries]
        watched = [name for name in self._columns.refuse_nulls if name not in names]
        nulls = dict.fromkeys(self._columns.refuse_nulls, 0)
        matcher = None if subset is None else subset.matcher()
        matched = () if subset is None else subset.columns
        seen = () if beside is None else beside.columns
        records = 0
        for batch in table.batches(list(dict.fromkeys([*names, *watched, *matched, *seen]))):
            released = np.ones(batch.num_rows, np.bool_) if matcher is None else matcher.released(batch)
            records += batch.num_rows
            for name in self._columns.refuse_nulls:
                nulls[name] += int(self._missing(name, batch.column(name)).sum())
            if batch.num_rows:
                self._add(self._batch(batch, released))
            if beside is not None:
                beside.see(batch if matcher is None else batch.filter(pa.array(released)))
        if not records:
            raise InvalidData(_EMPTY)
        if matcher is not None:
            matcher.finish()
        _refuse(nulls)

    def read_counted(
        self, table: Table, tuples: Tuples, beside: Beside | None, missing: Mapping[str, int] | None
    ) -> None:
        """Do the same as `read` by combinations that are counted already.

        Other columns are read as they are, unless their missing values are counted already too.
        """
        names = [dictionary.name for dictionary in self.dictionaries]
        nulls = dict.fromkeys(self._columns.refuse_nulls, 0)
        counted = 0
        for batch, records in tuples(table, names):
            counted += int(records.sum())
            for name in nulls:
                if name in names:
                    nulls[name] += int(records[self._missing(name, batch.column(name))].sum())
            if batch.num_rows:
                self._add(self._batch(batch, np.ones(batch.num_rows, np.bool_)), records)
        watched = [name for name in nulls if name not in names]
        if missing is not None:
            nulls |= {name: missing[name] for name in watched}
            watched = []
        found = self._read_others(table, watched, beside, nulls)
        if found not in {None, counted}:
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")
        if not counted:
            raise InvalidData(_EMPTY)
        _refuse(nulls)

    def _read_others(
        self, table: Table, watched: Sequence[str], beside: Beside | None, nulls: dict[str, int]
    ) -> int | None:
        """Count the missing values of further columns, and show them to `beside`; return their records, if any."""
        columns = list(dict.fromkeys([*watched, *(() if beside is None else beside.columns)]))
        if not columns:
            return None
        found = 0
        for batch in table.batches(columns):
            found += batch.num_rows
            for name in watched:
                nulls[name] += int(self._missing(name, batch.column(name)).sum())
            if beside is not None:
                beside.see(batch)
        return found

    def _add(self, columns: list[NDArray[np.int32]], records: NDArray[np.int64] | None = None) -> None:
        self._counted.add(columns, [*(len(one.codes) for one in self.dictionaries), 2], records)
        if self._memory is None:
            return
        values = sum(len(one.codes) for one in self.dictionaries)
        characters = sum(one.characters for one in self.dictionaries)
        needed = self._process + self._counted.size * _bytes_of_tuple(len(columns)) + values * _TEXT + characters
        if needed > self._memory:
            raise self._too_many(self._memory, needed)
        before, self._held = self._held, resident()
        # the next batch may take as much as this one
        growth = max(self._counted.size * _bytes_until_sorted(len(columns)), self._held - before)
        beyond = needed_beyond(self._memory, growth)
        if beyond is not None:
            raise self._too_many(self._memory, beyond)

    def _too_many(self, limit: int, needed: int) -> InvalidJob:
        """Say that the tuples so far do not fit into the memory, and which columns make them many."""
        most = sorted(self.dictionaries, key=lambda one: -len(one.codes))[:_NAMED]
        columns = [Message.of("{name!r} ({n})", name=one.name, n=Count(len(one.codes))) for one in most]
        return too_little(
            limit,
            Message.of("so far there are {n} distinct combinations of values", n=Count(self._counted.size)),
            needed,
            Message.of(
                "the columns with most distinct values are {columns}; raise memory_limit, take a column out of the "
                "quasi-identifiers, or make its values coarser in the source",
                columns=Message.joined(", ", columns),
            ),
        )

    def _batch(self, batch: pa.RecordBatch, released: NDArray[np.bool_]) -> list[NDArray[np.int32]]:
        """Return the codes of a batch; sensitive values are read only of released records, and may else be absent."""
        quasi = [dictionary.encode(batch.column(dictionary.name), grow=True) for dictionary in self._quasi]
        sensitive = []
        for dictionary in self._sensitive:
            codes = np.zeros(batch.num_rows, np.int32)
            if released.any():
                column = batch.column(dictionary.name)
                if released.all():
                    codes = dictionary.encode(column, grow=True)
                else:
                    codes[released] = dictionary.encode(column.filter(pa.array(released)), grow=True)
            sensitive.append(codes)
        return [*quasi, *sensitive, released.astype(np.int32)]

    def _missing(self, name: str, column: pa.Array) -> NDArray[np.bool_]:
        """Tell which values are missing, including texts that mean a missing value, shape (records,)."""
        missing = pc.is_null(column)
        texts = self._columns.missing_texts(name)
        if texts:
            listed = pa.array(sorted(texts), pa.string())
            missing = pc.or_(missing, pc.is_in(as_text(column, name), value_set=listed))
        found: NDArray[np.bool_] = missing.to_numpy(zero_copy_only=False)
        return found

    def read_population(self, table: Table | PersonTable) -> None:
        """Count the records of the population's table in addition to those of the source."""
        self._sampled = True
        for batch, persons in counted_batches(table, [dictionary.name for dictionary in self._quasi]):
            if batch.num_rows:
                self._add(self._batch(batch, np.zeros(batch.num_rows, np.bool_)), persons)

    def released(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the tuples and the released records of each."""
        codes, counts = self._total()
        return codes[:, :-1], np.where(codes[:, -1] == 1, counts, 0)

    def population(self) -> NDArray[np.int64]:
        """Return the records of the population of each tuple."""
        codes, counts = self._total()
        return np.where(codes[:, -1] == 0, counts, 0) if self._sampled else counts

    def _total(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if self._tuples is None:
            self._tuples = self._counted.total()
        return self._tuples


def _bind(
    columns: Columns,
    dictionaries: Sequence[Dictionary],
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    population: NDArray[np.int64] | None,
) -> tuple[Encoding, FrequencyTable]:
    """Replace provisional codes, in place: those of quasi-identifiers by leaf codes, of sensitive values by ranks."""
    width = len(columns.quasi_identifiers)
    unseen = _Unseen(counts if population is None else np.maximum(counts, population))
    hierarchies, leaves = [], []
    for a, (dictionary, column) in enumerate(zip(dictionaries, columns.quasi_identifiers.values(), strict=False)):
        hierarchy, leaf = _leaves(dictionary, column.hierarchy, with_unseen=column.unseen != "error")
        if hierarchy is not None:
            hierarchies.append(hierarchy)
        leaves.append(leaf)
        codes[:, a] = leaf[codes[:, a]]
        unseen.note(dictionary, column.hierarchy, leaf, codes[:, a])
    labels: dict[str, tuple[Label, ...]] = {}
    trees: dict[str, Hierarchy] = {}
    for place, (dictionary, entry) in enumerate(
        zip(dictionaries[width:], columns.sensitive.values(), strict=True), start=width
    ):
        if entry.hierarchy is not None:
            tree, leaf = _leaves(dictionary, entry.hierarchy)
            unseen.note(dictionary, entry.hierarchy, leaf, leaf[codes[:, place]])
            if tree is not None:
                trees[dictionary.name] = _one_root(tree)
        if entry.is_known_alone:
            refuse_blanks(dictionary.name, dictionary.codes, is_float=entry.is_float)
        if entry.numbers is not None:
            refuse_equal_numbers(dictionary.name, dictionary.codes, entry.numbers)
        if entry.is_presumed:
            refuse_other_types(dictionary.name, dictionary.codes)
        rank = np.array(ranks(dictionary.name, list(dictionary.codes), entry.order), np.int32)
        by_rank = {int(rank[code]): value for value, code in dictionary.codes.items()}
        labels[dictionary.name] = tuple(by_rank[position] for position in range(len(by_rank)))
        codes[:, place] = rank[codes[:, place]]
    unseen.refuse()
    names = tuple(columns.quasi_identifiers)
    table = frequency_table(names, hierarchies, labels, codes, counts, trees, population)
    refused = _refused_rows(table, columns)
    if refused.any():
        table = replace(table, refused=refused)
    return Encoding(tuple(hierarchies), tuple(dictionaries[:width]), tuple(leaves)), table


def _refused_rows(table: FrequencyTable, columns: Columns) -> NDArray[np.bool_]:
    refused = np.zeros(table.counts.size, np.bool_)
    for codes, hierarchy, column in zip(
        table.codes, table.hierarchies, columns.quasi_identifiers.values(), strict=True
    ):
        if column.unseen == "suppress" and hierarchy.unseen_code >= 0:
            refused |= codes == hierarchy.unseen_code
    return refused


def _one_root(tree: Hierarchy) -> Hierarchy:
    if len(tree.labels[-1]) > 1:
        raise InvalidData(
            Message.of(
                "hierarchy of column {name!r}: ends in {roots} labels; that of a sensitive column needs one root, "
                "because moving values between roots would cost nothing",
                name=tree.attribute,
                roots=Count(len(tree.labels[-1])),
            )
        )
    return tree


def _leaves(
    dictionary: Dictionary, builder: HierarchyBuilder, *, with_unseen: bool = False
) -> tuple[Hierarchy | None, NDArray[np.int32]]:
    """Build a column's hierarchy and the leaf code of each provisional code, -1 for values without an entry.

    None if no value has an entry.
    """
    # in an order of their own, so that leaf codes do not depend on that of the records
    values = sorted(value for value in dictionary.codes if value is not None)
    builder.check_column(dictionary.name, values)
    rows = builder.rows(values)
    if not rows and not values:
        raise InvalidData(
            f"column {dictionary.name!r}: every value is missing and its hierarchy has no entries of its own; "
            "fill the column in the source, or take it out of the job"
        )
    if not rows:
        return None, np.array([0 if value is None else -1 for value in dictionary.codes], np.int32)
    entries = {row[0] for row in rows}
    unseen = with_unseen and any(value not in entries for value in values)
    hierarchy = Hierarchy(dictionary.name, rows, with_null=None in dictionary.codes, with_unseen=unseen)
    return hierarchy, np.array([hierarchy.leaf_code(value) for value in dictionary.codes], np.int32)


class _Unseen:
    """Collects the values without a hierarchy entry, per column."""

    def __init__(self, records: NDArray[np.int64]) -> None:
        self._records = records
        self._found: list[Message] = []

    def note(
        self, dictionary: Dictionary, builder: HierarchyBuilder, leaf: NDArray[np.int32], codes: NDArray[np.int32]
    ) -> None:
        """Count the values whose leaf code is -1, and the records that have them."""
        if (leaf < 0).any():
            values = [
                value for value, code in zip(dictionary.codes, leaf, strict=True) if code < 0 and value is not None
            ]
            records = int(self._records[codes < 0].sum())
            self._found.append(without_entry(dictionary.name, values, records, builder))

    def refuse(self) -> None:
        """Raise InvalidData if there were any."""
        if self._found:
            found = Message.joined("; ", self._found)
            raise InvalidData(Message(found, f"; {ADVICE}"))


def _refuse(nulls: Mapping[str, int]) -> None:
    found = [
        Message.of("column {name!r}: {missing} missing values", name=name, missing=Count(count))
        for name, count in nulls.items()
        if count
    ]
    if found:
        advice = "; the job says nulls: error; fill them in the source or set nulls: value"
        raise InvalidData(Message(Message.joined(", ", found), advice))
