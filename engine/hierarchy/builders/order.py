"""Ordered values whose neighbours are joined level by level: `mild`, `mild to moderate`, `*`.

The order is given in the job. If it came from the values of the data, the groups and their labels (first and last
value) would depend on the data: verification could not decide by the definition alone whether a label is valid, and a
label could reveal a rare value.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate
from operator import mul
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row
from engine.hierarchy.builders.grouping import Label


class Order(HierarchyBuilder):
    """Runs of neighbouring values; the last group of a level may be smaller than the others."""

    fixed_domain: ClassVar[bool] = True

    notation: ClassVar[str] = "'a to b' stands for the values from a to b, in the order of this list"

    builder: Literal["order"] = "order"
    values: tuple[Label, ...] = Field(min_length=2, description="Every value, in order.")
    fanouts: tuple[Annotated[int, Field(ge=2, strict=True)], ...] = Field(
        min_length=1, description="Neighbouring groups of the level below that each group of level 1, 2, ... joins."
    )
    names: tuple[tuple[Label, ...], ...] = Field(
        default=(), description="Names of the groups of level 1, 2, ..., in order; an empty list: 'first to last'."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_values()
        self._check_fanouts()
        self._check_names()
        for level, labels in enumerate(self._labels[1:], start=1):
            if len(set(labels)) < len(labels):
                raise ValueError(
                    f"two groups of level {level} have the same label; give them different names in names.{level - 1}"
                )
        return self

    def _check_values(self) -> None:
        first: dict[str, int] = {}
        for position, value in enumerate(self.values):
            seen = first.setdefault(value, position)
            if seen != position:
                # A value of the data is named by its place.
                raise ValueError(f"values.{position}: is values.{seen} again; a value has one place in the order")

    def _check_fanouts(self) -> None:
        for position, size in enumerate(self._sizes[:-1]):
            if size >= len(self.values):
                raise ValueError(
                    f"fanouts.{position + 1}: level {position + 1} is one group already; leave out this fanout and "
                    "those after it"
                )

    def _check_names(self) -> None:
        if len(self.names) > len(self.fanouts):
            raise ValueError(
                f"names: its number of lists is {len(self.names)}, at most that of fanouts, {len(self.fanouts)}"
            )
        for position, (names, size) in enumerate(zip(self.names, self._sizes, strict=False)):
            groups = -(-len(self.values) // size)
            if names and len(names) != groups:
                raise ValueError(
                    f"names.{position}: its number of names is {len(names)}, and that of the groups of level "
                    f"{position + 1} is {groups}; name every group, or leave the list empty"
                )

    @property
    def level_count(self) -> int:
        """The value, one level per fanout, `*`."""
        return len(self.fanouts) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each value of the order, independent of the data."""
        del values
        return [
            (
                value,
                *(labels[place // size] for labels, size in zip(self._labels[1:], self._sizes, strict=True)),
                SUPPRESSED,
            )
            for place, value in enumerate(self.values)
        ]

    @property
    def example_value(self) -> str:
        """The value in the middle of the order."""
        return self.values[len(self.values) // 2]

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up among those of its level."""
        return label == SUPPRESSED if level == self.level_count - 1 else label in self._labels[level]

    def place(self, label: str, level: int) -> Decimal | None:
        """Return the place in the order."""
        labels = self._labels[level] if level < self.level_count - 1 else ()
        return Decimal(labels.index(label)) if label in labels else None

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Values in a full group of level 1, 2, ..."""
        return tuple(accumulate(self.fanouts, mul))

    @functools.cached_property
    def _labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels of each level below `*`, in order."""
        levels = [self.values]
        for position, size in enumerate(self._sizes):
            names = self.names[position] if position < len(self.names) else ()
            levels.append(names or tuple(_span(self.values[i : i + size]) for i in range(0, len(self.values), size)))
        return tuple(levels)


def _span(values: Sequence[str]) -> str:
    # A word, not a hyphen, joins the two: values such as 20-24 contain hyphens.
    return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"
