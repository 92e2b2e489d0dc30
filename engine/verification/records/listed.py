"""Recounts which records of a source a research subset lists.

Records are compared as text in the columns of the subset's file, a missing value reading like an empty text. Of records
that read alike, as many are released as the file has rows like them, and the first ones are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Listed:
    """What a subset says of a source.

    Attributes
    ----------
    released : bool, shape (records,)
        Which records of the source are listed.
    rows : int
        Rows of the file.
    unmatched : int
        Rows of the file that are not records of the source.
    """

    released: NDArray[np.bool_]
    rows: int
    unmatched: int


def listed_records(source: pa.Table, subset: pa.Table) -> Listed:
    """Compare a source with the rows of a subset's file.

    Parameters
    ----------
    source, subset : pyarrow Table
        The same text columns, those of the file.
    """
    rows = subset.num_rows
    group = _groups(pa.concat_tables([subset, source.select(subset.column_names)]))
    wanted = np.bincount(group[:rows], minlength=int(group.max(initial=-1)) + 1)
    released = _places(group[rows:]) < wanted[group[rows:]]
    return Listed(released, rows, rows - int(released.sum()))


def _groups(table: pa.Table) -> NDArray[np.int64]:
    """Give each row a number, so that equal ones have the same number, shape (rows,)."""
    group = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        codes = pc.fill_null(column, "").combine_chunks().dictionary_encode().indices.to_numpy()
        pairs = group * (int(codes.max(initial=0)) + 1) + codes
        group = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return group


def _places(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows of the same group precede each row, shape (rows,)."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    place = np.empty_like(order)
    place[order] = np.arange(order.size) - np.searchsorted(ordered, ordered)
    return place
