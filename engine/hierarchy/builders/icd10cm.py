"""ICD-10-CM diagnoses: `E11.65`, `E11`, `E08-E13`, `chapter 4`, `*`.

The classification (CDC and CMS, public domain) comes from the package simple-icd-10-cm; its release decides which codes
exist. Reading it takes two seconds, once per process and only when rows or labels are requested.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row
from engine.hierarchy.nesting import check_coarser

Unit = Literal["subcategory-6", "subcategory-5", "subcategory-4", "category", "block", "chapter"]

UNITS: tuple[Unit, ...] = ("subcategory-6", "subcategory-5", "subcategory-4", "category", "block", "chapter")
"""Finest first."""


class Icd10Cm(HierarchyBuilder):
    """The tree of the classification, from any code to its chapter.

    Codes have different depths. `subcategory-n` is the code itself or its nearest ancestor of at most n characters, not
    counting the dot, so a short code stays unchanged.
    """

    notation: ClassVar[str] = (
        "E11 stands for the category with all of its codes, E08-E13 for the categories from the first "
        "to the last, chapter 4 for a chapter of ICD-10-CM"
    )

    builder: Literal["icd-10-cm"] = "icd-10-cm"
    levels: tuple[Unit, ...] = Field(
        default=("category", "block", "chapter"),
        min_length=1,
        description="Unit of level 1, 2, ..., each coarser than the one before.",
    )

    @model_validator(mode="after")
    def _nested(self) -> Self:
        check_coarser(self.levels, UNITS)
        return self

    @property
    def level_count(self) -> int:
        """The code, one level per unit, `*`."""
        return len(self.levels) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each category and subcategory of the classification, billable or not.

        The leaf is written without the dot if `values` has it only without, else with the dot. A code that `values` has
        both ways gets two rows.
        """
        present = frozenset(values)
        rows = []
        for code, above in _branches(self.levels):
            undotted = code.replace(".", "")
            rows += [(leaf, *above, SUPPRESSED) for leaf in dict.fromkeys((code, undotted)) if leaf in present] or [
                (code, *above, SUPPRESSED)
            ]
        return rows

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return "codes of ICD-10-CM"

    @property
    def example_value(self) -> str:
        """Type 2 diabetes mellitus with hyperglycemia."""
        return "E11.65"

    def is_label(self, label: str, level: int) -> bool:
        """Look the label up among those of its level; leaves with or without the dot."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        return label in (_labels(self.levels[level - 1]) if level else _spellings())

    def _contents(self) -> Iterable[Row]:
        return _chains()


@functools.cache
def _chains() -> tuple[tuple[str, ...], ...]:
    """Read the classification: each code with its ancestors, nearest first, down to block and chapter."""
    import simple_icd_10_cm  # noqa: PLC0415 (reads 10 MB of XML)

    codes = dict.fromkeys(simple_icd_10_cm.get_all_codes())
    return tuple(
        (code, *simple_icd_10_cm.get_ancestors(code))
        for code in codes
        if simple_icd_10_cm.is_category_or_subcategory(code)
    )


@functools.lru_cache(maxsize=8)
def _branches(levels: tuple[Unit, ...]) -> tuple[tuple[str, Row], ...]:
    """Each code with its labels between the leaf and `*`."""
    return tuple((chain[0], tuple(_label(chain, unit) for unit in levels)) for chain in _chains())


@functools.cache
def _labels(unit: Unit) -> frozenset[str]:
    return frozenset(_label(chain, unit) for chain in _chains())


@functools.cache
def _spellings() -> frozenset[str]:
    codes = [chain[0] for chain in _chains()]
    return frozenset(codes) | {code.replace(".", "") for code in codes}


def _label(chain: tuple[str, ...], unit: Unit) -> str:
    *codes, block, chapter = chain
    if unit == "chapter":
        return f"chapter {chapter}"
    if unit == "block":
        # A block of one category has the category's name.
        return block if "-" in block else f"{block}-{block}"
    if unit == "category":
        return codes[-1]
    longest = int(unit[-1])
    return next(code for code in codes if len(code.replace(".", "")) <= longest)
