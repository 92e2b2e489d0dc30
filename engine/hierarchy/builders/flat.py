"""Any value, kept or removed: `green`, `*`.

For columns whose values have no groups that a reader would know, such as sex. The job lists none of them, so it tells
nothing of the data and a value that is new one night ends no run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.hierarchy.builder import ANY_VALUE, SUPPRESSED, HierarchyBuilder, Row


class Flat(HierarchyBuilder):
    """Two levels: the value, and `*`."""

    builder: Literal["flat"] = "flat"

    @property
    def level_count(self) -> int:
        """The value, `*`."""
        return 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each of `values` but `*`, which is the label of removed ones."""
        return [(value, SUPPRESSED) for value in values if value != SUPPRESSED]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return ANY_VALUE

    @property
    def example_value(self) -> str:
        """A word that stands for any value."""
        return "value"

    def is_label(self, label: str, level: int) -> bool:
        """Return whether it is `*` at the highest level, and anything else below it."""
        return (label == SUPPRESSED) == (level == 1)
