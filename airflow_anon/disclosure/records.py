"""The records of an attempt (source, released, suppressed); no count shown reveals one that is too small.

In: the counts, and the smallest class that the job allows. Out: figures (the rule is in `counts`).
"""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.disclosure.counts import Figure, count, is_few, is_withheld, withheld
from airflow_anon.disclosure.fractions import share


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
    persons: bool = False,
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
    persons : bool
        Whether that bound is of the persons whose records they are.

    Returns
    -------
    Records
        The records of the source are withheld where they would reveal how few were left out: those of the release can
        be counted in its file.
    """
    suppressed_told = withheld(max(below, smallest), persons=persons) if below else count(suppressed, smallest)
    hidden = is_withheld(suppressed_told)
    return {
        "source": withheld(None) if _tells_left_out(source, released, smallest) else count(source, smallest),
        "released": count(released, smallest),
        "suppressed": suppressed_told,
        "suppressed_share": suppressed_told if hidden else share(suppressed_share, source, smallest),
    }


def _tells_left_out(source: int | None, released: int | None, smallest: int) -> bool:
    return source is not None and released is not None and is_few(source - released, smallest)
