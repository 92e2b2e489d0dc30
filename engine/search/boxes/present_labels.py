"""The labels that records have, numbered level by level: a hierarchy may have many more.

In: a frequency table. Out: a code per label of each level, 0 to `width` - 1, in the order of the hierarchy's codes.
What is kept for each label, and what is read again and again, then depends on the table and not on its hierarchies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.label_maps import label_map
from engine.tables.counting.frequency import FrequencyTable


class PresentLabels:
    """Codes of the labels of a table, by attribute and level."""

    def __init__(self, table: FrequencyTable) -> None:
        self._leaves: list[NDArray[np.int64]] = []
        self._labels: list[list[NDArray[np.int64]]] = []
        self._codes: list[list[NDArray[np.int32]]] = []
        for records, hierarchy in zip(table.leaf_records, table.hierarchies, strict=True):
            leaves = np.flatnonzero(records)
            self._leaves.append(leaves)
            self._labels.append([])
            self._codes.append([])
            for of_leaf, labels in zip(hierarchy.codes, hierarchy.labels, strict=True):
                there = np.zeros(len(labels), np.bool_)
                there[of_leaf[leaves]] = True
                places = np.cumsum(there, dtype=np.int32) - np.int32(1)
                self._labels[-1].append(np.flatnonzero(there))
                self._codes[-1].append(places[of_leaf[leaves]])

    def width(self, a: int, level: int) -> int:
        """Return the number of labels of a level."""
        return self._labels[a][level].size

    def labels(self, a: int, level: int) -> NDArray[np.int64]:
        """Return the hierarchy's code of each label of a level, ascending, shape (width,)."""
        return self._labels[a][level]

    def of_leaves(self, a: int, level: int, leaves: int) -> NDArray[np.int32]:
        """Return the code at a level of each leaf code of the hierarchy, shape (leaves,); 0 where no record has it."""
        found = np.zeros(leaves, np.int32)
        found[self._leaves[a]] = self._codes[a][level]
        return found

    def up(self, a: int, low: int, high: int) -> NDArray[np.int32]:
        """Return the code at level `high` of each code at level `low`, shape (width,)."""
        return label_map(self._codes[a][low], self._codes[a][high], self.width(a, low))
