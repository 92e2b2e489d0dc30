"""What the page of a DAG's history shows."""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.plugin.forms.parts import Chain, Chart, NextRun, Outline, PendingOutline, State


class Filters(TypedDict):
    """Which attempts are shown: a job or empty, a state or empty."""

    job: str
    state: str


class JobHistory(TypedDict):
    """The attempts of a job, a page of them, and charts of its releases."""

    job: str
    counts: dict[State, int]
    total: int
    charted: int
    page: int
    pages: int
    attempts: list[Outline]
    charts: list[Chart]


class HistoryPage(TypedDict):
    """The history of the jobs of a DAG."""

    dag_id: str
    jobs: list[str]
    filters: Filters
    states: dict[State, str]
    chain: Chain
    next_run: NextRun | None
    pending: list[PendingOutline]
    histories: list[JobHistory]
