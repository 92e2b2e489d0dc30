"""The results of a validation, without what they observed of few records.

In: a result of `validation.json`, the smallest class that the job allows, and how many records were suppressed. Out:
what the ledger keeps of it (the rule is in `counts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from typing_extensions import NotRequired

from airflow_anon.disclosure.counts import is_few
from airflow_anon.disclosure.messages import message_text

ROWS = "expect_rows_accounted_for"
COUNTS_SUPPRESSED = (ROWS, "expect_suppression_within_limit")
"""Expectations whose figures tell the suppressed records: rows required tell them beside those of the source."""


class ResultFigures(TypedDict):
    """What may be told of a result; `below` where something of it is withheld."""

    description: str | None
    observed: Any
    required: Any
    message: str | None
    below: NotRequired[int]


def result_figures(result: Mapping[str, Any], smallest: int, suppressed: int | None) -> ResultFigures:
    """Return what may be told of a result.

    Parameters
    ----------
    result : mapping
        `expectation_type`, `description_parts`, `success`, `observed`, `required` and `message_parts`.
    smallest : int
        The smallest class allowed, in records.
    suppressed : int or None
        Suppressed records; None where it is not known, so that nothing may tell it.
    """
    observed = result["observed"]
    told: ResultFigures = {
        "description": message_text(result.get("description_parts"), smallest),
        "observed": observed,
        "required": result["required"],
        # One that holds observed nothing of few records but those suppressed.
        "message": message_text(result.get("message_parts"), 1 if result["success"] else smallest),
    }
    if result["expectation_type"] in COUNTS_SUPPRESSED and (suppressed is None or is_few(suppressed, smallest)):
        return {**told, "observed": None, "required": None, "message": None, "below": smallest}
    if result["success"]:
        return told
    if _misses_few(result, smallest):
        return {**told, "observed": None, "message": None, "below": smallest}
    if _is_number(observed) and is_few(observed, smallest):
        return {**told, "observed": None, "below": smallest}
    return told


def _misses_few(result: Mapping[str, Any], smallest: int) -> bool:
    """Whether rows are there or missing that are few: each of the two counts tells them beside the other."""
    observed, required = result["observed"], result["required"]
    both = _is_number(observed) and _is_number(required)
    return result["expectation_type"] == ROWS and both and is_few(observed - required, smallest)


def _is_number(figure: Any) -> bool:
    return isinstance(figure, int | float) and not isinstance(figure, bool)
