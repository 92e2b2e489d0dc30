"""The base of all utility measures: a value of the job that makes an evaluator for one table.

In: the rows of a frequency table (`Rows`). Out: an `Evaluator`, which gives the loss of a checked transformation, a
lower bound for every transformation in a box of the lattice, the bounds of boxes, and an order of classes by loss.
The search uses only these four methods.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pydantic import Field

from engine.hierarchy.hierarchy import Hierarchy
from engine.lattice.space import Levels
from engine.spec import Spec
from engine.utility.aggregate import AggregateName
from engine.utility.information_loss import InformationLoss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.utility.bounds.box_costs import BoxCosts


Reads = Literal["file", "domains", "cells"]


class Rows(Protocol):
    """R distinct tuples of m quasi-identifiers."""

    @property
    def hierarchies(self) -> Sequence[Hierarchy]:
        """One per quasi-identifier."""

    @property
    def codes(self) -> NDArray[np.int32]:
        """Leaf codes, shape (m, R)."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per tuple, shape (R,)."""

    @property
    def records(self) -> int:
        """Sum of the counts."""

    @property
    def leaf_records(self) -> Sequence[NDArray[np.int64]]:
        """Records of each leaf code, shape (leaves,), by quasi-identifier."""

    def partition(self, levels: Levels) -> RowClasses:
        """Group the rows into the equivalence classes of a transformation."""


class RowClasses(Protocol):
    """The equivalence classes of a transformation, C of them."""

    @property
    def gid(self) -> NDArray[np.int32]:
        """Class of each row, shape (R,)."""

    @property
    def size(self) -> int:
        """Number of classes, C."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per class, shape (C,)."""


class Evaluator(Protocol):
    """A measure bound to a table. Rows are named by their index, shape (S,), int64."""

    def loss(self, levels: Levels, classes: RowClasses, suppressed: NDArray[np.int64]) -> InformationLoss:
        """Return the information loss of the transformation that generalizes to `levels` and suppresses rows.

        `classes` is the partition of the rows at `levels`; a class is suppressed whole or not at all.
        """

    def bound(self, low: Levels, high: Levels, suppressed: NDArray[np.int64]) -> InformationLoss:
        """Return a lower bound of the loss in the box [low, high], if at least these rows are suppressed."""

    def class_order(self, levels: Levels, classes: RowClasses) -> NDArray[np.int64] | None:
        """Return the rank of each class by the loss of keeping it, shape (C,); None if the measure gives no order.

        Of classes of the same size, a table-wide criterion first suppresses those that lose least (definitions).
        """

    def box_costs(self) -> BoxCosts:
        """Return the bounds of boxes."""


class Measure(Spec):
    """A utility measure of a job.

    Attributes
    ----------
    title, meaning : str
        Its name on pages, and what its figure means.
    is_share : bool
        Whether its figure is a share of what can be lost, 0 to 1, unless the job's aggregate is a sum.
    reads : {"file", "domains", "cells"}
        What its figure depends on besides the job: the released file alone, so that anyone recounts it; the domains of
        the hierarchies too, which may be those of the source's values; or the cells of the source, of which somebody
        who knows all others can solve for the last. It decides how many digits are published.
    sums_records : bool
        Whether the cost of a record, kept or suppressed, does not depend on which others of its class are kept: then
        rows of one class may be suppressed in part.
    sums_attributes : bool
        Whether, moreover, the cost of a kept record is a sum over attributes of what its label costs: then each record
        may have levels of its own.
    compares_tuples : bool
        Whether it compares the records of each distinct tuple, so that it has no figure where a tuple is kept in part.
    knows_lacking : bool
        Whether cells that are not there, of a column that a linked table lacks, lose nothing.
    measure : str
        The name in the job file.
    """

    title: ClassVar[str]
    meaning: ClassVar[str]
    is_share: ClassVar[bool] = False
    reads: ClassVar[Reads] = "cells"
    sums_records: ClassVar[bool] = False
    sums_attributes: ClassVar[bool] = False
    compares_tuples: ClassVar[bool] = False
    knows_lacking: ClassVar[bool] = False

    measure: str
    aggregate: AggregateName = Field(
        default="arithmetic-mean", description="How the losses of the attributes become one figure."
    )
    generalization_suppression_factor: float = Field(
        default=0.5,
        ge=0,
        le=1,
        strict=True,
        description="0: suppression costs nothing; 1: generalization costs nothing.",
    )

    @property
    def generalization_factor(self) -> float:
        """`g` of the definitions."""
        factor = self.generalization_suppression_factor
        return 1.0 if factor <= 0.5 else 1.0 - 2.0 * (factor - 0.5)  # noqa: PLR2004 (one half)

    @property
    def suppression_factor(self) -> float:
        """`s` of the definitions."""
        factor = self.generalization_suppression_factor
        return 2.0 * factor if factor < 0.5 else 1.0  # noqa: PLR2004 (one half)

    @abstractmethod
    def evaluator(self, rows: Rows, weights: Sequence[float]) -> Evaluator:
        """Bind the measure to a table; one weight per quasi-identifier, at least one above 0."""
