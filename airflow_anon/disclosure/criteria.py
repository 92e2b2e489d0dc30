"""What a privacy criterion observed, where that is the size of a class.

In: model and observed figure, and the smallest class that the job allows. Out: a figure (the rule is in `counts`).
"""

from __future__ import annotations

from airflow_anon.disclosure.counts import Figure, count, told

SIZES = ("k-anonymity", "k-map")
"""Models whose observed figure is a number of records."""


def observed(model: str, figure: float | None, smallest: int) -> Figure:
    """Return what a criterion observed as it may be told."""
    return count(figure, smallest) if model in SIZES else told(figure)
