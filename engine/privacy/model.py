"""What every privacy model is: a value that judges equivalence classes and says what the search may infer.

In: a `Partition`, the equivalence classes of one transformation. Out: one boolean per class.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol

from engine.spec import Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Monotonicity(enum.Enum):
    """When a class that satisfies the model stays satisfied as the table is generalized further."""

    WITH_SUPPRESSION = "with suppression"
    """Any union of a satisfying class with other records satisfies: also when records may be suppressed."""
    GENERALIZATION_ONLY = "generalization only"
    """Any union of satisfying classes satisfies: only while nothing is suppressed."""
    NONE = "none"


class Partition(Protocol):
    """The equivalence classes of a transformation, C of them."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per class, shape (C,)."""

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """Distinct values of a sensitive attribute per class, shape (C,)."""


class PrivacyModel(Spec):
    """A privacy criterion of a job."""

    model: str

    @property
    def sensitive_attribute(self) -> str | None:
        """Name of the sensitive attribute the model reads, if it reads one."""
        return None

    @property
    def monotonicity(self) -> Monotonicity:
        """In which sense the model is monotone."""
        return Monotonicity.NONE

    @property
    def minimum_class_size(self) -> int:
        """Smallest class, in records, that can satisfy the model: 1 where it implies none."""
        return 1

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Tell the classes that fail, shape (C,)."""
        raise NotImplementedError

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the figure of the worst kept class, in the unit of the model's parameter; None if none is kept."""
        raise NotImplementedError

    def describe(self) -> str:
        """Render the model and its parameters for a person."""
        raise NotImplementedError
