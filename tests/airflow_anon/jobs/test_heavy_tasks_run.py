"""A job whose heavy tasks are run by another executor than the rest, in a real Airflow that has two."""

from __future__ import annotations

import pytest

from tests.audit_world import IMPOSSIBLE

pytestmark = [pytest.mark.airflow, pytest.mark.slow]


def test_the_heavy_task_was_run_by_the_executor_that_the_job_names(audit_world):
    run = audit_world.runs[IMPOSSIBLE][0]
    tasks = audit_world.call(f"/dags/{IMPOSSIBLE}/dagRuns/{run}/taskInstances")["task_instances"]
    found = {task["task_id"]: (task["executor"], task["state"]) for task in tasks}
    assert found["prepare_staging"] == found["extract"] == (None, "success")
    assert found["deidentify"] == ("LocalExecutor", "failed"), "it ran, and no transformation satisfies its criteria"
    assert found["record_attempt"] == (None, "success")
