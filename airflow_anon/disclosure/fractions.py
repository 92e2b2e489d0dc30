"""Shares of records and other quotients of counts that reveal no small number of records (the rule is in `counts`).

In: a quotient, the records it was divided by, and the smallest class that the job allows. Out: figures.
"""

from __future__ import annotations

from airflow_anon.disclosure.counts import Figure, is_few, told, withheld

DIGITS = 6
"""Significant digits of a figure that is not exact."""


def share(part: float | None, total: float | None, smallest: int) -> Figure:
    """Return a share of `total` records as it may be shown.

    A share of an unknown total cannot be judged: it is withheld unless it is 0 or 1.
    """
    if part is None:
        return told(None)
    if total is None:
        return told(part) if part in (0, 1) else withheld(smallest)
    return withheld(smallest) if is_few(part * total, smallest) else told(part)


def about(value: float | None, total: float | None, smallest: int) -> Figure:
    """Return a rounded figure that was divided by the records left of `total` after fewer than `smallest` were removed.

    It keeps the significant digits that do not depend on how many were removed: with the number of classes, the exact
    figure would reveal how many are left. If no digit is independent, or `total` is not known, it is not shown.
    """
    if not value:
        return told(value)
    few = smallest / total if total else 1
    for digits in range(DIGITS, 0, -1):
        low, high = (float(f"{value * factor:.{digits}g}") for factor in (1 - few, 1 + few))
        if low == high:
            return told(low)
    return told(None)
