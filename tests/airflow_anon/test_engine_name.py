"""A module of the user's that is named `engine`: whichever of the two hides the other, it is told."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from airflow_anon.engine_name import other_engines
from airflow_anon.jobs import check_job_files
from engine import InvalidJob
from tests.places import ROOT


def imported(first, tmp_path):
    """Import the package in a process whose path begins with a folder."""
    path = os.pathsep.join(map(str, (first, ROOT)))
    command = [sys.executable, "-c", "import airflow_anon.operators"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={"PYTHONPATH": path}, cwd=tmp_path)
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "content"),
    [("engine.py", "class Car: ..."), ("engine/__init__.py", ""), ("engine.py", "raise RuntimeError('4711')")],
)
def test_one_that_hides_ours_is_named_when_the_package_is_imported(tmp_path, name, content):
    module = tmp_path / "dags" / name
    module.parent.mkdir(parents=True)
    module.write_text(content)
    told = imported(tmp_path / "dags", tmp_path)
    assert told.startswith("ImportError: ")
    assert f"{module}: hides the package 'engine' of airflow-anon" in told
    assert "rename it" in told
    assert "4711" not in told


def test_one_that_ours_hides_is_named_where_broken_job_files_are(tmp_path, monkeypatch):
    """Airflow puts the DAG folder behind the installed packages, so there ours is found first."""
    (tmp_path / "jobs").mkdir()
    (tmp_path / "engine.py").write_text("class Car: ...")
    assert other_engines() == []
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidJob, match=r"engine\.py: has the name of the package 'engine'.*rename it"):
        check_job_files(tmp_path / "jobs")
