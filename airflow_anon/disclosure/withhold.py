"""Figures about few records stay out of the ledger: what every entry's document goes through.

In: counts and texts of an attempt, and the smallest class its job allows. Out: the same, but for figures about fewer
records than that.
"""

from __future__ import annotations

import re
from typing import Any

_BOUND = r"(?<!level )(?<!at most )(?<!at least )"
_NUMBER = re.compile(rf"(?<![\w.,-]){_BOUND}\d+(?![\w-])(?![.,]\d)(?! seconds)")


def is_withheld(figure: Any, smallest: int) -> bool:
    """Whether a count is about some records, but fewer than `smallest`; of anything but a number it is not."""
    return isinstance(figure, int | float) and not isinstance(figure, bool) and 0 < figure < smallest


def withheld_text(text: str, smallest: int) -> str:
    """Return a text with every whole number that may count fewer than `smallest` records replaced by that bound.

    Numbers that are part of a word or a decimal stay, as do those of levels and seconds, and those that a job demands:
    `3-diversity`, `0.05`, `level 2`, `at most 7`.
    """

    def shown(match: re.Match[str]) -> str:
        return f"[fewer than {smallest}]" if is_withheld(int(match.group()), smallest) else match.group()

    return _NUMBER.sub(shown, text)
