"""How each released column varies: distinction and separation.

Motwani, Xu: Efficient algorithms for masking and finding quasi-identifiers, VLDB 2007. In: the source of a job and its
frequency table. Out: per column a `Variation`. Quasi-identifiers are read from the frequency table, the others from
the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from engine.job.job import Job
from engine.linter.value_counts import ValueCounts
from engine.linter.values import hashes
from engine.tables.frequency import FrequencyTable
from engine.tables.source import Table


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


def variations(job: Job, records: Table, table: FrequencyTable) -> Mapping[str, Variation]:
    """Measure every released column, in the job's order.

    Parameters
    ----------
    records : Table
        The records that were counted: all of the source, or the subset that is released.
    table : FrequencyTable
        Of these records.
    """
    found = {**dict(_of_quasi_identifiers(table)), **_of_others(job, records)}
    return {name: found[name] for name in job.released}


def _of_quasi_identifiers(table: FrequencyTable) -> Iterator[tuple[str, Variation]]:
    for name, hierarchy, codes in zip(table.attributes, table.hierarchies, table.codes, strict=True):
        of_leaf = np.zeros(len(hierarchy.labels[0]), np.int64)
        np.add.at(of_leaf, codes, table.counts)
        there = of_leaf[[label is not None for label in hierarchy.labels[0]]].astype(np.float64)
        yield name, Variation(int(there.sum()), float((there > 0).sum()), float((there * (there - 1)).sum()))


def _of_others(job: Job, records: Table) -> dict[str, Variation]:
    names = [name for name in job.released if name not in job.quasi_identifiers]
    counts = {name: ValueCounts() for name in names}
    missing = {name: frozenset(job.attributes[name].missing) for name in names}
    for batch in records.batches(names) if names else ():
        for name, column in zip(names, batch.columns, strict=True):
            values, there = hashes(column, name, missing[name])
            counts[name].add(values[there])
    few = max(2, job.minimum_class_size)
    return {
        name: Variation(found.records, found.distinct, found.agreeing_pairs, found.records_of_rare(few))
        for name, found in counts.items()
    }
