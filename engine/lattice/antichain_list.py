"""A predictive property in a list that is kept an antichain (Prasser et al. 2016, Table 1, option 2)."""

from __future__ import annotations

from engine.kernels.property_list import list_insert
from engine.lattice.property_list import PropertyList
from engine.lattice.space import Levels


class AntichainList(PropertyList):
    """See `engine.lattice.properties.PropertyStore`."""

    def insert(self, levels: Levels) -> None:
        """Store a transformation unless it is implied; remove those it implies."""
        self._make_room()
        self._stored = list_insert(self._nodes, self._stored, self._orientation.turned(levels))
