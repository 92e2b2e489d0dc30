"""Re-identification risks that reveal neither the size of a small class nor how few records were suppressed.

In: a risk by its name, and the smallest class that the job allows. Out: a figure (the rule is in `counts`).
"""

from __future__ import annotations

from airflow_anon.disclosure.counts import Figure, count, is_few, told, withheld
from airflow_anon.disclosure.fractions import about

HIGHEST = ("prosecutor", "journalist")
"""Risks of the record most at risk: one divided by the size of its class."""
COUNT = "records_below_11"
"""A number of records, not a probability."""
MEAN = "marketer"
"""The number of classes divided by the records released."""


def risk(
    name: str, value: float | None, smallest: int, *, source: int | None = None, hides_suppressed: bool = False
) -> Figure:
    """Return a risk as it may be shown.

    Parameters
    ----------
    name : str
        Key of the report's `risk`.
    value : float or None
        0 to 1.
    smallest : int
        The smallest class allowed, in records.
    source : int, optional
        Records of the source.
    hides_suppressed : bool
        Whether the number of suppressed records is withheld, so that this figure may not reveal it.
    """
    if name == COUNT:
        return count(value, smallest)
    if name in HIGHEST and value and is_few(1 / value, smallest):
        return withheld(smallest)
    return about(value, source, smallest) if name == MEAN and hides_suppressed else told(value)
