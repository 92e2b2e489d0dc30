"""The form of the page that lays two releases of a job side by side."""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.plugin.page_forms.comparison import Compared, Previous
from airflow_anon.plugin.page_forms.content import Criterion
from airflow_anon.plugin.page_forms.parts import Level


class Choice(TypedDict):
    """A release that can be chosen."""

    sequence: int
    recorded_at: str
    release_id: str | None


class BothLevels(TypedDict):
    """An attribute's level in both releases; a side is None if it was not a quasi-identifier."""

    attribute: str
    before: Level | None
    now: Level | None


class BothColumns(TypedDict):
    """What became of a column in both releases; a side is None if the job did not have it."""

    name: str
    before: str | None
    now: str | None


class BothCriteria(TypedDict):
    """A criterion in both releases; a side is None if the job did not demand it."""

    description: str
    before: Criterion | None
    now: Criterion | None


class Pair(TypedDict):
    """Two releases, the earlier first."""

    before: Previous
    now: Previous
    compared: Compared
    levels: list[BothLevels]
    columns: list[BothColumns]
    criteria: list[BothCriteria]


class ComparePage(TypedDict):
    """Two releases of a job; `pair` is None, and `note` says why, if they cannot be compared or none were chosen."""

    dag_id: str
    job: str
    first: str
    second: str
    choices: list[Choice]
    pair: Pair | None
    note: str | None
