"""Drugs by the ATC classification: `C09AA02`, `C09AA`, `C09A`, `C09`, `C`, `*`.

The Anatomical Therapeutic Chemical classification (WHO Collaborating Centre for Drug Statistics Methodology, Guidelines
for ATC classification and DDD assignment, section "ATC - structure") is nested by the length of its codes: main group
(1 character), therapeutic (3), pharmacological (4) and chemical subgroup (5), chemical substance (7). The groups of a
code are its prefixes, so the index of substances, which may not be redistributed freely, is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row
from engine.hierarchy.nesting import check_coarser

Unit = Literal["chemical-subgroup", "pharmacological-subgroup", "therapeutic-subgroup", "main-group"]

LENGTHS: dict[Unit, int] = {
    "chemical-subgroup": 5,
    "pharmacological-subgroup": 4,
    "therapeutic-subgroup": 3,
    "main-group": 1,
}
"""Characters of a code of each unit, finest first."""

_CODE = re.compile(r"[ABCDGHJLMNPRSV](?:[0-9]{2}(?:[A-Z](?:[A-Z](?:[0-9]{2})?)?)?)?")
_SUBSTANCE = 7


class Atc(HierarchyBuilder):
    """Codes of substances and of groups, cut to the length of a unit.

    The code of a group stays unchanged up to the level that shortens it, so a column may have both.
    """

    notation: ClassVar[str] = "the first characters of an ATC code, which stand for all drugs of the group"

    builder: Literal["atc"] = "atc"
    levels: tuple[Unit, ...] = Field(
        default=tuple(LENGTHS),
        min_length=1,
        description="Unit of level 1, 2, ..., each coarser than the one before.",
    )

    @model_validator(mode="after")
    def _nested(self) -> Self:
        check_coarser(self.levels, tuple(LENGTHS))
        return self

    @property
    def level_count(self) -> int:
        """The code, one level per unit, `*`."""
        return len(self.levels) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each well-formed code among `values`, the leaf as it is written there."""
        codes = ((value, _code(value)) for value in values)
        return [
            (value, *(code[: LENGTHS[unit]] for unit in self.levels), SUPPRESSED)
            for value, code in codes
            if _is_code(code, _SUBSTANCE)
        ]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return "ATC codes"

    @property
    def example_value(self) -> str:
        """Enalapril."""
        return "C09AA02"

    def is_label(self, label: str, level: int) -> bool:
        """Return whether the label is a code of at most the level's length.

        Leaves may have lower case and blanks around them.
        """
        if level == self.level_count - 1:
            return label == SUPPRESSED
        return _is_code(label, LENGTHS[self.levels[level - 1]]) if level else _is_code(_code(label), _SUBSTANCE)


def _code(value: str) -> str:
    """Write a code as the classification does.

    Letters outside ASCII are kept, because some of them have ASCII capitals.
    """
    stripped = value.strip(" ")
    return stripped.upper() if stripped.isascii() else stripped


def _is_code(text: str, longest: int) -> bool:
    return len(text) <= longest and _CODE.fullmatch(text) is not None
