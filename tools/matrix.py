"""Try the wheel on versions of Airflow and Python: an environment for each pair, and the nightly DAG run once in it.

    python tools/matrix.py [--airflow 3.1 3.2 3.3] [--python 3.10 3.11 3.12 3.13] [--parse-only] [--folder FOLDER]

In: this tree, the package index, and the interpreters on the path. Out: a table in Markdown, as in docs/install.md;
the exit status is 1 if a step failed. Environments, and the output of each step, are in FOLDER (a temporary one by
default), where nothing of the tree is. The steps of a pair, of which the first to fail is the last:

installed
    The wheel with the extra `airflow`, and the newest packages that fit the newest Airflow of that series.
parsed
    `airflow-anon --version`, the pages, and the shipped DAG files, read by Airflow without an error.
run
    `python -m airflow_anon.demo run` on few made-up persons: extracted, verified, validated, published, recorded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AIRFLOWS = ("3.1", "3.2", "3.3")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
PERSONS = 2_000
PARSE = """
import sys
from pathlib import Path
import airflow_anon.demo
from airflow_anon.plugin.app import make_app
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:  # Airflow 3.1
    from airflow.models.dagbag import DagBag
make_app()
bag = DagBag(Path(airflow_anon.demo.__file__).parent / "dags")
print(sorted(bag.dags), bag.import_errors)
sys.exit(not bag.dags or bool(bag.import_errors))
"""
VERSIONS = """
from importlib.metadata import version
print(*(version(name) for name in ("apache-airflow", "numba", "numpy", "pandas")), sep=" | ")
"""


class Environment:
    """A folder with an installation of its own, and `output.log`: what its commands wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        own = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PYTHONPATH"))}
        path = f"{folder / 'bin'}{os.pathsep}{own['PATH']}"
        home = {"AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        self._variables = {**own, **home, "PATH": path}

    def does(self, *command: str) -> bool:
        """Run a command with the programs of the environment; tell whether it succeeded."""
        with (self.folder / "output.log").open("a") as output:
            done = subprocess.run(  # noqa: S603 (a command of this file)
                command, env=self._variables, cwd=self.folder, stdout=output, stderr=output, check=False
            )
        return done.returncode == 0

    def says(self, *command: str) -> str:
        """Run such a command, and return what it printed."""
        done = subprocess.run(  # noqa: S603 (as above)
            command, env=self._variables, cwd=self.folder, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()


def steps_of(environment: Environment, interpreter: str, wheel: str, airflow: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the commands of each step, in their order."""
    demo = ("python", "-m", "airflow_anon.demo", "run", "--persons", str(PERSONS))
    packages = (f"{wheel}[airflow]", f"apache-airflow=={airflow}.*")
    return {
        "installed": [
            (interpreter, "-m", "venv", str(environment.folder)),
            ("python", "-m", "pip", "install", "--quiet", "--no-compile", *packages),
        ],
        "parsed": [("airflow-anon", "--version"), ("airflow", "db", "migrate"), ("python", "-c", PARSE)],
        "run": [(*demo, "--home", str(environment.folder / "demo"))],
    }


def tried(python: str, airflow: str, wheel: str, folder: Path, *, parse_only: bool) -> tuple[str, bool]:
    """Try one pair; return its row of the table, and whether all of its steps succeeded."""
    interpreter = shutil.which(f"python{python}")
    if interpreter is None:
        return f"| {airflow} | {python} | no interpreter | | | | |", False
    environment = Environment(folder / f"python{python}-airflow{airflow}")
    reached = "not installed"
    for step, commands in steps_of(environment, interpreter, wheel, airflow).items():
        if parse_only and step == "run":
            break
        if not all(environment.does(*command) for command in commands):
            return f"| {airflow} | {python} | {reached}, then failed | {versions_in(environment)} |", False
        reached = step
    return f"| {airflow} | {python} | {reached} | {versions_in(environment)} |", True


def versions_in(environment: Environment) -> str:
    """Return the versions of the main packages, as cells of the row."""
    return environment.says("python", "-c", VERSIONS) or " | | |"


def build_wheel(folder: Path) -> str:
    """Build the wheel of this tree; return its path."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)  # noqa: S603 (as above)
    (wheel,) = folder.glob("*.whl")
    return str(wheel)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description="Try the wheel on versions of Airflow and Python.")
    parser.add_argument("--airflow", nargs="+", default=AIRFLOWS, metavar="SERIES")
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="VERSION")
    parser.add_argument("--parse-only", action="store_true", help="leave out the step 'run'")
    parser.add_argument("--folder", type=Path, help="an empty folder for the environments, 1 GB each")
    options = parser.parse_args(arguments)
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="airflow-anon-matrix-"))).resolve()
    wheel = build_wheel(folder)
    print("| Airflow | Python | reached | apache-airflow | numba | numpy | pandas |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    is_well = True
    for airflow, python in product(options.airflow, options.python):
        row, succeeded = tried(python, airflow, wheel, folder, parse_only=options.parse_only)
        print(row, flush=True)
        is_well &= succeeded
    print(f"environments and output: {folder}", file=sys.stderr)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
