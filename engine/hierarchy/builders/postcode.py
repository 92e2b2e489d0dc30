"""Postcodes of countries whose codes have no fixed length, or letters: `SW1A 1AA`, `SW1A 1`, `SW1A`, `SW`, `*`.

The parts of a code are those that the postal service of the country sorts by. Whether a code exists is not checked, and
neither is how many people live in an area: the search has to see to that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from engine.hierarchy.builder import SUPPRESSED, HierarchyBuilder, Row

Country = Literal["AU", "BR", "CA", "CH", "DE", "ES", "FR", "GB", "IE", "IN", "IT", "JP", "NL", "PL", "PT", "SE"]


@dataclass(frozen=True)
class _System:
    """The codes of a country: how they are written, and the parts of one that each level keeps.

    Attributes
    ----------
    written : pattern
        Of a code in capitals without blanks and hyphens.
    parts : callable
        From a code to its labels, finest first.
    labels : tuple of patterns
        Of the labels, one per level.
    example : str
    """

    written: re.Pattern[str]
    parts: Callable[[str], tuple[str, ...]]
    labels: tuple[re.Pattern[str], ...]
    example: str


def _digits(length: int, kept: tuple[int, ...]) -> _System:
    return _System(
        re.compile(rf"[0-9]{{{length}}}"),
        lambda code: tuple(code[:count] for count in kept),
        tuple(re.compile(rf"[0-9]{{{count}}}") for count in kept),
        "1234567890"[:length],
    )


_GB_DISTRICT = r"[A-Z]{1,2}[0-9](?:[0-9]|[A-Z])?"
_GB = _System(
    re.compile(rf"{_GB_DISTRICT}[0-9][A-Z]{{2}}"),
    lambda code: (f"{code[:-3]} {code[-3]}", code[:-3], re.split(r"[0-9]", code)[0]),
    (re.compile(rf"{_GB_DISTRICT} [0-9]"), re.compile(_GB_DISTRICT), re.compile(r"[A-Z]{1,2}")),
    "SW1A 1AA",
)
_CA = _System(
    re.compile(r"[A-Z][0-9][A-Z][0-9][A-Z][0-9]"),
    lambda code: (code[:3], code[:1]),
    (re.compile(r"[A-Z][0-9][A-Z]"), re.compile(r"[A-Z]")),
    "K1A 0B1",
)
_IE = _System(
    re.compile(r"[A-Z][0-9][0-9W][A-Z0-9]{4}"),
    lambda code: (code[:3], code[:1]),
    (re.compile(r"[A-Z][0-9][0-9W]"), re.compile(r"[A-Z]")),
    "D02 AF30",
)
_NL = _System(
    re.compile(r"[1-9][0-9]{3}[A-Z]{2}"),
    lambda code: (code[:4], code[:2], code[:1]),
    (re.compile(r"[1-9][0-9]{3}"), re.compile(r"[1-9][0-9]"), re.compile(r"[1-9]")),
    "1012 AB",
)
_SYSTEMS: dict[Country, _System] = {
    "AU": _digits(4, (3, 2, 1)),
    "BR": _digits(8, (5, 2, 1)),
    "CA": _CA,
    "CH": _digits(4, (3, 2, 1)),
    "DE": _digits(5, (3, 2, 1)),
    "ES": _digits(5, (3, 2)),
    "FR": _digits(5, (3, 2)),
    "GB": _GB,
    "IE": _IE,
    "IN": _digits(6, (3, 2, 1)),
    "IT": _digits(5, (3, 2, 1)),
    "JP": _digits(7, (3, 2, 1)),
    "NL": _NL,
    "PL": _digits(5, (3, 2, 1)),
    "PT": _digits(7, (4, 2, 1)),
    "SE": _digits(5, (3, 2, 1)),
}


class Postcode(HierarchyBuilder):
    """The parts of a country's postcodes, fewer at each level."""

    notation: ClassVar[str] = "the first part of a postcode, which stands for all codes that begin with it"

    builder: Literal["postcode"] = "postcode"
    country: Country = Field(description="Whose codes they are, by ISO 3166-1.")

    @property
    def level_count(self) -> int:
        """The code, one level per part, `*`."""
        return len(_SYSTEMS[self.country].labels) + 2

    def rows(self, values: Sequence[str]) -> list[Row]:
        """One row for each code among `values`, in capitals or not, with or without blank and hyphen."""
        system = _SYSTEMS[self.country]
        codes = ((value, _compact(value)) for value in values)
        return [(value, *system.parts(code), SUPPRESSED) for value, code in codes if system.written.fullmatch(code)]

    @property
    def admits(self) -> str:
        """See `HierarchyBuilder.admits`."""
        return f"postcodes such as {self.example_value}"

    @property
    def example_value(self) -> str:
        """A code in the form of the country."""
        return _SYSTEMS[self.country].example

    def is_label(self, label: str, level: int) -> bool:
        """Compare the label with the form of its level."""
        if level == self.level_count - 1:
            return label == SUPPRESSED
        system = _SYSTEMS[self.country]
        if level == 0:
            return system.written.fullmatch(_compact(label)) is not None
        return system.labels[level - 1].fullmatch(label) is not None


def _compact(value: str) -> str:
    return value.upper().replace(" ", "").replace("-", "")
