"""Facts about the run of a task: who started it, the number of the attempt, and the ids of the job's tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import AirflowRuntimeError

from airflow_anon.run.airflow_id import airflow_id
from airflow_anon.transport.fingerprint_key import NOT_COMPARED, known_key
from engine import InvalidJob, Job, load_job

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_anon.ledger.document import Attempt

log = logging.getLogger(__name__)

ENDED = ("success", "failed")
"""States of a run that has ended."""


def attempt_of(
    job: str | Path | Mapping[str, Any] | Job,
    extracted: Any,
    context: Context,
    population_extracted: Any = None,
    *,
    fingerprint_key: str | None = None,
) -> Attempt:
    """Return what every entry of an attempt is made from, whichever task writes it.

    Parameters
    ----------
    job : path, mapping or Job
        As it was written, not with the output of this installation: entries of one job name the same one.
    extracted, population_extracted : mapping
        What ``extract`` and ``extract_population`` returned; anything else, such as None, stands for nothing.
    fingerprint_key : str, optional
        Where the key of fingerprints is; it is read only for a report with digests of hierarchies.

    Raises
    ------
    AirflowFailException
        The job is invalid.
    """
    from airflow import __version__ as airflow_version  # noqa: PLC0415 (heavy imports belong into execute)

    from airflow_anon.ledger.document import Attempt  # noqa: PLC0415

    try:
        loaded = load_job(job)
    except InvalidJob as problem:
        raise AirflowFailException(str(problem)) from None
    known, people = (one if isinstance(one, Mapping) else {} for one in (extracted, population_extracted))
    identity = airflow_id()
    facts = {**run_facts(context), **({} if identity is None else {"airflow": identity})}
    return Attempt(
        job=loaded,
        run=facts,
        source=known,
        population=people,
        versions={"airflow": airflow_version},
        key=partial(known_key, fingerprint_key, log, NOT_COMPARED),
    )


def run_type_of(run: Any) -> str:
    """Return the type of a run, such as `backfill`, which Airflow gives as a text or as an enumeration."""
    return str(getattr(run.run_type, "value", run.run_type))


def run_facts(context: Context) -> dict[str, Any]:
    """Return `run` of the ledger's documents (docs/ledger.md), plain text and numbers."""
    run = context["dag_run"]
    return {
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "run_type": run_type_of(run),
        "logical_date": _moment(run.logical_date),
        "run_after": _moment(run.run_after),
        "attempt": (getattr(run, "clear_number", None) or 0) + 1,
        "task_group": task_group(context["ti"].task_id),
        "triggered_by": getattr(run, "triggering_user_name", None),
    }


def has_ended(dag_id: str, run_id: str, context: Context, *, unknown: bool = True) -> bool:
    """Whether a run has ended, or was deleted.

    Parameters
    ----------
    unknown : bool
        What is said of a run that this Airflow does not know: it was deleted, or is another one's.

    Raises
    ------
    AirflowRuntimeError
        Airflow did not answer.
    """
    # It is an enumeration: it equals the plain text of the state, but its own text differs.
    state = told_or_none(lambda: context["ti"].get_dagrun_state(dag_id=dag_id, run_id=run_id))
    return unknown if state is None else state in ENDED


def told_or_none(ask: Callable[[], Any]) -> Any:
    """Return what Airflow says of a DAG or a run; None if it knows none.

    Raises
    ------
    AirflowRuntimeError
        Airflow did not answer.
    """
    from airflow.sdk.api.client import ServerResponseError  # noqa: PLC0415 (heavy imports belong into execute)

    try:
        return ask()
    except AirflowRuntimeError as problem:
        if (problem.error.detail or {}).get("status_code") != HTTPStatus.NOT_FOUND:
            raise
    except ServerResponseError as problem:  # if one process runs all tasks, as in dag.test()
        if problem.response.status_code != HTTPStatus.NOT_FOUND:
            raise
    return None


def task_group(task_id: str) -> str:
    """Return the prefix of the ids of a task's group, including the dot; empty for a task without a group."""
    group, dot, _ = task_id.rpartition(".")
    return group + dot


def _moment(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat()
