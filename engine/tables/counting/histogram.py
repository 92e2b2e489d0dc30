"""Sensitive values by row of a table, or by class, with their records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy, Label


@dataclass(frozen=True, eq=False)
class Histogram:
    """Sensitive values per row, sparse.

    Row r holds `values[offsets[r]:offsets[r + 1]]` (codes into `labels`, in the attribute's order, int32, ascending)
    with `counts` records each (int64). `totals` (int64, shape (labels,)) counts the whole table; `hierarchy` is that of
    the attribute, for models that need one.
    """

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    labels: tuple[Label, ...]
    hierarchy: Hierarchy | None = None

    def of(self, rows: NDArray[np.bool_]) -> Histogram:
        """Return the values of some rows, bool, shape (R,); the others are empty, values that are gone have no code."""
        lengths = np.diff(self.offsets)
        inside = np.repeat(rows, lengths)
        values, counts = self.values[inside], self.counts[inside]
        totals = np.zeros(len(self.labels), np.int64)
        np.add.at(totals, values, counts)
        there = totals > 0
        codes = (np.cumsum(there) - 1).astype(np.int32)
        return Histogram(
            np.concatenate([[0], np.cumsum(np.where(rows, lengths, 0))]),
            codes[values],
            counts,
            totals[there],
            tuple(label for label, left in zip(self.labels, there.tolist(), strict=True) if left),
            self.hierarchy,
        )
