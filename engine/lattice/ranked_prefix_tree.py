"""A predictive property as an antichain in a prefix tree with ranks (Prasser et al. 2016, Table 1, option 4).

A query skips branches in which every stored transformation has a higher remaining sum of levels than the query.
"""

from __future__ import annotations

from typing import ClassVar

from engine.lattice.prefix_tree import PrefixTree


class RankedPrefixTree(PrefixTree):
    """See `engine.lattice.properties.PropertyStore`."""

    _ranked: ClassVar[bool] = True
