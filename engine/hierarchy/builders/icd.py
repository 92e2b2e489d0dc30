"""Diagnoses by ICD-9-CM, ICD-10 (WHO) and ICD-10-GM: `E11.65`, `E11.6`, `E11`, `E10-E14`, `chapter 4`, `*`.

Categories follow from the code, and chapters from its category; the ranges of chapters are those of ICD-9-CM (CDC,
2011), and of ICD-10 (WHO, 2019) and ICD-10-GM (BfArM), which agree. Blocks differ between releases and are protected:
they come from the release file that the user has. Whether a code exists is not checked.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.errors import InvalidJob, is_file
from engine.file_state import FileState
from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row
from engine.hierarchy.nesting import check_coarser
from engine.hierarchy.utf8_text import utf8_text
from engine.spec import FileName

Unit = Literal["subcategory-4", "category", "block", "chapter"]
UNITS: tuple[Unit, ...] = ("subcategory-4", "category", "block", "chapter")
"""Finest first."""

_ICD10 = re.compile(r"([A-Z][0-9]{2})(?:\.?([0-9-][0-9A-Z-]?))?[+*!]?")
_ICD10_CHAPTERS = (
    "A00-B99 C00-D49 D50-D99 E00-E99 F00-F99 G00-G99 H00-H59 H60-H99 I00-I99 J00-J99 K00-K99 L00-L99 M00-M99 N00-N99 "
    "O00-O99 P00-P99 Q00-Q99 R00-R99 S00-T99 V00-Y99 Z00-Z99 U00-U99"
)
_ICD9 = re.compile(r"([0-9]{3}|V[0-9]{2}|E[0-9]{3})(?:\.?([0-9]{1,2}))?")
_ICD9_CHAPTERS = (
    "001-139 140-239 240-279 280-289 290-319 320-389 390-459 460-519 520-579 580-629 630-679 680-709 710-739 740-759 "
    "760-779 780-799 800-999 V00-V99 E000-E999"
)
_BLOCK = re.compile(r"\"?([A-Z]?[0-9]{2,3})\"?;\"?([A-Z]?[0-9]{2,3})\"?(?:;.*)?")


class RangedIcd(HierarchyBuilder):
    """Codes whose category is their beginning, and whose blocks and chapters are ranges of categories."""

    notation: ClassVar[str] = (
        "a category stands for all of its codes, a range for the categories from the first to the last, and chapter 4 "
        "for a chapter of the classification"
    )
    file_key: ClassVar[str] = "blocks"
    pattern: ClassVar[re.Pattern[str]]
    chapters: ClassVar[tuple[tuple[str, str], ...]]
    example_code: ClassVar[str]

    levels: tuple[Unit, ...] = Field(
        default=("category", "chapter"),
        min_length=1,
        description="Unit of level 1, 2, ..., each coarser than the one before, from subcategory-4 to chapter.",
    )
    blocks: FileName | None = Field(
        default=None,
        description="File of lines first;last;... with the blocks of your release, relative to the job file; for the "
        "level block.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_coarser(self.levels, UNITS)
        if ("block" in self.levels) != (self.blocks is not None):
            raise ValueError(
                "blocks: the level block needs the file of blocks of your release, and only this level does"
            )
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self if self.blocks is None else self.model_copy(update={"blocks": str(base / self.blocks)})

    @property
    def level_count(self) -> int:
        """The code, one level per unit, `*`."""
        return len(self.levels) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each code among `values` whose category is in a block and a chapter, with or without the dot."""
        rows = []
        for value in values:
            labels = self._above(value)
            if labels is not None:
                rows.append((value, *labels, SUPPRESSED))
        return rows

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return f"codes such as {self.example_code}"

    @property
    def example_value(self) -> str:
        """A code of diabetes mellitus."""
        return self.example_code

    def is_label(self, label: str, level: int) -> bool:
        """Compare the label with the form of its unit, or with the ranges."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        if level == 0:
            return self._above(label) is not None
        unit = self.levels[level - 1]
        if unit == "chapter":
            return label in {f"chapter {number}" for number in range(1, len(self.chapters) + 1)}
        if unit == "block":
            return label in {f"{first}-{last}" for first, last in self._blocks}
        found = self._above(label)
        return found is not None and found[level - 1] == label

    def _contents(self) -> Iterable[Row]:
        return self._blocks

    def _above(self, value: str) -> tuple[str, ...] | None:
        """Return the labels of a code between itself and `*`; None for what is no code of a known range."""
        match = self.pattern.fullmatch(value)
        if match is None:
            return None
        category, rest = match[1], (match[2] or "").strip("-")
        chapter = _range_of(category, self.chapters)
        block = _range_of(category, self._blocks) if self.blocks is not None else 0
        if chapter is None or block is None:
            return None
        labels = {
            "subcategory-4": f"{category}.{rest[0]}" if rest else category,
            "category": category,
            "block": "-".join(self._blocks[block]) if self.blocks is not None else "",
            "chapter": f"chapter {chapter + 1}",
        }
        return tuple(labels[unit] for unit in self.levels)

    @property
    def _blocks(self) -> tuple[tuple[str, str], ...]:
        if self.blocks is None:
            return ()
        path = Path(self.blocks)
        if not is_file(path):
            raise InvalidJob(f"blocks file {path}: cannot be read; the path is relative to the job file")
        return _read_blocks(self.blocks, FileState.of(path))


class Icd10(RangedIcd):
    """ICD-10 of the WHO."""

    builder: Literal["icd-10"] = "icd-10"
    pattern: ClassVar[re.Pattern[str]] = _ICD10
    chapters: ClassVar[tuple[tuple[str, str], ...]] = tuple((part[:3], part[4:]) for part in _ICD10_CHAPTERS.split(" "))
    example_code: ClassVar[str] = "E11.6"


class Icd10Gm(RangedIcd):
    """ICD-10-GM, the German modification; the marks `+`, `*`, `!` and the filler `-` may follow a code."""

    builder: Literal["icd-10-gm"] = "icd-10-gm"
    pattern: ClassVar[re.Pattern[str]] = _ICD10
    chapters: ClassVar[tuple[tuple[str, str], ...]] = Icd10.chapters
    example_code: ClassVar[str] = "E11.60"


class Icd9Cm(RangedIcd):
    """ICD-9-CM diagnoses, with the supplementary codes V and E."""

    builder: Literal["icd-9-cm"] = "icd-9-cm"
    pattern: ClassVar[re.Pattern[str]] = _ICD9
    chapters: ClassVar[tuple[tuple[str, str], ...]] = tuple(
        (part.partition("-")[0], part.partition("-")[2]) for part in _ICD9_CHAPTERS.split(" ")
    )
    example_code: ClassVar[str] = "250.02"


def _range_of(category: str, ranges: Sequence[tuple[str, str]]) -> int | None:
    """Return the place of the range that holds a category; categories of one length are compared as text."""
    for place, (first, last) in enumerate(ranges):
        if len(first) == len(category) and first <= category <= last:
            return place
    return None


@functools.lru_cache(maxsize=8)
def _read_blocks(path: str, state: FileState) -> tuple[tuple[str, str], ...]:
    del state
    found = []
    for number, line in enumerate(utf8_text(path, "blocks file").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _BLOCK.fullmatch(line.strip())
        if match is None or match[1] > match[2]:
            raise InvalidJob(f"blocks file {path}: line {number} must be first;last, such as E10;E14")
        found.append((match[1], match[2]))
    ordered = sorted(found)
    for (_, last), (first, _) in itertools.pairwise(ordered):
        if len(first) == len(last) and first <= last:
            raise InvalidJob(f"blocks file {path}: two blocks overlap at {first}; a category belongs in one block")
    return tuple(found)
