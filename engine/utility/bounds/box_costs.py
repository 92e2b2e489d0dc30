"""Lower bounds of a measure for a box of the lattice.

In: the rows of a box, which represent the records not yet suppressed, and the labels of those that every transformation
in it suppresses. Out: a weight per row, its additional loss if it is suppressed too, and a bound. The weights of rows
that fail are added to the bound without reading the rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from engine.lattice.space import Levels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Bound = tuple[float, ...]
"""A lower bound of a loss, in the form in which losses compare (`ranked`)."""


class Box(Protocol):
    """All transformations from `low` to `high`; R rows."""

    @property
    def low(self) -> Levels:
        """Lowest levels."""

    @property
    def high(self) -> Levels:
        """Highest levels."""

    @property
    def columns(self) -> Sequence[NDArray[np.int32]]:
        """Label codes of the rows at the lowest levels, one array of shape (R,) per attribute."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records of the rows, shape (R,)."""

    @property
    def carried(self) -> NDArray[np.float64]:
        """Further figures of the measure per row, shape (carried, R)."""

    @property
    def gid(self) -> NDArray[np.int32]:
        """Class of each row in the partition at the highest levels, shape (R,)."""

    @property
    def size(self) -> int:
        """Number of classes."""

    @property
    def minimum(self) -> int:
        """Records that a class must have."""

    @property
    def limit(self) -> int:
        """Records that may be suppressed."""

    @property
    def gone_records(self) -> int:
        """Records that are suppressed in the whole box; they are in no row."""

    @property
    def gone_labels(self) -> Sequence[NDArray[np.int64]]:
        """The same by label code at the lowest level, one array per attribute."""

    def up(self, a: int, low: int, high: int) -> NDArray[np.int32]:
        """Return the label code at a higher level of each label code of an attribute at a lower one."""


class BoxCosts(Protocol):
    """The bounds of one measure on one table.

    Attributes
    ----------
    weighs : bool
        Whether rows have weights; otherwise all weights are 0.
    rises : bool
        Whether generalization never reduces the loss while nothing is suppressed.
    adds : bool
        Whether weights and bases are sums that stay correct when rows are merged and dropped: then `lifted` and
        `raised` update them, else they are computed again.
    reads_fixed : bool
        Whether the columns of attributes with one remaining level are needed.
    carried : float64, shape (carried, tuples), or None
        Further figures of the tuples of the table; rows have their sums.
    """

    weighs: bool
    rises: bool
    adds: bool
    reads_fixed: bool
    carried: NDArray[np.float64] | None

    def weights(self, box: Box) -> NDArray[np.float64]:
        """Return the additional loss of each row if it is suppressed, at least 0, shape (parts, R)."""

    def lifted(
        self, box: Box, weights: NDArray[np.float64], a: int, old: int, column: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return the weights after attribute `a` was raised from level `old`, where it had the codes `column`."""

    def raised(self, box: Box, base: NDArray[np.float64], a: int, level: int) -> NDArray[np.float64]:
        """Return the base after attribute `a` was raised to `level`."""

    def base(self, box: Box) -> NDArray[np.float64]:
        """Return the bound of the box by part, shape (parts,): sums of weights may be added to it."""

    def bound(self, parts: Sequence[float]) -> Bound:
        """Combine the parts of a bound."""

    def above(self, box: Box, base: NDArray[np.float64], a: int, level: int) -> Bound:
        """Return a bound of the part of the box in which attribute `a` is at least at `level`, without the rows."""

    def floor(self, box: Box, base: NDArray[np.float64], levels: Levels) -> Bound:
        """Return a bound of the part of the box from `levels` upwards, without the rows."""

    def settled(
        self, box: Box, base: NDArray[np.float64], weights: NDArray[np.float64], fails: NDArray[np.bool_]
    ) -> Bound:
        """Return a bound of a single transformation in which rows are suppressed, bool, shape (R,)."""
