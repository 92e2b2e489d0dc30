"""A predictive property in a plain list of everything that was inserted (Prasser et al. 2016, Table 1, option 1)."""

from __future__ import annotations

import numpy as np

from engine.kernels.property_list import list_holds
from engine.lattice.orientation import Inherited, Orientation
from engine.lattice.space import Lattice, Levels


class PropertyList:
    """See `engine.lattice.properties.PropertyStore`; keeps implied transformations too, so it only grows."""

    def __init__(self, lattice: Lattice, inherited: Inherited) -> None:
        self._orientation = Orientation(lattice, inherited)
        self._nodes = np.zeros((16, len(lattice.low)), np.int32)
        self._stored = 0

    def insert(self, levels: Levels) -> None:
        """Append a transformation."""
        self._make_room()
        self._nodes[self._stored] = self._orientation.turned(levels)
        self._stored += 1

    def __contains__(self, levels: Levels) -> bool:
        return list_holds(self._nodes, self._stored, self._orientation.turned(levels))

    def __len__(self) -> int:
        return self._stored

    def _make_room(self) -> None:
        if self._stored == len(self._nodes):
            self._nodes = np.concatenate([self._nodes, np.zeros_like(self._nodes)])
