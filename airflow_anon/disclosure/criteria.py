"""The observed figure of a privacy criterion, which may be a number of records.

In: model and observed figure, and the smallest class that the job allows. Out: a figure (the rule is in `counts`).
"""

from __future__ import annotations

from airflow_anon.disclosure.counts import Figure, count, told
from engine import glossary


def observed(model: str, figure: float | None, smallest: int) -> Figure:
    """Return the observed figure of a criterion as it may be shown; a model no longer known may count records."""
    declared = glossary()["privacy"].get(model)
    counts_records = declared is None or declared["observes_records"]
    return count(figure, smallest) if counts_records else told(figure)
