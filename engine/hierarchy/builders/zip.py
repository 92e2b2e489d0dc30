"""United States ZIP codes: `02139`, `0213`, `021` or `000`, `0` or `000`, `*`.

HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(B), allows the first three digits where their area holds more than 20,000
people, and 000 for all other areas. Level 2 is exactly that; a job that has to follow the rule sets `minimum_level: 2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row
from engine.hierarchy.builders.zip_areas import RESTRICTED, SAFE_HARBOR, Census, census_areas, file_areas
from engine.spec import FileName

RESTRICTED_AREA = "000"
"""Label of every area with too few people. It covers several first digits, so it stays unchanged up to `*`."""

_AREA = 2
_LEVELS = 5
_ZIP = re.compile(r"([0-9]{5})(?:-?[0-9]{4})?")
_ZEROS_LOST = re.compile(r"[0-9]{3,4}")
_FOUR_DIGITS = re.compile(r"[0-9]{4}")


class Zip(HierarchyBuilder):
    """Five digits or ZIP+4; four, three and one digit, small areas joined."""

    notation: ClassVar[str] = "the first digits of a ZIP code; 000 stands for all areas of few people together"

    file_key: ClassVar[str] = "populations"

    builder: Literal["zip"] = "zip"
    census: Census = Field(default=2020, description="Census that decides which areas are small.")
    populations: FileName | None = Field(
        default=None,
        description="File of lines prefix;population to use instead of a census, relative to the job file.",
    )
    smallest_population: int = Field(
        default=SAFE_HARBOR, ge=0, strict=True, description="Areas of this many people or fewer become 000 at level 2."
    )
    pad: bool = Field(
        default=False,
        strict=True,
        description="Values of 3 or 4 digits are ZIP codes that lost leading zeros; otherwise no row.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.populations is None and self.census in RESTRICTED and self.smallest_population != SAFE_HARBOR:
            raise ValueError(
                f"smallest_population is {self.smallest_population}; for the census of {self.census} only the areas of "
                f"{SAFE_HARBOR} people or fewer are known: leave it out, set census: 2020, or give populations"
            )
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path of the populations absolute."""
        if self.populations is None:
            return self
        return self.model_copy(update={"populations": str(base / self.populations)})

    @property
    def level_count(self) -> int:
        """The code, four digits, three digits, one digit, `*`."""
        return _LEVELS

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each ZIP code among `values`, the leaf as it is written there.

        Raises
        ------
        InvalidJob, InvalidData
            The file of populations is missing or broken.
        """
        areas = self._areas()
        rows: list[Row] = []
        for value in values:
            digits = self._digits(value)
            if digits is not None:
                area = digits[:3] if digits[:3] in areas else RESTRICTED_AREA
                region = area if area == RESTRICTED_AREA else area[:1]
                rows.append((value, digits[:4], area, region, SUPPRESSED))
        return rows

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        padded = (
            ", or without their leading zeros" if self.pad else " (pad: true takes those without their leading zeros)"
        )
        return f"ZIP codes of five or nine digits{padded}"

    @property
    def example_value(self) -> str:
        """Cambridge, Massachusetts."""
        return "02139"

    def is_label(self, label: str, level: int) -> bool:
        """Accept a ZIP code, any four digits, a released area, the first digit of a released area, or `*`."""
        if level == 0:
            return self._digits(label) is not None
        if level == 1:
            return _FOUR_DIGITS.fullmatch(label) is not None
        if level == _LEVELS - 1:
            return label == SUPPRESSED
        areas = self._areas()
        kept = areas if level == _AREA else {area[:1] for area in areas}
        return label in kept or label == RESTRICTED_AREA

    def _contents(self) -> Iterable[Row]:
        return ((area,) for area in self._areas())

    def _areas(self) -> frozenset[str]:
        """Prefixes that are possible at level 2."""
        if self.populations is not None:
            return file_areas(self.populations, self.smallest_population)
        return census_areas(self.census, self.smallest_population)

    def _digits(self, value: str) -> str | None:
        """Read the five digits of a value; None for a value without a row."""
        match = _ZIP.fullmatch(value)
        if match:
            return match[1]
        return value.zfill(5) if self.pad and _ZEROS_LOST.fullmatch(value) else None
