"""t-closeness: the sensitive values of each class are distributed nearly as those of the whole table.

Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007, sections 4 and 5. The
distance is the earth mover's, with equal ground distances, with the distance of ranks, or with that of a hierarchy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from engine.privacy.model import Monotonicity, Partition, PrivacyModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TCloseness(PrivacyModel):
    """The distance between a class and the table is at most `t`."""

    model: Literal["t-closeness"] = "t-closeness"
    distance: Literal["equal", "ordered", "hierarchical"] = Field(description="Ground distance of two values.")
    attribute: str = Field(description="The sensitive attribute; it needs `order` or `hierarchy` for two of them.")
    t: float = Field(ge=0, le=1, strict=True, description="Largest distance, 0 to 1.")

    @property
    def sensitive_attribute(self) -> str:
        """The attribute whose values are counted."""
        return self.attribute

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

    def describe(self) -> str:
        """Render for a person."""
        return f"{self.distance} {self.t:g}-closeness of {self.attribute}"

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
            distances: NDArray[np.float64] = np.add.reduceat(np.maximum(part - table, 0.0), histogram.offsets[:-1])
            distances /= sizes * records
            return distances
        if self.distance == "ordered":
            cumulative = np.cumsum(totals)
            prefix = np.concatenate([[0.0], np.cumsum(cumulative)])
            return closeness.ordered_distances(
                histogram.offsets, histogram.values, histogram.counts, cumulative, prefix
            )
        return closeness.hierarchical_distances(
            histogram.offsets, histogram.values, histogram.counts, *_tree(histogram, totals)
        )


def _tree(histogram: Any, totals: Any) -> tuple[Any, Any, Any]:
    """Return nodes, their records and parents of the sensitive attribute's hierarchy, as the kernel reads them."""
    import numpy as np  # noqa: PLC0415

    hierarchy = histogram.hierarchy
    leaves = np.array([hierarchy.leaf_code(label) for label in histogram.labels])
    nodes = np.ascontiguousarray(hierarchy.codes[:, leaves])
    levels = nodes.shape[0]
    width = int(hierarchy.codes.max()) + 1
    mass = np.zeros((levels, width))
    parents = np.zeros((levels, width), np.int32)
    for level in range(levels):
        np.add.at(mass[level], nodes[level], totals)
        if level + 1 < levels:
            parents[level, hierarchy.codes[level]] = hierarchy.codes[level + 1]
    return nodes, mass, parents
