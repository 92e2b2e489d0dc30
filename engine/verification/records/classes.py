"""The equivalence classes of an output: how many records each has, and how many people of the population.

Counted by Arrow. Classes of records and of people are not joined but counted together, so that a missing value equals
a missing value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.grouping import grouped
from engine.verification.records.kept import MARK
from engine.verification.records.records import Records

_COUNTS = ("records", "people", "released", "shared")


@dataclass(frozen=True, eq=False)
class Classes:
    """C equivalence classes of kept records.

    Attributes
    ----------
    sizes : int64, shape (C,)
        Kept records, at least 1.
    people : int64, shape (C,)
        Records of the population; zeros without one.
    released : int64, shape (C,)
        Records that the research subset lists; zeros without one.
    shared : int64, shape (C,)
        People who may have the labels of another class too; zeros but of a local recoding.
    without_release : int
        Classes that only the population has: the subset lists no record of them.
    """

    sizes: NDArray[np.int64]
    people: NDArray[np.int64]
    released: NDArray[np.int64]
    shared: NDArray[np.int64]
    without_release: int


def classes_of(records: Records) -> Classes:
    """Count the classes of the kept records.

    Kept records that are `*` throughout are one class; how many they are follows from `kept_rows`.
    """
    kept = records.kept
    alike = records.kept_rows - kept.rows
    if records.population is None and not alike:
        nobody = np.zeros(kept.records.size, np.int64)
        return Classes(kept.records, nobody, nobody, nobody, 0)
    width = len(kept.labels)
    # columns are numbered: a quasi-identifier may have any name, even that of a count
    keys = [str(number) for number in range(width)]
    columns = [texts.column() for texts in kept.labels.values()]
    parts = [_part(keys, columns, kept.records.size, {"records": pa.array(kept.records)})]
    if alike:
        parts.append(_part(keys, [pa.array([MARK])] * width, 1, {"records": alike}))
    people = records.population
    if people is not None:
        counts = {name: people[name] for name in _COUNTS if name in people.column_names}
        parts.append(_part(keys, people.columns[:width], people.num_rows, counts))
    counted = grouped(pa.concat_tables(parts), keys).aggregate([(name, "sum") for name in _COUNTS])
    sizes, persons, released, shared = (_numbers(counted[f"{name}_sum"]) for name in _COUNTS)
    there = sizes > 0
    if records.as_file:
        starred = _starred(counted, keys)
        for figures in (persons, released):
            figures[starred] = figures[starred | ~there].sum()
            figures[~there] = 0
    alone = int(((persons > 0) & (released == 0)).sum())
    return Classes(sizes[there], persons[there], released[there], shared[there], alone)


def populated(records: Records, model: str) -> Classes:
    """Count the classes for a model that compares them with a population.

    Raises
    ------
    InvalidData
        There is none.
    """
    if records.population is None:
        raise InvalidData(f"{model} compares classes with a population; give it as well")
    return classes_of(records)


def _starred(counted: pa.Table, keys: list[str]) -> NDArray[np.bool_]:
    """Tell which class is `*` throughout, bool, shape (classes,)."""
    stars = [pc.fill_null(pc.equal(counted[key], MARK), False) for key in keys]
    found: NDArray[np.bool_] = reduce(pc.and_, stars).to_numpy()
    return found


def _part(keys: list[str], columns: list[pa.ChunkedArray], rows: int, counts: dict[str, object]) -> pa.Table:
    labels = [column if pa.types.is_string(column.type) else column.cast(pa.string()) for column in columns]
    given = [counts.get(name, 0) for name in _COUNTS]
    numbers = [pa.repeat(pa.scalar(n, pa.int64()), rows) if isinstance(n, int) else n for n in given]
    return pa.Table.from_arrays([*labels, *numbers], names=[*keys, *_COUNTS])


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    found: NDArray[np.int64] = pc.fill_null(column, 0).to_numpy().astype(np.int64, copy=True)
    return found
