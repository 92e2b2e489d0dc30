"""Predictive properties: facts about a transformation that follow from another one.

Prasser, Kohlmayer, Kuhn, Efficient and effective pruning strategies for health data de-identification. BMC Med Inform
Decis Mak 16:49, 2016, sections "Predictive properties" and "Efficient management of predictive properties". All
specializations of a transformation inherit insufficient protection (downwards), all its generalizations inherit
insufficient quality (upwards).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from engine.lattice.antichain_list import AntichainList
from engine.lattice.orientation import Inherited
from engine.lattice.prefix_tree import PrefixTree
from engine.lattice.property_list import PropertyList
from engine.lattice.ranked_prefix_tree import RankedPrefixTree
from engine.lattice.space import Lattice, Levels

StoreName = Literal["list", "antichain-list", "prefix-tree", "ranked-prefix-tree"]


class PropertyStore(Protocol):
    """The transformations of one lattice that have one property, by inheritance.

    Invariant: after every insertion no two stored transformations are comparable (only the plain list keeps all), and
    the store contains exactly what all insertions imply. Levels must be a transformation of the lattice; this is not
    checked, because a query costs about a microsecond. A store is used by one thread at a time.
    """

    def insert(self, levels: Levels) -> None:
        """Record that a transformation has the property."""

    def __contains__(self, levels: Levels) -> bool:
        """Whether a transformation has the property, by itself or by inheritance."""

    def __len__(self) -> int:
        """Return the number of transformations stored."""


STORES: Mapping[StoreName, Callable[[Lattice, Inherited], PropertyStore]] = {
    "list": PropertyList,
    "antichain-list": AntichainList,
    "prefix-tree": PrefixTree,
    "ranked-prefix-tree": RankedPrefixTree,
}
"""The four of the paper's Table 1, in its order."""


def property_store(lattice: Lattice, inherited: Inherited, store: StoreName = "ranked-prefix-tree") -> PropertyStore:
    """Make an empty store for one property of the transformations of a lattice with at least one attribute."""
    return STORES[store](lattice, inherited)
