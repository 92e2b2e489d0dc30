"""The wheel in an Airflow home of its own, outside of the tree: the DAG files of docs/install.md are parsed with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.airflow_anon.commands.test_check import JOB
from tests.places import ROOT

pytestmark = pytest.mark.thorough

PARSE = """
import json
import airflow_anon, engine
from pathlib import Path
from airflow.dag_processing.dagbag import BundleDagBag
bag = BundleDagBag({folder!r}, bundle_path=Path({folder!r}))
tasks = {{name: sorted(dag.task_ids) for name, dag in bag.dags.items()}}
print(json.dumps([airflow_anon.__file__, engine.__file__, tasks, bag.import_errors]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it where nothing of the tree is."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    return folder / "site"


def run(installed: Path, home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {"AIRFLOW_HOME": str(home), "PYTHONPATH": str(installed), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=home, env=environment)


def dag_files(folder: Path) -> None:
    """Write the DAG files of the document."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(found) == 3
    for number, code in enumerate(found):
        (folder / f"deidentification_{number}.py").write_text(code)


def test_the_dag_files_of_the_document_are_parsed(installed, tmp_path):
    jobs = tmp_path / "dags" / "jobs"
    jobs.mkdir(parents=True)
    dag_files(tmp_path / "dags")
    (jobs / "stays.yaml").write_text(yaml.safe_dump({**JOB, "frontier": {}, "subject": None, "unit": "record"}))
    (jobs / "broken.yaml").write_text("name: broken\n")
    done = run(installed, tmp_path, sys.executable, "-c", PARSE.format(folder=str(tmp_path / "dags")))
    assert done.returncode == 0, done.stderr
    *ours, tasks, errors = json.loads(done.stdout.splitlines()[-1])
    assert all(Path(path).is_relative_to(installed) for path in ours)
    assert {"stays", "broken", "risk_utility_frontier"} == set(tasks)
    assert {"extract", "deidentify", "validate", "publish"} <= set(tasks["stays"])
    (error,) = errors.values()
    assert "broken.yaml" in error


def test_a_module_named_engine_in_the_dag_folder_is_told(installed, tmp_path):
    (tmp_path / "dags" / "jobs").mkdir(parents=True)
    dag_files(tmp_path / "dags")
    (tmp_path / "dags" / "engine.py").write_text("class Car: ...\n")
    done = run(installed, tmp_path, sys.executable, "-c", PARSE.format(folder=str(tmp_path / "dags")))
    assert done.returncode == 0, done.stderr
    *_, errors = json.loads(done.stdout.splitlines()[-1])
    assert any("engine.py: has the name of the package 'engine' of airflow-anon" in text for text in errors.values())


def test_the_files_that_are_no_code_are_there(installed, tmp_path):
    """Templates of pages, censuses, migrations; a draft reads one of them."""
    (tmp_path / "people.csv").write_text("age,zip\n" + "".join(f"{20 + row % 9},02139\n" for row in range(90)))
    done = run(installed, tmp_path, sys.executable, "-m", "engine", "init", "people.csv")
    assert done.returncode == 0, done.stderr
    for package in ("airflow_anon", "engine"):
        files = [path.relative_to(ROOT) for path in (ROOT / package).rglob("*") if path.is_file()]
        missing = [path for path in files if not (installed / path).is_file() and "__pycache__" not in path.parts]
        assert missing == []
