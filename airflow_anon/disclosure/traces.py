"""The persons who share the rarest trace of a series, where those are no fewer than a class must have.

In: how many persons share it, and the smallest class that the job allows. Out: that number, or nothing. A release has
no trace of nobody, so unlike a count (`counts`) a 0 is not shown either.
"""

from __future__ import annotations


def smallest_trace(persons: int | None, smallest: int | None) -> int | None:
    """Return the persons of the rarest trace as they may be shown.

    Parameters
    ----------
    persons : int or None
        How many share it; None if not known, or withheld before.
    smallest : int or None
        The smallest class allowed; None if not known.

    Returns
    -------
    int or None
        None where they are fewer, or one of both is not known.
    """
    return None if persons is None or smallest is None or persons < smallest else persons
