"""Letters and blanks of Unicode, for texts that are the same but for case or blanks.

Blanks are the separators of Unicode, tabs and ends of lines, as where the engine tells persons by itself.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache


@cache
def blanks() -> str:
    """Return all blanks."""
    return "".join(["\t", "\n", "\f", "\r", *(one for one in _signs() if unicodedata.category(one).startswith("Z"))])


@cache
def small_letters() -> dict[str, str]:
    """Return the small letter of each letter that has one, which is one letter."""
    small = {one: one.lower() for one in _signs() if one.lower() != one and len(one.lower()) == 1}
    return small | {"\u0130": "i"}


def _signs() -> list[str]:
    return [one for one in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(one) != "Cs"]
