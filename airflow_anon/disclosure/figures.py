"""No figure about fewer records than the smallest class a job allows: the rule for all that pages derive.

In: counts and shares, and that class size *k*. Out: figures, ``{"value": …, "below": …}``. A figure about one to
*k* - 1 records has no value and says `below` instead; what is about no record at all stays 0. `below` is None for a
value that is there or not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Figure = dict[str, Any]

ROUNDING = 1e-6
"""Records by which a share times its total may miss the whole number that it was made of."""
DIGITS = 6
"""Significant digits of a figure that is not exact."""


def count(records: float | None, smallest: int) -> Figure:
    """Return a count of records as it may be shown."""
    if records is None:
        return {"value": None, "below": None}
    return {"value": None, "below": smallest} if _few(records, smallest) else {"value": records, "below": None}


def withheld(smallest: int | None) -> Figure:
    """Return a figure that was withheld before; `smallest` is None where the bound is not known here."""
    return {"value": None, "below": smallest}


def share(part: float | None, total: float | None, smallest: int) -> Figure:
    """Return a share of `total` records as it may be shown.

    A share whose total is not known cannot be judged, and is withheld unless it is 0 or 1.
    """
    if part is None:
        return {"value": None, "below": None}
    if total is None:
        return {"value": part, "below": None} if part in (0, 1) else withheld(smallest)
    return withheld(smallest) if _few(part * total, smallest) else {"value": part, "below": None}


def difference(now: Figure, before: Figure, smallest: int) -> Figure:
    """Return by how many records two counts differ, signed, as it may be shown.

    Where one of the two is withheld, so is the difference, as not known: with the other one it would tell the first.
    """
    if now["value"] is None or before["value"] is None:
        return {"value": None, "below": None}
    return count(now["value"] - before["value"], smallest)


def records(document: Mapping[str, Any], smallest: int | None = None) -> dict[str, Any]:
    """Return the counts of an entry's document as they may be shown.

    Parameters
    ----------
    smallest : int, optional
        The smallest class of the page, where it is about another release whose job allows none so small.

    Returns
    -------
    dict
        Figures `source`, `released`, `suppressed` and `suppressed_share`; `suppression_limit` (float or None).
        The released are withheld where they would tell the suppressed.
    """
    smallest = max(smallest_class(document), smallest or 1)
    found = document.get("records") or {}
    source = count(found.get("source"), smallest)
    suppressed = (
        withheld(max(found["below"], smallest)) if found.get("below") else count(found.get("suppressed"), smallest)
    )
    hidden = suppressed["below"] is not None
    share_of = (
        withheld(suppressed["below"]) if hidden else share(found.get("suppressed_share"), found.get("source"), smallest)
    )
    released = count(found.get("released"), smallest)
    if released["value"] is not None and source["value"] is not None:
        tells = count(source["value"] - released["value"], smallest)
        if tells["below"] is not None or (hidden and tells["value"]):
            released = withheld(smallest)
    return {
        "source": source,
        "released": released,
        "suppressed": suppressed,
        "suppressed_share": share_of,
        "suppression_limit": found.get("suppression_limit"),
    }


def about(value: float | None, total: float | None, smallest: int) -> Figure:
    """Return a figure that was divided by the records left of `total` when fewer than `smallest` are gone.

    It has as many significant digits as are the same however many are gone: with the number of classes, an exact one
    tells how many are left. Where not even one digit is the same, or `total` is not known, it is not shown.
    """
    if not value:
        return {"value": value, "below": None}
    few = smallest / total if total else 1
    for digits in range(DIGITS, 0, -1):
        low, high = (float(f"{value * factor:.{digits}g}") for factor in (1 - few, 1 + few))
        if low == high:
            return {"value": low, "below": None}
    return {"value": None, "below": None}


def hides_suppressed(document: Mapping[str, Any]) -> bool:
    """Tell whether the number of suppressed records of a document is withheld, so that no other figure may tell it."""
    return records(document)["suppressed"]["below"] is not None


def smallest_class(document: Mapping[str, Any]) -> int:
    """Return the smallest class that an entry's job allows, at least 1."""
    return max(1, int(document.get("smallest_class_allowed") or 1))


def _few(records: float, smallest: int) -> bool:
    return ROUNDING < abs(records) < smallest - ROUNDING
