"""Ages in completed years: `83`, `83` or `90+`, `80-84`, `80-89`, `80-89`, `*`.

HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C), allows exact ages up to 89 and one category for 90 and older. Level 1 is
exactly that; a job that has to follow the rule sets `minimum_level: 1`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder, Row
from engine.hierarchy.nesting import check_multiples


class Age(HierarchyBuilder):
    """Every age from 0 to `maximum`, in bands that never cross `top_code`."""

    fixed_domain: ClassVar[bool] = True

    notation: ClassVar[str] = "a-b stands for ages from a to b, both included, and a+ for a and above"

    builder: Literal["age"] = "age"
    maximum: int = Field(default=120, ge=1, le=150, strict=True, description="Highest age; ages above have no row.")
    top_code: Annotated[int, Field(ge=1, strict=True)] | Literal["none"] = Field(
        default=90, description="From level 1 this age and all above are one category; none: no such level."
    )
    widths: tuple[Annotated[int, Field(ge=2, strict=True)], ...] = Field(
        default=(5, 10, 20), description="Years per band of each further level, each a multiple of the one before."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_multiples(self.widths)
        if self.top_code != "none" and self.top_code > self.maximum:
            raise ValueError(f"top_code is {self.top_code}; it must be none, or at most maximum, {self.maximum}")
        return self

    @property
    def level_count(self) -> int:
        """The age, the age with its top code, one level per width, `*`."""
        return len(self.widths) + (2 if self.top_code == "none" else 3)

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each age, independent of the data."""
        del values
        return list(_rows(self.maximum, self._top, self.widths))

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return f"ages in whole years from 0 to {self.maximum}"

    @property
    def example_value(self) -> str:
        """34, or the highest age."""
        return str(min(34, self.maximum))

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up among those of its level."""
        return label in _labels(self.maximum, self._top, self.widths)[level]

    def _extent(self, label: str, level: int) -> Extent | None:
        """Read the ends of a band, or an age."""
        del level
        first, dash, last = label.rstrip("+").partition("-")
        if dash:
            return Decimal(first), Decimal(last) + 1
        return Decimal(first), None if label.endswith("+") else Decimal(first)

    @property
    def _top(self) -> int | None:
        return None if self.top_code == "none" else self.top_code


@functools.lru_cache(maxsize=64)
def _rows(maximum: int, top_code: int | None, widths: tuple[int, ...]) -> tuple[Row, ...]:
    steps = widths if top_code is None else (1, *widths)
    return tuple(
        (str(age), *(_band(age, width, top_code) for width in steps), SUPPRESSED) for age in range(maximum + 1)
    )


@functools.lru_cache(maxsize=64)
def _labels(maximum: int, top_code: int | None, widths: tuple[int, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(column) for column in zip(*_rows(maximum, top_code, widths), strict=True))


def _band(age: int, width: int, top_code: int | None) -> str:
    if top_code is not None and age >= top_code:
        return f"{top_code}+"
    if width == 1:
        return str(age)
    first = age - age % width
    last = first + width - 1 if top_code is None else min(first + width, top_code) - 1
    # a band that the top code cuts may have one age
    return str(age) if first == last else f"{first}-{last}"
