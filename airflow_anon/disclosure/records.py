"""The records of an attempt: of the source, released, suppressed; none of them tells another one that is few.

In: the counts, and the smallest class that the job allows. Out: figures (the rule is in `counts`).
"""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.disclosure.counts import Figure, count, is_few, is_withheld, withheld
from airflow_anon.disclosure.shares import share


class Records(TypedDict):
    """The records of an attempt as they may be told."""

    source: Figure
    released: Figure
    suppressed: Figure
    suppressed_share: Figure


def records(
    smallest: int,
    *,
    source: int | None,
    released: int | None,
    suppressed: int | None,
    suppressed_share: float | None,
    below: int | None = None,
) -> Records:
    """Return the records of an attempt as they may be told.

    Parameters
    ----------
    smallest : int
        The smallest class allowed, in records.
    source, released, suppressed : int or None
        Numbers of records; None where it is not known.
    suppressed_share : float or None
        Of the source, 0 to 1.
    below : int, optional
        The bound of `suppressed`, where it was withheld before.

    Returns
    -------
    Records
        The released are withheld where they would tell the suppressed.
    """
    suppressed_told = withheld(max(below, smallest)) if below else count(suppressed, smallest)
    hidden = is_withheld(suppressed_told)
    source_told = count(source, smallest)
    return {
        "source": source_told,
        "released": _released(released, source_told, smallest, hidden=hidden),
        "suppressed": suppressed_told,
        "suppressed_share": suppressed_told if hidden else share(suppressed_share, source, smallest),
    }


def _released(released: int | None, source: Figure, smallest: int, *, hidden: bool) -> Figure:
    told = count(released, smallest)
    if told["value"] is None or source["value"] is None:
        return told
    left_out = source["value"] - told["value"]
    return withheld(smallest) if is_few(left_out, smallest) or (hidden and left_out) else told
