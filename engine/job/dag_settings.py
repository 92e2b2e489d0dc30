"""How an orchestrator runs a job."""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field

from engine.job.pod_settings import PodSettings
from engine.spec import Spec

_PRESETS = (
    "@once",
    "@continuous",
    "@hourly",
    "@daily",
    "@midnight",
    "@weekly",
    "@monthly",
    "@quarterly",
    "@yearly",
    "@annually",
)
_CRON_FIELDS = (5, 6)
"""Fields of a cron expression; a sixth one has the seconds."""
_CRON_FIELD = re.compile(r"[0-9A-Za-z*/,#?-]+")
_RANGES = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
    ("second", 0, 59),
)
"""What the fields of a cron expression hold."""
_NUMBER = re.compile(r"(?<![0-9A-Za-z/#])[0-9]+(?![0-9A-Za-z])")
"""A number of a field that is neither a step nor the week of a month."""


def _time_of(schedule: str) -> str:
    """Refuse what is no schedule by its form, or by its numbers; what else is wrong with it Airflow tells."""
    fields = schedule.split()
    is_cron = len(fields) in _CRON_FIELDS and all(_CRON_FIELD.fullmatch(one) for one in fields)
    if schedule not in _PRESETS and not is_cron:
        raise ValueError(
            f"is {schedule!r}; use a cron expression of five fields, such as '15 2 * * *', one of the presets "
            f"{', '.join(_PRESETS)}, or null"
        )
    for field, (what, least, most) in zip(fields if is_cron else (), _RANGES, strict=False):
        for number in map(int, _NUMBER.findall(field)):
            if not least <= number <= most:
                raise ValueError(f"is {schedule!r}: its {what} is {number}, allowed are {least} to {most}")
    return schedule


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        if available_timezones():  # else the machine has no database of them
            raise ValueError(
                f"is {name!r}; must be a name of the IANA time zone database, such as UTC or Europe/Zurich"
            ) from None
    return name


class DagSettings(Spec):
    """How an orchestrator runs the job; the engine does not use it."""

    schedule: Annotated[str, AfterValidator(_time_of)] | None = Field(
        default="@daily", description="Cron expression or preset; null: only on request."
    )
    start_date: dt.date = Field(default=dt.date(2026, 1, 1), description="First day of the schedule.")
    timezone: Annotated[str, AfterValidator(_time_zone)] = Field(
        default="UTC", description="Time zone of the schedule, by its IANA name."
    )
    owner: str = Field(default="airflow", description="Owner of the tasks.")
    tags: tuple[str, ...] = Field(default=("de-identification",), description="Tags of the DAG.")
    retries: int = Field(default=1, ge=0, le=1000, strict=True, description="Further tries of a task that failed.")
    retry_delay_seconds: float = Field(default=300, ge=0, le=31_536_000, strict=True, description="At most a year.")
    pool: str | None = Field(default=None, min_length=1, description="Airflow's pool of the tasks.")
    queue: str | None = Field(default=None, min_length=1, description="Queue of the workers that run the tasks.")
    execution_timeout_seconds: float | None = Field(
        default=None, gt=0, le=31_536_000, strict=True, description="A task that takes longer is ended; at most a year."
    )
    max_active_tis: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        strict=True,
        description="Most instances of one task at once, over all runs of the DAG.",
    )
    deferrable: bool | None = Field(
        default=None,
        strict=True,
        description="Whether a Spark Connect server counts while no worker waits, which needs a triggerer; by default "
        "as Airflow's setting [operators] default_deferrable says.",
    )
    executor: str | None = Field(
        default=None,
        min_length=1,
        max_length=300,
        description="Which of Airflow's executors runs the heavy tasks, those that de-identify, validate and search a "
        "frontier; the others stay with its first one.",
    )
    pod: PodSettings | None = Field(
        default=None,
        description="Pod of the heavy tasks, where a Kubernetes executor runs them; needs the extra 'kubernetes'.",
    )
    description: str | None = Field(default=None, description="What Airflow shows of the DAG.")
