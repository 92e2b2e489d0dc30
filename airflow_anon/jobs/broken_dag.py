"""The DAG of a job file that is broken: it fails at every run with the reason.

In: the file, and why it is no job. Out: a DAG under the job's own id, if the file can still give it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pendulum
from airflow.sdk import DAG

from airflow_anon.operators import BrokenJobOperator, RemoveStagingOperator
from airflow_anon.run.task_ids import IS_BROKEN

BROKEN_TAG = "broken-job-file"
_NAME = re.compile(r"^name:[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)


def broken_dag(path: Path, reason: str, taken: set[str], overrides: Mapping[str, Any]) -> DAG:
    """Make a DAG that fails every night with the reason, under an id that is not `taken`.

    Parameters
    ----------
    overrides : mapping
        Arguments for DAGs of job files, of which callbacks are used.
    """
    identity = _readable_name(path)
    while identity in taken:
        identity += "-broken"
    with DAG(
        identity,
        schedule="@daily",
        start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
        catchup=False,
        max_active_runs=1,
        tags=[BROKEN_TAG],
        description=f"The job file {path.name} is broken",
        doc_md=f"```\n{reason}\n```",
        auto_register=False,
        **{name: value for name, value in overrides.items() if name.endswith("_callback")},
    ) as dag:
        broken = BrokenJobOperator(task_id=f"job_file_{IS_BROKEN}", reason=reason)
        # Airflow gives a running DAG run the tasks of the newest DAG, and the run may have staged patient data.
        broken >> RemoveStagingOperator(task_id="remove_staging", job_name=identity).as_teardown()
    return dag


def _readable_name(path: Path) -> str:
    """Return the name that a file gives in a line of its own, else that of the file: its YAML may be of any kind."""
    try:
        found = _NAME.search(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        found = None
    return _identifier(path.stem if found is None else found[1])


def _identifier(name: str) -> str:
    """Return a DAG id made of `name`, with invalid characters replaced."""
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:128]
