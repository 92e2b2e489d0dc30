"""What decides whether a count is shown: nobody is told a number of records from 1 to *k* - 1.

*k* is the smallest class that the job allows, in records: a smaller number could point at people. 0 may be told, and so
may *k* and more. A figure from which such a number follows, alone or with others that are told, is withheld as well.

In: counts of records, and *k*. Out: figures. A figure that is withheld has no value and says `below`: *k* instead.
"""

from __future__ import annotations

from typing import TypedDict

ROUNDING = 1e-6
"""Records by which a share times its total may miss the whole number that it was made of."""


class Figure(TypedDict):
    """A figure as it may be told.

    `value` is None where it is withheld or not known; `below` is the bound of a figure that is withheld, and None of
    any other one, or where the bound is not known.
    """

    value: float | None
    below: int | None


def is_few(records: float, smallest: int) -> bool:
    """Tell whether a number of records, or a difference of two, is too small to be told."""
    return ROUNDING < abs(records) < smallest - ROUNDING


def count(records: float | None, smallest: int) -> Figure:
    """Return a count of records as it may be told."""
    return withheld(smallest) if records is not None and is_few(records, smallest) else told(records)


def told(value: float | None) -> Figure:
    """Return a figure that tells no count, or none that is few."""
    return {"value": value, "below": None}


def withheld(smallest: int | None) -> Figure:
    """Return a figure that is withheld; `smallest` is None where the bound is not known here."""
    return {"value": None, "below": smallest}


def is_withheld(figure: Figure) -> bool:
    """Tell whether a figure is withheld, by a bound that is known."""
    return figure["below"] is not None


def difference(now: Figure, before: Figure, smallest: int) -> Figure:
    """Return by how many records two counts differ, signed, as it may be told.

    Where one of the two is withheld, so is the difference, as not known: with the other one it would tell the first.
    """
    if now["value"] is None or before["value"] is None:
        return told(None)
    return count(now["value"] - before["value"], smallest)
