"""What all forms of l-diversity share: whether a missing sensitive value is one of the values that they count.

In: the classes of a partition. Out: the same without their records with a missing value, for a form that judges those.
The papers know no missing values. Counted as a value, as the reference solver does, one makes a class of two that whose
members are known to have the same disease diverse; therefore it is not counted unless the job says so.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from engine.privacy.model import Partition, PrivacyModel
from engine.privacy.plain_histogram import PlainHistogram

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.privacy.model import ClassHistogram

Missing = Literal["value", "not-a-value"]


class _Known:
    """The classes of a partition that have a known value, P of them, without the records that have none.

    Attributes
    ----------
    there : bool, shape (C,)
        Which classes of the partition they are.
    """

    def __init__(self, partition: Partition, attribute: str) -> None:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        whole: ClassHistogram = partition.histogram(attribute)
        # a missing value is the first in every order
        is_known = whole.values != 0
        offsets = np.concatenate([[0], np.cumsum(is_known)])[whole.offsets]
        self.there: NDArray[np.bool_] = np.diff(offsets) > 0
        ends = np.concatenate([offsets[:1], offsets[1:][self.there]])
        counts = whole.counts[is_known]
        self._histogram = PlainHistogram(
            ends, whole.values[is_known], counts, whole.totals, whole.labels, whole.hierarchy
        )
        self.counts: NDArray[np.int64] = np.diff(np.concatenate([[0], np.cumsum(counts)])[ends])
        self._partition = partition

    @property
    def population(self) -> NDArray[np.int64]:
        """See `Partition.population`."""
        return self._partition.population[self.there]

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """See `Partition.overlapping`."""
        return self._partition.overlapping[self.there]

    def has_missing(self, attribute: str) -> bool:
        """See `Partition.has_missing`."""
        del attribute
        return False

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """See `Partition.distinct`."""
        import numpy as np  # noqa: PLC0415

        return np.diff(self.histogram(attribute).offsets)

    def histogram(self, attribute: str) -> ClassHistogram:
        """See `Partition.histogram`."""
        del attribute
        return self._histogram

    @property
    def persons(self) -> NDArray[np.int64]:
        """See `Partition.persons`."""
        return self._partition.persons[self.there]

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """See `Partition.fewer_persons_than`."""
        return self._partition.fewer_persons_than(least)[self.there]

    def person_histogram(self, attribute: str) -> ClassHistogram:
        """See `Partition.person_histogram`."""
        return self.histogram(attribute)


class DiversityModel(PrivacyModel):
    """A form of l-diversity; it judges classes that all have a value to count."""

    counts_persons: ClassVar[bool] = True

    attribute: str = Field(description="The sensitive attribute.")
    missing: Missing = Field(
        default="not-a-value",
        description="Whether a missing value is one of the values of a class; if not, the others alone must satisfy.",
    )

    @property
    def tells_apart(self) -> bool:
        """See `PrivacyModel.tells_apart`."""
        return True

    @property
    def leaves_out_missing(self) -> bool:
        """See `PrivacyModel.leaves_out_missing`."""
        return self.missing == "not-a-value"

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes whose values are not diverse, or that have none."""
        return self._judged(partition, self._violated)

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the figure of the least diverse kept class; that of a class without a value is its `_none`."""
        if not self._leaves_out(partition):
            return self._observed(partition, kept)
        known = _Known(partition, self.attribute)
        if (kept & ~known.there).any():
            return self._none
        return self._observed(known, kept[known.there])

    def _judged(self, partition: Partition, judge: Callable[[Partition], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return which classes fail by a judge of values; those without a value do."""
        if not self._leaves_out(partition):
            return judge(partition)
        known = _Known(partition, self.attribute)
        fails: NDArray[np.bool_] = ~known.there
        if known.there.any():
            fails[known.there] = judge(known)
        return fails

    def _kept_of_known(
        self, partition: Partition, least: int, most: Callable[[Partition], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return what is kept at most; `most` tells it of values. Records without a value stay with any others."""
        import numpy as np  # noqa: PLC0415

        if not self._leaves_out(partition):
            kept = most(partition)
        else:
            known = _Known(partition, self.attribute)
            kept = np.zeros(partition.counts.size, np.int64)
            if known.there.any():
                of_known = most(known)
                missing = partition.counts[known.there] - known.counts
                kept[known.there] = np.where(of_known > 0, of_known + missing, 0)
        return np.where(kept < least, 0, kept)

    def _leaves_out(self, partition: Partition) -> bool:
        return self.leaves_out_missing and partition.has_missing(self.attribute)

    @property
    def _none(self) -> float | None:
        """The figure of a class without a value."""
        return 0.0

    @abstractmethod
    def _violated(self, partition: Partition) -> NDArray[np.bool_]: ...

    @abstractmethod
    def _observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None: ...

    def _of(self) -> str:
        """Say of what the values are, and how they are counted."""
        counted = "count as one" if self.missing == "value" else "not counted"
        return f"-diversity of {self.attribute} (missing values {counted})"
