"""The sizes of the equivalence classes, that add up to no number of few suppressed records.

In: sizes and bins of sizes, the smallest class that the job allows, and whether the suppressed records are withheld.
Out: figures (the rule is in `counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from airflow_anon.disclosure.counts import Figure, count, is_withheld, withheld

SUMMED = 4
"""Classes whose sizes add up to their smallest, largest and twice their median."""


class Bin(NamedTuple):
    """Classes of some sizes: how many, and how many records are in them; both ends of the sizes are included."""

    first: int
    last: int
    classes: int
    records: int


class BinFigures(NamedTuple):
    """A bin as it may be told: where its records are withheld, so are its classes, for their size tells them."""

    records: Figure
    classes: int | None


def bins(found: Sequence[Bin], smallest: int, *, hides_suppressed: bool) -> list[BinFigures]:
    """Return the bins as they may be told.

    Where the suppressed records are withheld, so is one bin: all of them and the source would tell the suppressed.
    """
    figures = [count(one.records, smallest) for one in found]
    if hides_suppressed and found:
        figures[_widest(found)] = withheld(smallest)
    return [
        BinFigures(figure, None if is_withheld(figure) else one.classes)
        for one, figure in zip(found, figures, strict=True)
    ]


def largest(size: float | None, number: float | None, smallest: int, *, hides_suppressed: bool) -> Figure:
    """Return the size of the largest of `number` classes as it may be told.

    Of few classes, smallest, median and largest are all there are, so that their sum would tell the suppressed.
    """
    tells_all = hides_suppressed and (number or 0) <= SUMMED
    return withheld(None) if tells_all else count(size, smallest)


def _widest(found: Sequence[Bin]) -> int:
    """Return the place of the bin whose records its own bounds tell least about."""
    return max(range(len(found)), key=lambda place: found[place].classes * (found[place].last - found[place].first))
