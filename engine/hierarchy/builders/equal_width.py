"""Numbers in so many intervals of one width: `37`, `[36, 40[`, `[30, 40[`, `*`.

The bounds are in the job, not those of the data: else groups would change from night to night, and the outermost labels
would be values of records.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from decimal import Context, Inexact, InvalidOperation
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import Extent, HierarchyBuilder, Row
from engine.hierarchy.builders.interval import NOTATION, Interval, Number

_EXACT = Context(prec=40, traps=[Inexact, InvalidOperation])


class EqualWidth(HierarchyBuilder):
    """The range between two bounds in equal intervals, fewer at each level."""

    notation: ClassVar[str] = NOTATION

    builder: Literal["equal-width"] = "equal-width"
    lower: Number = Field(description="Smallest value; those below become '< lower'.")
    upper: Number = Field(description="Values are below it; others become '>= upper'.")
    bins: tuple[Annotated[int, Field(ge=1, le=100_000, strict=True)], ...] = Field(
        min_length=1, description="Intervals of level 1, 2, ...; each divides the number before."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lower >= self.upper:
            raise ValueError(f"upper is {self.upper}; it must be above lower, {self.lower}")
        for position, (fine, coarse) in enumerate(itertools.pairwise(self.bins), start=1):
            if coarse >= fine or fine % coarse:
                raise ValueError(
                    f"bins.{position} is {coarse}; it must divide bins.{position - 1}, {fine}, and be less"
                )
        for position, count in enumerate(self.bins):
            try:
                _EXACT.divide(self.upper - self.lower, count)
            except Inexact:  # noqa: PERF203 (names the number)
                raise ValueError(
                    f"bins.{position} is {count}, which gives a width without a last digit; take another number, or "
                    "list the points with the builder cuts"
                ) from None
        _ = self._interval
        return self

    @property
    def level_count(self) -> int:
        """The value, one level per number of intervals, `*`."""
        return self._interval.level_count

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each number among `values`."""
        return self._interval.rows(values)

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return "numbers"

    @property
    def example_value(self) -> str:
        """The middle between the bounds."""
        return self._interval.example_value

    def is_label(self, label: str, level: int) -> bool:
        """Ask the intervals."""
        return self._interval.is_label(label, level)

    def _extent(self, label: str, level: int) -> Extent | None:
        """Ask the intervals."""
        return self._interval.extent(label, level)

    @functools.cached_property
    def _interval(self) -> Interval:
        return Interval(
            type="decimal",
            widths=tuple(_EXACT.divide(self.upper - self.lower, count) for count in self.bins),
            origin=self.lower,
            lower=self.lower,
            upper=self.upper,
            open_ended=True,
        )
