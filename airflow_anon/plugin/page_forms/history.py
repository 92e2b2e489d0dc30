"""The form of the page of a DAG's history."""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.plugin.page_forms.parts import Chain, Chart, NextRun, Outline, PendingOutline, State


class Filters(TypedDict):
    """Filter of attempts: a job and a state; empty means all."""

    job: str
    state: str


class JobHistory(TypedDict):
    """One page of a job's attempts, and charts of its releases."""

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
