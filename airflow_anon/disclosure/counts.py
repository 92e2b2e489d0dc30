"""The rule for showing a count: a number of records from 1 to *k* - 1 is withheld.

*k* is the smallest class that the job allows, in records: a smaller number could identify people. 0, *k* and more are
shown. A figure from which a withheld number follows, alone or with other figures shown, is withheld as well.

In: counts of records, and *k*. Out: figures. A withheld figure has no value, but `below`: *k*.
"""

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict

ROUNDING = 1e-6
"""Largest rounding error of a share times its total, in records."""


class Figure(TypedDict):
    """A figure as it may be shown.

    `value` is None where it is withheld or not known. `below` is the bound of a withheld figure, None if the bound is
    not known or the figure is not withheld. `persons` is there, and true, where the bound is that of the persons whose
    records they are.
    """

    value: float | None
    below: int | None
    persons: NotRequired[bool]


def is_few(records: float, smallest: int) -> bool:
    """Tell whether a number of records, or a difference of two, is too small to be shown."""
    return ROUNDING < abs(records) < smallest - ROUNDING


def count(records: float | None, smallest: int) -> Figure:
    """Return a count of records as it may be shown."""
    return withheld(smallest) if records is not None and is_few(records, smallest) else told(records)


def told(value: float | None) -> Figure:
    """Return a figure that is shown: it is no count, or none that is too small."""
    return {"value": value, "below": None}


def withheld(smallest: int | None, *, persons: bool = False) -> Figure:
    """Return a withheld figure; `smallest` is None where the bound is not known.

    Parameters
    ----------
    persons : bool
        Whether the bound is that of persons.
    """
    figure: Figure = {"value": None, "below": smallest}
    return {**figure, "persons": True} if persons else figure


def is_withheld(figure: Figure) -> bool:
    """Tell whether a figure is withheld and its bound is known."""
    return figure["below"] is not None


def difference(now: Figure, before: Figure, smallest: int) -> Figure:
    """Return the signed difference of two counts of records, as it may be shown.

    If one count is withheld, the difference is not known either: with the other count it would reveal the first.
    """
    if now["value"] is None or before["value"] is None:
        return told(None)
    return count(now["value"] - before["value"], smallest)
