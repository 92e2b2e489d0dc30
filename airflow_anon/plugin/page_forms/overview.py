"""The form of the page of all jobs."""

from __future__ import annotations

from typing import TypedDict

from airflow_anon.disclosure.counts import Figure
from airflow_anon.plugin.page_forms.parts import Chain, NextRun, Outline, PendingOutline, State


class Filters(TypedDict):
    """Filter of jobs: text in a name, a state (empty for all), only jobs with alerts; whether all is recounted."""

    q: str
    state: str
    alerts: bool
    all_files: bool


class Lately(TypedDict):
    """The newest releases of a job, oldest first."""

    recorded_at: list[str]
    information_loss: list[float | None]
    suppressed_share: list[Figure]
    privacy_margin: list[float | None]


class JobAlert(TypedDict):
    """A reason to look at an attempt."""

    kind: str
    text: str


class FailedRun(TypedDict):
    """The newest run of a DAG, which failed and has no entry; UTC, ISO 8601."""

    run_id: str
    ended_at: str | None


class InAirflow(TypedDict):
    """What Airflow's own tables say of a DAG."""

    next_run: NextRun | None
    failed_run: FailedRun | None


class Job(InAirflow):
    """A job of a DAG; `harms`: what readers have and was changed; `broken`: that its file is, in words."""

    job: str
    dag_id: str
    state: State
    last_attempt: Outline | None
    last_release: Outline | None
    pending: list[PendingOutline]
    lately: Lately
    alerts: list[JobAlert]
    harms: list[str]
    broken: str | None


class Waiting(TypedDict):
    """A release that waits for approval, by the task that asks."""

    dag_id: str
    run_id: str
    task_id: str


class OverviewPage(TypedDict):
    """All jobs."""

    filters: Filters
    states: dict[State, str]
    chain: Chain
    counts: dict[State, int]
    total: int
    waiting: list[Waiting]
    jobs: list[Job]
