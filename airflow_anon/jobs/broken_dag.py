"""The DAG of a job file that is broken: it fails at every run with the reason.

In: the file, and why it is no job. Out: a DAG under the job's own id, if the file can still give it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pendulum
import yaml
from airflow.sdk import DAG

from airflow_anon.jobs.nightly import schedule_and_start
from airflow_anon.operators import BrokenJobOperator, RemoveStagingOperator
from airflow_anon.run.job_sections import sections
from airflow_anon.run.task_ids import IS_BROKEN
from engine import job_document

BROKEN_TAG = "broken-job-file"
_NAME = re.compile(r"^name:[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)


def broken_dag(path: Path, reason: str, taken: set[str], overrides: Mapping[str, Any]) -> DAG:
    """Make a DAG that fails with the reason at every run, under an id that is not `taken`.

    It runs when the job would, if its file still says when, so that a run that Airflow makes of it is one of the job
    too: the file may be mended before the run begins. Else it runs daily.

    Parameters
    ----------
    overrides : mapping
        Arguments for DAGs of job files, of which callbacks are used.
    """
    identity = readable_name(path)
    while identity in taken:
        identity += "-broken"
    with DAG(  # noqa: AIR002 (a schedule is among them)
        identity,
        **_when(path),
        catchup=False,
        max_active_runs=1,
        tags=[BROKEN_TAG],
        description=f"The job file {path.name} is broken",
        doc_md=f"```\n{reason}\n```",
        auto_register=False,
        **{name: value for name, value in overrides.items() if name.endswith("_callback")},
    ) as dag:
        broken = BrokenJobOperator(task_id=f"job_file_{IS_BROKEN}", reason=reason, job_name=identity)
        # Airflow gives a running DAG run the tasks of the newest DAG, and the run may have staged patient data.
        broken >> RemoveStagingOperator(task_id="remove_staging", job_name=identity).as_teardown()
    return dag


def readable_name(path: Path) -> str:
    """Return the name that a file gives in a line of its own, else that of the file: its YAML may be of any kind."""
    try:
        found = _NAME.search(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        found = None
    return _identifier(path.stem if found is None else found[1])


def _when(path: Path) -> dict[str, Any]:
    """Return schedule and start of the job of a file, if they can be read and used; else those of a daily DAG.

    Where the files that it extends cannot be read, those of its own words count.
    """
    for read in (job_document, _own_document):
        try:
            section = read(path)["dag"]
            if "schedule" not in section:
                continue
            when = schedule_and_start(sections(dag=section).dag)
            DAG("when", **when, auto_register=False).validate()  # noqa: AIR002 (a schedule is in it)
        except Exception:  # noqa: BLE001, S112 (a broken file may hold anything)
            continue
        return when
    return {"schedule": "@daily", "start_date": pendulum.datetime(2026, 1, 1, tz="UTC")}


def _own_document(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _identifier(name: str) -> str:
    """Return a DAG id made of `name`, with invalid characters replaced."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:128]
