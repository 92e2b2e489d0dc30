"""Bounds of Kullback-Leibler divergence on the rows of a box.

With c of n records in a tuple, the divergence is the sum over tuples of c^2 / n times log2 c + log2 b - log2 s: b
combinations of leaves below the labels of its class, s records in it. While a tuple is kept, b is at least that of the
box's lowest levels and s at most that of the class at its highest ones; once it is suppressed, b is all combinations
and s at most the suppression limit. We know of no bound in the literature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.kernels.refine import class_counts
from engine.utility.bounds.box_costs import Bound, Box
from engine.utility.bounds.label_costs import by_label
from engine.utility.bounds.row_costs import PassCosts


class DivergenceCosts(PassCosts):
    """See `BoxCosts`: one part; rows carry the sum of the squares of their tuples' records.

    Parameters
    ----------
    counts : int64, shape (tuples,)
        Records of the tuples of the table.
    leaves : sequence by attribute of float64 arrays, shape (levels, leaves)
        Rows of the hierarchy below each label.
    """

    # a sparse class that is mostly one tuple may gain by joining a dense class
    rises = False

    def __init__(
        self, counts: NDArray[np.int64], hierarchies: Sequence[Hierarchy], leaves: Sequence[NDArray[np.float64]]
    ) -> None:
        present = counts[counts > 0].astype(np.float64)
        self.carried = np.square(counts.astype(np.float64))[None, :]
        self._records = float(present.sum())
        self._squares = float(np.square(present).sum())
        self._own = float((np.square(present) * np.log2(present)).sum())
        self._bits = [
            [np.log2(np.maximum(below, 1.0)) for below in by_label(hierarchy, levels)]
            for hierarchy, levels in zip(hierarchies, leaves, strict=True)
        ]
        self._everything = float(sum(np.log2(hierarchy.domain_size) for hierarchy in hierarchies))

    def weights(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.weights`."""
        more: NDArray[np.float64] = np.maximum(self._suppressed(box) - self._kept(box), 0.0)
        more *= box.carried[0] / self._records
        return more[None, :]

    def base(self, box: Box) -> NDArray[np.float64]:
        """See `BoxCosts.base`."""
        live, suppressed = box.carried[0], self._suppressed(box)
        bits = float((live * np.minimum(self._kept(box), suppressed)).sum())
        gone = (self._squares - float(live.sum())) * suppressed
        return np.array([(self._own + bits + gone) / self._records])

    def settled(
        self, box: Box, base: NDArray[np.float64], weights: NDArray[np.float64], fails: NDArray[np.bool_]
    ) -> Bound:
        """See `BoxCosts.settled`."""
        del base, weights
        # both come from the classes of the transformation
        return self.bound([float(self.base(box)[0] + self.weights(box)[0][fails].sum())])

    def _kept(self, box: Box) -> NDArray[np.float64]:
        sizes = class_counts(box.gid, box.size, box.counts)
        found: NDArray[np.float64] = -np.log2(np.maximum(sizes, 1).astype(np.float64))[box.gid]
        for column, levels, level in zip(box.columns, self._bits, box.low, strict=True):
            found += levels[level][column]
        return found

    def _suppressed(self, box: Box) -> float:
        return self._everything - float(np.log2(max(box.limit, 1)))
