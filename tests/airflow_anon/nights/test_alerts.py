"""The alerts of the shipped DAG file: it stays light to parse, and a broken job file is told of as well."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from airflow_anon.jobs import deidentification_dags
from airflow_anon.notifications import ReleaseAlertNotifier
from tests.places import ROOT

HEAVY = ("airflow_anon.ledger", "airflow_anon.plugin", "alembic", "openlineage", "plotly", "fastapi")
PARSE = f"""
import json, sys
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
before = set(sys.modules)
bag = DagBag({str(ROOT / "dags/nightly_deidentification.py")!r})
assert not bag.import_errors, bag.import_errors
both = [one for dag in bag.dags.values() for one in (dag.on_success_callback, dag.on_failure_callback)]
callbacks = [type(one).__name__ for one in both]
loaded = [name for name in set(sys.modules) - before if name.startswith({HEAVY!r})]
print(json.dumps([len(bag.dags), callbacks, loaded]))
"""


def test_both_callbacks_of_each_job_are_attached_and_nothing_of_the_ledger_is_loaded(tmp_path):
    """The DAG processor reads the file every few seconds."""
    done = subprocess.run([sys.executable, "-c", PARSE], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    dags, callbacks, loaded = json.loads(done.stdout.splitlines()[-1])
    assert dags > 0
    assert callbacks == ["ReleaseAlertNotifier"] * 2 * dags
    assert loaded == []


@pytest.mark.airflow
def test_a_broken_job_file_is_told_of_at_each_run(tmp_path, run_dag):
    """No task of it writes an entry, so the ledger alone would be silent."""
    (tmp_path / "stays.yaml").write_text("name: stays\nprivcy: []\n")
    told = []
    notifier = ReleaseAlertNotifier(send_to=[lambda context: told.extend(context["alerts"])])
    dags = deidentification_dags(tmp_path, on_success_callback=notifier, on_failure_callback=notifier)
    run = run_dag(dags["stays"])
    assert run.state == "failed"
    (alert,) = told
    assert alert["kind"] == "failed"
    assert run.run_id in alert["text"]
    assert "no attempt of it is in the ledger" in alert["text"]
