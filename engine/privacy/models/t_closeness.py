"""t-closeness: the sensitive values of each class are distributed nearly as those of the whole table.

Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007, sections 4 and 5. The
distance is the earth mover's, with equal ground distances, with the distance of ranks, or with that of a hierarchy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from engine.privacy.lack import Lack, of_cumulative_shares, of_shares
from engine.privacy.model import ClassHistogram, Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LARGEST = 4096
_BUDGET = 1 << 21
"""Sizes, and sizes times values, that are looked at for the smallest class."""


class TCloseness(PrivacyModel):
    """The distance between a class and the table is at most `t`."""

    compares_with_table: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = True

    model: Literal["t-closeness"] = "t-closeness"
    distance: Literal["equal", "ordered", "hierarchical"] = Field(description="Ground distance of two values.")
    attribute: str = Field(description="The sensitive attribute; it needs `order` or `hierarchy` for two of them.")
    t: float = Field(ge=0, le=1, strict=True, description="Largest distance, 0 to 1.")

    @property
    def reads_order(self) -> bool:
        """See `PrivacyModel.reads_order`."""
        return self.distance == "ordered"

    @property
    def reads_hierarchy(self) -> bool:
        """See `PrivacyModel.reads_hierarchy`."""
        return self.distance == "hierarchical"

    def lacking(self, order: str | None, *, has_hierarchy: bool) -> str | None:
        """See `PrivacyModel.lacking`: the hierarchical distance needs a hierarchy."""
        del order
        if has_hierarchy or not self.reads_hierarchy:
            return None
        return f"distance hierarchical needs attributes.{self.attribute}.hierarchy; add it"

    @property
    def monotonicity(self) -> Monotonicity:
        """The distance of a union is at most the largest of its parts: it is convex."""
        return Monotonicity.GENERALIZATION_ONLY

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes further than `t` from the table."""
        return ~(self._distances(partition) <= self.t)

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the largest distance of a kept class."""
        distances = self._distances(partition)[kept]
        return float(distances.max()) if distances.size else None

    def requirement(self, observed: float | None) -> Requirement:
        """At most `t` as the largest distance."""
        del observed
        return Requirement(self.t, "at-most")

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.distance} {self.t:g}-closeness of {self.attribute}"

    def lack(self, attribute: ClassHistogram) -> Lack:
        """See `PrivacyModel.lack`: the distance, a sum over nodes of the hierarchy or over cumulative shares."""
        import numpy as np  # noqa: PLC0415

        values = len(attribute.labels)
        if self.distance == "ordered":
            return of_cumulative_shares(values, 1.0 / max(values - 1, 1), self.t)
        if self.distance == "equal":
            return super().lack(attribute)._replace(allowed=self.t)
        nodes = self._nodes(attribute)[0][:-1].astype(np.int64)
        return of_shares(nodes, 0.5 / nodes.shape[0], self.t) if nodes.shape[0] else super().lack(attribute)

    def least_class_size(self, attribute: ClassHistogram | None) -> int:
        """Return a number of records below which no class can satisfy the model, for any values.

        A class of c records has whole counts, the shares of the table are hardly ever multiples of 1/c: `t` implies a
        minimum class size, as k and l do. It is the smallest c for which some c records of the table are within `t`,
        or less where that is above 4096 or 2**21 / V.

        Parameters
        ----------
        attribute : ClassHistogram
            Of any partition; only what it says of the table's V values is read.
        """
        assert attribute is not None  # noqa: S101 (every model of a sensitive attribute is given it)
        totals = attribute.totals
        records, last = int(totals.sum()), min(_LARGEST, _BUDGET // totals.size)
        nodes = None if self.distance == "ordered" else self._nodes(attribute)[0][:-1]
        size = 1
        # all the records of the table are at distance 0
        while size < min(records, last):
            least = _least_in_order(totals, size) if nodes is None else _least_in_tree(nodes, totals, size)
            if least <= self.t:
                break
            size += 1
        return size

    @property
    def looks_inside(self) -> bool:
        """See `PrivacyModel.looks_inside`."""
        return True

    def most_kept(self, partition: Partition, least: int) -> NDArray[np.int64]:
        """See `PrivacyModel.most_kept`: the distance of a union is at most the largest of its parts."""
        from engine.kernels import close_parts  # noqa: PLC0415

        histogram = partition.histogram(self.attribute)
        classes = (histogram.offsets, histogram.values, histogram.counts)
        totals = histogram.totals.astype(float)
        if self.distance == "ordered":
            return close_parts.largest_parts_in_order(*classes, *_cumulative(totals), least, self.t)
        return close_parts.largest_parts_in_tree(*classes, *self._nodes(histogram), least, self.t)

    def _distances(self, partition: Partition) -> NDArray[np.float64]:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy and numba)

        from engine.kernels import closeness  # noqa: PLC0415

        histogram = partition.histogram(self.attribute)
        totals = histogram.totals.astype(np.float64)
        if self.distance == "equal":
            # whole numbers, as in the kernels: times class and table
            sizes, records = partition.counts.astype(np.float64), totals.sum()
            part = histogram.counts * records
            table = totals[histogram.values] * np.repeat(sizes, np.diff(histogram.offsets))
            # what a class has too much of one value it lacks of others: half of all differences is the surplus
            classes = np.repeat(np.arange(sizes.size), np.diff(histogram.offsets))
            surplus = np.bincount(classes, np.maximum(part - table, 0.0), sizes.size)
            # a class without records has no surplus
            distances: NDArray[np.float64] = surplus / (np.maximum(sizes, 1.0) * records)
            return distances
        if self.distance == "ordered":
            return closeness.ordered_distances(
                histogram.offsets, histogram.values, histogram.counts, *_cumulative(totals)
            )
        return closeness.hierarchical_distances(
            histogram.offsets, histogram.values, histogram.counts, *_tree(histogram)
        )

    def _nodes(self, histogram: ClassHistogram) -> tuple[Any, Any]:
        """Return the nodes of each value and their records, by level; with equal distance all values share a root."""
        import numpy as np  # noqa: PLC0415

        if self.distance == "hierarchical":
            return _tree(histogram)[:2]
        totals = histogram.totals.astype(np.float64)
        nodes = np.zeros((2, totals.size), np.int32)
        nodes[0] = np.arange(totals.size)
        return nodes, np.stack([totals, np.zeros_like(totals)])


def _cumulative(totals: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return the records with a value of at most i, and the sums of these before i, as the kernels read them."""
    import numpy as np  # noqa: PLC0415

    cumulative = np.cumsum(totals)
    return cumulative, np.concatenate([[0.0], np.cumsum(cumulative)])


def _least_in_order(totals: NDArray[np.int64], size: int) -> float:
    """Return the least ordered distance of any `size` records of the table, correctly rounded.

    With cumulative shares P of the class and Q of the table it is the sum of abs(c P_i - c Q_i) / (c (V - 1)), and the
    c P_i are whole numbers. Each term is least where c P_i is the whole number next to c Q_i (the upper of two). They
    never descend, end at c, and ask for no more of a value than the table has: one class has all terms least.
    """
    import numpy as np  # noqa: PLC0415

    if totals.size == 1:
        return 0.0
    records = int(totals.sum())
    beyond = size * np.cumsum(totals) % records
    return int(np.minimum(beyond, records - beyond).sum()) / (size * records * (totals.size - 1))


def _least_in_tree(nodes: NDArray[np.int32], totals: NDArray[np.int64], size: int) -> float:
    """Return the least hierarchical distance of any `size` records of the table, correctly rounded.

    With one root the distance is the sum of abs(d) / (2 c height) over all nodes below it, where d is the node's count
    in the class less its fair share, c Q. A leaf of the best class has its fair share rounded down or up. For let a
    leaf have d >= 1: while no sibling has d < 0 its parent has d >= 1 as well, and the root has d = 0, so some number
    of levels up a sibling has d < 0. Moving a record from the leaf to a leaf below that sibling, by way of nodes with
    d < 0, takes 1 off every node climbed and adds less than 1 to as many others. In the same way no leaf has d <= -1.

    What remains is which leaves are rounded up, a fixed number in all. The cost of a node with j of them below it is
    convex in j: abs(d) is, and the best division among children keeps it. So the marginal costs of a node are those of
    its children in ascending order, each plus its own, and the least cost takes the smallest at the root.

    Parameters
    ----------
    nodes : int32, shape (height, V)
        Node of each value at each level below the root, leaves first.
    """
    import numpy as np  # noqa: PLC0415

    records = int(totals.sum())
    down = size * totals // records
    free = np.flatnonzero(size * totals % records)
    marginal = np.zeros(free.size, np.int64)
    cost = 0
    for of_value in nodes:
        mass, base = (np.zeros(int(of_value.max()) + 1, np.int64) for _ in range(2))
        np.add.at(mass, of_value, totals)
        np.add.at(base, of_value, down)
        difference = base * records - size * mass
        cost += int(np.abs(difference).sum())
        order = np.lexsort((marginal, of_value[free]))
        free = free[order]
        node = of_value[free]
        rank = np.arange(free.size) - np.searchsorted(node, node)
        before = difference[node] + rank * records
        marginal = marginal[order] + np.abs(before + records) - np.abs(before)
    cost += int(np.sort(marginal)[: size - int(down.sum())].sum())
    return cost / (2 * size * records * nodes.shape[0]) if nodes.shape[0] else 0.0


_TREES: WeakKeyDictionary[Any, tuple[Any, Any, tuple[Any, Any, Any]]] = WeakKeyDictionary()
"""By hierarchy: the records and values of which the tree was made, and the tree. All partitions of a table share it."""


def _tree(histogram: Any) -> tuple[Any, Any, Any]:
    """Return nodes, their records and parents of the sensitive attribute's hierarchy, as the kernel reads them."""
    import numpy as np  # noqa: PLC0415

    hierarchy = histogram.hierarchy
    known = _TREES.get(hierarchy)
    if known is not None and known[0] is histogram.totals and known[1] is histogram.labels:
        return known[2]
    leaves = np.array([hierarchy.leaf_code(label) for label in histogram.labels], np.int64)
    nodes = np.ascontiguousarray(hierarchy.codes[:, leaves])
    levels = nodes.shape[0]
    width = int(hierarchy.codes.max()) + 1
    mass = np.zeros((levels, width))
    parents = np.zeros((levels, width), np.int32)
    for level in range(levels):
        np.add.at(mass[level], nodes[level], histogram.totals)
        if level + 1 < levels:
            parents[level, hierarchy.codes[level]] = hierarchy.codes[level + 1]
    _TREES[hierarchy] = histogram.totals, histogram.labels, (nodes, mass, parents)
    return nodes, mass, parents
