"""Three-digit ZIP areas that hold enough people to be released.

HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(B), uses the current data of the Bureau of the Census: the area of all ZIP
codes with the same three initial digits must contain more than 20,000 people. An area is released only if this is known
of it; a prefix in which nobody was counted (military mail, unused ranges) is not released.

- 2020: populations, in `zip_areas_2020.csv`; the head of the file names the source.
- 2010: the areas of the 2020 table less a list. Published lists of 2010 differ in areas without or almost without
  residents (202, 204, 753, 772); this is their union, the strictest choice, and equal to the areas that the table of
  2020 restricts.
- 2000: the areas of the 2020 table less the 17 prefixes of Office for Civil Rights, "Guidance Regarding Methods for
  De-identification of Protected Health Information" (2012), which itself says to use newer data once they are
  published.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from engine.errors import InvalidData, InvalidJob, is_file
from engine.file_state import FileState
from engine.hierarchy.utf8_text import utf8_text

Census = Literal[2000, 2010, 2020]

SAFE_HARBOR = 20_000
"""People; an area with as many or fewer is restricted."""

# fmt: off
RESTRICTED: Mapping[int, frozenset[str]] = {
    2000: frozenset((
        "036", "059", "063", "102", "203", "556", "692", "790", "821",
        "823", "830", "831", "878", "879", "884", "890", "893",
    )),
    2010: frozenset((
        "036", "059", "102", "202", "203", "204", "205", "369", "556",
        "692", "753", "772", "821", "823", "878", "879", "884", "893",
    )),
}
# fmt: on
"""Prefixes restricted at 20,000 people, for the censuses of which only lists are known."""

_TABLE = Path(__file__).with_name("zip_areas_2020.csv")
_OURS = FileState(0, 0, 0)
"""Of the table of this package, which does not change."""
# 000 is the label of restricted areas; as an area it would generalize in two ways.
_LINE = re.compile(r"(?!000)([0-9]{3});([0-9]{1,9})")


@functools.cache
def census_areas(census: Census, smallest: int) -> frozenset[str]:
    """Return the prefixes of the areas with more than `smallest` people; lists know only 20,000."""
    if census in RESTRICTED:
        return frozenset(_read(str(_TABLE), _OURS)) - RESTRICTED[census]
    return _above(_read(str(_TABLE), _OURS), smallest)


def file_areas(path: str, smallest: int) -> frozenset[str]:
    """Return the prefixes of the areas that a file gives more than `smallest` people.

    Parameters
    ----------
    path : str
        UTF-8 text of lines `prefix;population`; a line that starts with `#` is a comment.
    smallest : int
        People; an area with as many or fewer is left out.

    Raises
    ------
    InvalidJob
        There is no such file.
    InvalidData
        It is not of this form, or names a prefix twice.
    """
    if not is_file(Path(path)):
        raise InvalidJob(f"population file {path}: not found; the path is relative to the job file")
    return _above_in_file(path, smallest, FileState.of(path))


@functools.lru_cache(maxsize=64)
def _above_in_file(path: str, smallest: int, state: FileState) -> frozenset[str]:
    return _above(_read(path, state), smallest)


def _above(populations: Mapping[str, int], smallest: int) -> frozenset[str]:
    return frozenset(prefix for prefix, population in populations.items() if population > smallest)


@functools.lru_cache(maxsize=64)
def _read(path: str, state: FileState) -> Mapping[str, int]:
    del state  # part of the cache's key: a changed file is read again
    populations: dict[str, int] = {}
    for number, line in enumerate(utf8_text(path, "population file").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InvalidData(
                f"population file {path}: line {number} is not prefix;population, such as 021;1414778: three digits "
                "other than 000, and a whole number"
            )
        if match[1] in populations:
            raise InvalidData(f"population file {path}: line {number} repeats a prefix; list each prefix once")
        populations[match[1]] = int(match[2])
    if not populations:
        raise InvalidData(f"population file {path}: is empty; it needs one line prefix;population for each area")
    return populations
