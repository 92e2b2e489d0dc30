"""(k,e)-anonymity: every class holds at least k different numbers over a range of at least e.

Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables. ICDE 2007, where it is defined. It is for
numeric attributes: different values close together reveal nearly as much as one value. Values are the decimal
numbers that their texts show, so that 1, 1.0 and 01 are one. A missing value has no number: it is none of the k, and no
end of the range. Numbers and `e` are compared exactly, `e` as the decimal it is written as; only the observed figure is
a double.
"""

from __future__ import annotations

import functools
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from engine.errors import InvalidData
from engine.message import Count, Message
from engine.privacy.model import Monotonicity, Partition, PrivacyModel
from engine.privacy.requirement import Requirement
from engine.spec import MOST_RECORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_ORDERS = ("integer", "decimal")
_SIZES = range(-300, 300)
"""Powers of ten that numbers may have: their range is given as a double, and an exact number has all its digits."""


class KEAnonymity(PrivacyModel):
    """Classes hold at least `k` different numbers of `attribute`, the largest at least `e` above the smallest."""

    model: Literal["k-e-anonymity"] = "k-e-anonymity"
    attribute: str = Field(description="The sensitive attribute: numbers.")
    k: int = Field(
        ge=2, le=MOST_RECORDS, strict=True, description="Smallest number of different values in a class, at least 2."
    )
    e: float = Field(gt=0, strict=True, description="Smallest range of the values in a class, above 0.")

    @property
    def reads_order(self) -> bool:
        """See `PrivacyModel.reads_order`: it says that the values are numbers."""
        return True

    def lacking(self, order: str | None, *, has_hierarchy: bool) -> str | None:
        """See `PrivacyModel.lacking`: a range is one of numbers."""
        del has_hierarchy
        if order is None or order in _ORDERS:
            return None
        return (
            f"k-e-anonymity compares numbers, and attributes.{self.attribute}.order is {order!r}; allowed are "
            f"{' and '.join(map(repr, _ORDERS))}, set the one that fits its values"
        )

    @property
    def monotonicity(self) -> Monotonicity:
        """A class only gains values when it is generalized, and its range only grows."""
        return Monotonicity.WITH_SUPPRESSION

    @property
    def minimum_class_size(self) -> int:
        """`k` records are needed to hold `k` values."""
        return self.k

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Classes below `k` different numbers or a range of `e`."""
        scale = self._scale(partition)
        smallest, largest, different = self._spread(partition, scale)
        # the ends of a class without a number do not matter: it has fewer than k
        return (different < self.k) | (largest < scale.far[smallest])

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the smallest range of a kept class; 0 if the class has no number."""
        scale = self._scale(partition)
        smallest, largest, _ = (places[kept].tolist() for places in self._spread(partition, scale))
        ranges = {scale.numbers[high] - scale.numbers[low] for low, high in set(zip(smallest, largest, strict=True))}
        return float(min(ranges)) if ranges else None

    def requirement(self, observed: float | None) -> Requirement:
        """At least `e` as the smallest range; the further demand of `k` different values is not included."""
        del observed
        return Requirement(self.e, "at-least")

    def describe(self) -> str:
        """Render for a person."""
        return f"({self.k},{self.e:.12g})-anonymity of {self.attribute}"

    def _scale(self, partition: Partition) -> _Scale:
        return _scale(self.attribute, partition.histogram(self.attribute).labels, self.e)

    def _spread(self, partition: Partition, scale: _Scale) -> tuple[Places, Places, Places]:
        """Return the places of the smallest and the largest number of each class, and how many it has."""
        import numpy as np  # noqa: PLC0415

        histogram = partition.histogram(self.attribute)
        starts, width = histogram.offsets[:-1], len(scale.numbers)
        place = scale.places[histogram.values]
        owner = np.repeat(np.arange(starts.size), np.diff(histogram.offsets))
        pairs = (owner * width + place)[place >= 0]
        different = np.bincount((np.unique(pairs) if scale.repeated else pairs) // width, minlength=starts.size)
        largest = np.maximum(np.maximum.reduceat(place, starts), 0)
        smallest = np.minimum.reduceat(np.where(place < 0, largest[owner], place), starts)
        return smallest, largest, different


class _Scale(NamedTuple):
    """The N distinct numbers of an attribute's V codes.

    Attributes
    ----------
    numbers : tuple of Fraction, shape (N,)
        Different ones, ascending; the one 0 where there is none.
    places : int64, shape (V,)
        Of each code in `numbers`; -1 for a missing value.
    far : int64, shape (N,)
        The first place that is at least `e` above each; N where there is none.
    repeated : bool
        Whether several codes are one number.
    """

    numbers: tuple[Fraction, ...]
    places: Places
    far: Places
    repeated: bool


@functools.lru_cache(maxsize=4)
def _scale(attribute: str, labels: tuple[str | None, ...], e: float) -> _Scale:
    """Read the labels of an attribute, once for all partitions of a table.

    Raises
    ------
    InvalidData
        Numbers are too large or too small.
    """
    import numpy as np  # noqa: PLC0415

    read = [None if label is None else Decimal(label) for label in labels]
    beyond = sum(number is not None and bool(number) and number.adjusted() not in _SIZES for number in read)
    if beyond:
        raise InvalidData(
            Message.of(
                "column {attribute!r}: distinct values that are not between 1e{smallest} and 1e+{largest} in "
                "size, as k-e-anonymity needs them: {beyond}; correct them in the source",
                attribute=attribute,
                beyond=Count(beyond),
                smallest=_SIZES.start,
                largest=_SIZES.stop,
            )
        )
    exact = [None if number is None else Fraction(number) for number in read]
    numbers = sorted({number for number in exact if number is not None}) or [Fraction(0)]
    place_of: dict[Fraction | None, int] = {number: place for place, number in enumerate(numbers)}
    return _Scale(
        tuple(numbers),
        np.array([place_of.get(number, -1) for number in exact], np.int64),
        np.array(_far(numbers, Fraction(str(e))), np.int64),
        repeated=len(numbers) < len(labels) - labels.count(None),
    )


def _far(numbers: list[Fraction], e: Fraction) -> list[int]:
    far: list[int] = []
    place = 0
    for number in numbers:
        while place < len(numbers) and numbers[place] - number < e:
            place += 1
        far.append(place)
    return far
