"""Sizes of equivalence classes, from which no small number of suppressed records follows.

In: sizes and bins of sizes, the smallest class that the job allows, and whether the suppressed records are withheld.
Out: figures (the rule is in `counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from airflow_anon.disclosure.counts import Figure, count, is_withheld, withheld

SUMMED = 4
"""Of up to this many classes, smallest, median and largest give the sum of all sizes."""


class Bin(NamedTuple):
    """Number of classes in a range of sizes, both ends included, and their records."""

    first: int
    last: int
    classes: int
    records: int


class BinFigures(NamedTuple):
    """A bin as it may be shown; where its records are withheld, its classes are too: they would reveal the records."""

    records: Figure
    classes: int | None


def bins(found: Sequence[Bin], smallest: int, *, hides_suppressed: bool) -> list[BinFigures]:
    """Return the bins as they may be shown.

    Where the suppressed records are withheld, one bin is too: source minus all bins is the number suppressed.
    """
    figures = [count(one.records, smallest) for one in found]
    if hides_suppressed and found:
        figures[_widest(found)] = withheld(smallest)
    return [
        BinFigures(figure, None if is_withheld(figure) else one.classes)
        for one, figure in zip(found, figures, strict=True)
    ]


def largest(size: float | None, number: float | None, smallest: int, *, hides_suppressed: bool) -> Figure:
    """Return the size of the largest of `number` classes as it may be shown.

    Of few classes, smallest, median and largest give the sum, which would reveal the suppressed records.
    """
    tells_all = hides_suppressed and (number or 0) <= SUMMED
    return withheld(None) if tells_all else count(size, smallest)


def _widest(found: Sequence[Bin]) -> int:
    """Return the place of the bin whose bounds reveal least about its records."""
    return max(range(len(found)), key=lambda place: found[place].classes * (found[place].last - found[place].first))
