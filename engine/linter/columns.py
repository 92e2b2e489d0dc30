"""How each released column varies: distinction and separation.

Motwani, Xu: Efficient algorithms for masking and finding quasi-identifiers, VLDB 2007. In: the released records, seen
while they are counted, and their frequency table, which has the quasi-identifiers. Out: per column a `Variation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.backends.warehouse import Warehouse
from engine.identifiers.kinds import Kind
from engine.identifiers.names import kind_of_name
from engine.identifiers.values import FEWEST, kind_of_values
from engine.job.job import Job
from engine.kernels.refine import class_counts
from engine.linter.value_counts import ValueCounts
from engine.linter.values import counted_hashes, hashes, parts_of
from engine.tables.counting.frequency import FrequencyTable

_LOOKED_AT = 5_000
"""Records of a batch whose values are looked at, in the first batch that has enough of them."""
_REPEATS = 0.25
"""Distinct values per record above which it takes longer to find them first than to hash the value of each record."""


@dataclass(frozen=True)
class Variation:
    """How a column varies among the records that have a value.

    Attributes
    ----------
    records : int
        Those records.
    distinct : float
        Their distinct values.
    agreeing_pairs : float
        Ordered pairs of them with the same value.
    rare : float
        Those whose value fewer records have than the smallest class of the job; 0 for a quasi-identifier.
    """

    records: int
    distinct: float
    agreeing_pairs: float
    rare: float = 0.0

    @property
    def distinction(self) -> float | None:
        """Distinct values as a share of the records, 0 to 1; None without records."""
        return min(1.0, self.distinct / self.records) if self.records else None

    @property
    def separation(self) -> float | None:
        """Share of the pairs of records that differ, 0 to 1; None with fewer than two records."""
        pairs = self.records * (self.records - 1)
        return max(0.0, 1 - self.agreeing_pairs / pairs) if pairs else None


class ColumnCounts:
    """Counts the values of the columns that are released as they are: a `Beside` of the counting.

    Attributes
    ----------
    columns : tuple of str
        The released columns that are not quasi-identifying, in the job's order, but no pseudonyms: these are looked at
        by whether they repeat (`engine.linter.findings.refuse_linked`). None of a column whose classes have one
        aggregate each, for it varies less than the classes.
    kinds : dict of str to Kind
        Those that look like identifiers, by their first values or their names.
    """

    def __init__(self, job: Job) -> None:
        others = {*job.quasi_identifiers, *job.aggregated, *job.pseudonymized}
        self.columns = tuple(name for name in job.released if name not in others)
        self._job = job
        self._counts = {name: ValueCounts() for name in self.columns}
        self._told: dict[str, Variation] = {}
        named = {name: kind_of_name(name) for name in self.columns}
        self.kinds: dict[str, Kind] = {name: kind for name, kind in named.items() if kind is not None}
        self._unknown = set(self.columns)
        self._repeating = set(self.columns)

    def see(self, batch: pa.RecordBatch) -> None:
        """Count the values of a batch; look at the first ones."""
        for name in self._unknown & set(batch.schema.names):
            self._look(name, batch.column(name))
        for name, counts in self._counts.items():
            column, missing = batch.column(name), frozenset(self._job.attributes[name].missing)
            if name in self._repeating:
                values, records = counted_hashes(column, name, missing)
                counts.add(values, records)
                if values.size > _REPEATS * batch.num_rows:
                    self._repeating.discard(name)
            else:
                found, there = hashes(column, name, missing)
                counts.add(found[there])

    def _look(self, name: str, column: pa.Array) -> None:
        missing = {"", *self._job.attributes[name].missing}
        for part, found in parts_of(column.slice(0, _LOOKED_AT), name):
            named = None if part == name else kind_of_name(part)
            if named is not None:
                self.kinds.setdefault(name, named)
            values = [text for text in pc.unique(found).to_pylist() if text is not None and text not in missing]
            if len(values) < FEWEST:
                continue
            self._unknown.discard(name)
            seen = kind_of_values(values)
            if seen is not None:
                self.kinds[name] = seen

    def ask(self, source: Warehouse) -> None:
        """Let a warehouse count the values instead, all of them exactly; an empty text is a missing value here too.

        No value is looked at: identifiers are known by the names of their columns alone.
        """
        few = max(2, self._job.minimum_class_size)
        for name in self.columns:
            absent = frozenset(self._job.attributes[name].missing)
            if pa.types.is_string(source.schema.field(name).type):
                absent |= {""}
            found = source.figures(name, absent, few)
            self._told[name] = Variation(found.records, found.distinct, found.agreeing_pairs, found.rare)

    def variations(self, table: FrequencyTable) -> Mapping[str, Variation]:
        """Return the variation of every released column, in the job's order; the table is of the same records."""
        found = {**dict(_of_quasi_identifiers(table)), **self.own()}
        return {name: found[name] for name in self._job.released if name in found}

    def own(self) -> dict[str, Variation]:
        """Return the variation of `columns`."""
        few = max(2, self._job.minimum_class_size)
        found = {
            name: Variation(counts.records, counts.distinct, counts.agreeing_pairs, counts.records_of_rare(few))
            for name, counts in self._counts.items()
        }
        return {**found, **self._told}


def _of_quasi_identifiers(table: FrequencyTable) -> Iterator[tuple[str, Variation]]:
    for name, hierarchy, codes in zip(table.attributes, table.hierarchies, table.codes, strict=True):
        of_label = class_counts(hierarchy.codes[0][codes], len(hierarchy.labels[0]), table.counts)
        there = of_label[[label is not None for label in hierarchy.labels[0]]].astype(np.float64)
        yield name, Variation(int(there.sum()), float((there > 0).sum()), float((there * (there - 1)).sum()))
