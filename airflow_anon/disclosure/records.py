"""The records of an attempt (source, released, suppressed); no count shown reveals one that is too small.

In: the counts, and the smallest class that the job allows. Out: figures (the rule is in `counts`).
"""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.disclosure.counts import Figure, count, is_few, is_withheld, withheld
from airflow_anon.disclosure.shares import share


class Records(TypedDict):
    """The records of an attempt as they may be shown."""

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
    """Return the records of an attempt as they may be shown.

    Parameters
    ----------
    smallest : int
        The smallest class allowed, in records.
    source, released, suppressed : int or None
        Numbers of records; None if not known.
    suppressed_share : float or None
        Of the source, 0 to 1.
    below : int, optional
        The bound of `suppressed`, if it was withheld before.

    Returns
    -------
    Records
        The released records are withheld where they would reveal the suppressed ones.
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
