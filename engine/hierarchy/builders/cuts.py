"""Numbers between cut points that the job lists: `37`, `[30, 45[`, `< 45`, `*`.

For intervals of unequal width, such as quantiles of an earlier table. The cuts are in the job: cut at the quantiles of
each night, groups would change from night to night, and their labels would be values of records.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder, Row
from engine.hierarchy.builders.interval import NOTATION, Number, extent_of, plain, read_number

Cuts = Annotated[tuple[Number, ...], Field(min_length=1)]


class CutPoints(HierarchyBuilder):
    """Half-open intervals between cut points, which each further level takes fewer of."""

    notation: ClassVar[str] = NOTATION

    builder: Literal["cuts"] = "cuts"
    cuts: tuple[Cuts, ...] = Field(
        min_length=1, description="Cut points of level 1, 2, ..., ascending; each level's are among those of the last."
    )

    @model_validator(mode="after")
    def _nested(self) -> Self:
        for level, cuts in enumerate(self.cuts):
            if any(high <= low for low, high in itertools.pairwise(cuts)):
                raise ValueError(f"cuts.{level}: must ascend; sort them, and list each once")
            foreign = sorted(set(cuts) - set(self.cuts[level - 1])) if level else []
            if foreign:
                raise ValueError(
                    f"cuts.{level}: {plain(foreign[0])} is no cut of cuts.{level - 1}, so a group of it would be torn "
                    "apart; take it out, or add it there"
                )
            if level and len(cuts) == len(self.cuts[level - 1]):
                raise ValueError(f"cuts.{level}: is the same as cuts.{level - 1}; leave one out")
        return self

    @property
    def level_count(self) -> int:
        """The value, one level per list of cuts, `*`."""
        return len(self.cuts) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each number among `values`."""
        read = ((value, read_number(value)) for value in values)
        return [
            (value, *(self._label(number, level) for level in range(len(self.cuts))), SUPPRESSED)
            for value, number in read
            if number is not None
        ]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return "numbers"

    @property
    def example_value(self) -> str:
        """The middle cut of level 1."""
        return plain(self.cuts[0][len(self.cuts[0]) // 2])

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up among the intervals of its level."""
        if level == 0:
            return read_number(label) is not None
        return label == SUPPRESSED if level == self.level_count - 1 else label in self._labels[level - 1]

    def _extent(self, label: str, level: int) -> Extent | None:
        """Read the ends of an interval, or a value."""
        del level
        return extent_of(label)

    def _label(self, number: Decimal, level: int) -> str:
        return self._labels[level][bisect.bisect_right(self.cuts[level], number)]

    @functools.cached_property
    def _labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels of each level between the value and `*`, in order: one more than there are cuts."""
        levels = []
        for cuts in self.cuts:
            inner = (f"[{plain(low)}, {plain(high)}[" for low, high in itertools.pairwise(cuts))
            levels.append((f"< {plain(cuts[0])}", *inner, f">= {plain(cuts[-1])}"))
        return tuple(levels)
