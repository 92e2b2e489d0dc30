"""A predictive property as an antichain in a prefix tree (Prasser et al. 2016, Table 1, option 3)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.kernels.prefix_tree import STORED, USED, empty_tree, path_size, tree_holds, tree_insert
from engine.lattice.orientation import Inherited, Orientation
from engine.lattice.space import Lattice, Levels

_MOST = np.iinfo(np.int32).max


class PrefixTree:
    """See `engine.lattice.properties.PropertyStore`; the tree's array is described with its kernels."""

    _ranked: ClassVar[bool] = False

    def __init__(self, lattice: Lattice, inherited: Inherited) -> None:
        self._orientation = Orientation(lattice, inherited)
        self._tree = empty_tree(self._orientation.heights, ranked=self._ranked)
        self._path = path_size(self._orientation.heights, ranked=self._ranked)

    def insert(self, levels: Levels) -> None:
        """Store a transformation unless it is implied; remove those it implies.

        Raises
        ------
        MemoryError
            The tree would have more positions than an int32 can name.
        """
        self._make_room()
        tree_insert(self._tree, self._orientation.turned(levels))

    def __contains__(self, levels: Levels) -> bool:
        return tree_holds(self._tree, self._orientation.turned(levels))

    def __len__(self) -> int:
        return int(self._tree[STORED])

    def _make_room(self) -> None:
        needed = int(self._tree[USED]) + self._path
        if needed > _MOST:
            raise MemoryError(f"a tree of predictive properties may have {_MOST} positions; it needs {needed}")
        if needed > self._tree.size:
            self._tree = np.concatenate([self._tree, np.zeros(max(self._tree.size, self._path), np.int32)])
