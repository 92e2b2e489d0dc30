"""What a privacy criterion observed, where that is a number of records.

In: model and observed figure, and the smallest class that the job allows. Out: a figure (the rule is in `counts`).
"""

from __future__ import annotations

from airflow_anon.disclosure.counts import Figure, count, told
from engine import glossary


def observed(model: str, figure: float | None, smallest: int) -> Figure:
    """Return what a criterion observed as it may be told; a model that is not known any more may count records."""
    declared = glossary()["privacy"].get(model)
    counts_records = declared is None or declared["observes_records"]
    return count(figure, smallest) if counts_records else told(figure)
