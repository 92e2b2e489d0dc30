"""The demo: `python -m airflow_anon.demo run | ui | stop`.

`run` builds the clinical warehouse, runs the nightly DAG once in a separate Airflow, and prints the results.
`ui` leaves that Airflow running with its UI and schedule; `stop` ends it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow_anon.demo import standalone
from airflow_anon.demo.environment import (
    FRONTIER_DAG,
    JOB_FILE,
    USER,
    DemoFolders,
    airflow_environment,
    check_command,
    dags_folder,
    password,
)
from airflow_anon.transport.release_files import CURRENT, REPORT, VALIDATION
from engine import Job, load_job


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m airflow_anon.demo", description=__doc__)
    parser.add_argument("command", nargs="?", choices=("run", "ui", "stop"), default="run")
    parser.add_argument("--home", type=Path, default=Path(".demo"), help="folder of the demo (default: .demo)")
    parser.add_argument("--persons", type=int, default=100_000, help="size of the warehouse (default: 100,000)")
    parser.add_argument("--port", type=int, default=8080, help="port of the UI (default: 8080)")
    options = parser.parse_args(arguments)
    folders = DemoFolders(options.home.resolve())
    if options.command == "stop":
        return _stop(folders)
    _prepare(folders, options.persons)
    return _ui(folders, options.port) if options.command == "ui" else _run(folders)


def _prepare(folders: DemoFolders, persons: int) -> None:
    from airflow_anon.demo.warehouse import build_warehouse  # noqa: PLC0415 (`stop` needs none of it)

    for folder in (folders.airflow, folders.share):
        folder.mkdir(parents=True, exist_ok=True)
    folders.staging.mkdir(mode=0o700, exist_ok=True)
    with _Step(f"clinical warehouse of {persons:,} persons"):
        build_warehouse(folders.warehouse_url, persons=persons)
    with _Step("Airflow metadata database"):
        _migrate(folders)


def _migrate(folders: DemoFolders) -> None:
    """Migrate once for each installed version of Airflow."""
    import airflow  # noqa: PLC0415 (only its version)

    stamp = folders.airflow / f".migrated-{airflow.__version__}"
    if not stamp.is_file():
        _airflow(folders, "db", "migrate")
        stamp.touch()


def _airflow(folders: DemoFolders, *arguments: str) -> None:
    """Run an Airflow command and write its output to a log.

    Raises
    ------
    SystemExit
        The command failed; the end of the log is printed.
    """
    log = folders.home / f"{arguments[0]}-{arguments[1]}.log"
    with log.open("wb") as output:
        done = subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-m", "airflow", *arguments],
            env=airflow_environment(folders),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:]
        raise SystemExit("\n".join([*tail, "", f"airflow {' '.join(arguments)} failed; the whole log: {log}"]))


def _run(folders: DemoFolders) -> int:
    job = load_job(dags_folder() / "jobs" / JOB_FILE)
    current = folders.share / job.name / CURRENT
    before = _release(current)
    with _Step(f"nightly DAG {job.name!r} in Airflow"):
        _airflow(folders, "dags", "test", job.name)
    if _release(current) == before:
        raise SystemExit(f"the DAG run left no new release; its log: {folders.home / 'dags-test.log'}")
    print(_summary(job, current.resolve(), folders))
    return 0


def _release(current: Path) -> str | None:
    return current.resolve().name if current.exists() else None


def _summary(job: Job, release: Path, folders: DemoFolders) -> str:
    from airflow_anon.ledger import open_ledger  # noqa: PLC0415 (`stop` needs none of it)

    report = json.loads((release / REPORT).read_text(encoding="utf-8"))
    validation = json.loads((release / VALIDATION).read_text(encoding="utf-8"))
    entry = open_ledger(folders.ledger_url).released(job.name, release.name)
    solution, risk = report["solution"], report["risk"]
    proof = "proven optimal" if solution["optimal"] else f"at most {solution['lower_bound']:.4f} is possible"
    return "\n".join(
        [
            "",
            "What was released",
            f"  {report['released']:,} records, columns {', '.join(report['columns'])}",
            *_levels(job, solution["levels"] or {}),
            "What it cost in information",
            f"  information loss {solution['information_loss']:.4f} on a scale of 0 to 1 ({proof})",
            f"  {_suppressed(report)} ({job.suppression_limit:.0%} allowed)",
            "What risk is left",
            *(f"  {model['description']} holds, observed {model['observed']:g}" for model in report["privacy"]),
            f"  highest risk of finding one record {risk['prosecutor']:.2%}",
            f"  share of records an attack on all is expected to find {risk['marketer']:.2%}",
            f"  {len(validation['results'])} Great Expectations checks passed",
            "Where to look",
            f"  release      {release}",
            f"  report       {release / REPORT}",
            f"  SQL share    {folders.research}, table {job.output.table if job.output else ''}",
            f"  ledger       entry {entry.sequence}, {entry.entry_sha256}",
            f"  to check it  {check_command(folders)}",
            "  Airflow UI   make demo-ui, then De-identification at the left",
        ]
    )


def _suppressed(report: Mapping[str, Any]) -> str:
    found = report["suppressed_class"]
    if "below" in found:
        few = f"fewer than {found['below']}"
        return f"records of {few} persons left out" if "persons" in report else f"{few} records left out"
    return f"{found['records']:,} records suppressed, {found['records'] / report['rows']:.2%}"


def _levels(job: Job, levels: Mapping[str, int]) -> list[str]:
    lines = []
    for name, level in levels.items():
        hierarchy = job.attributes[name].hierarchy
        top = hierarchy.level_count - 1 if hierarchy is not None else 0
        lines.append(f"    {name:24} generalization level {level} of {top}")
    return lines


def _ui(folders: DemoFolders, port: int) -> int:
    login = password(folders)
    if not standalone.is_healthy(port):
        group_file = folders.home / "standalone.pid"
        environment = airflow_environment(folders, port)
        dags = Path(environment["AIRFLOW__CORE__DAGS_FOLDER"])
        names = [load_job(file).name for file in (dags / "jobs").glob("*.yaml")]
        if (dags / f"{FRONTIER_DAG}.py").is_file():
            names.append(FRONTIER_DAG)
        with _Step("Airflow with its UI"):
            group = standalone.start(environment, folders.home / "standalone.log")
            group_file.write_text(str(group), encoding="utf-8")
            standalone.wait_until_ready(port, group)
            base = environment["AIRFLOW__API__BASE_URL"]
            standalone.wait_for_dags(base, group, {"username": USER, "password": login}, names)
    print(f"\nAirflow      http://localhost:{port}\nlogin        {USER} / {login}\nto stop it   make demo-stop")
    return 0


def _stop(folders: DemoFolders) -> int:
    group_file = folders.home / "standalone.pid"
    if group_file.is_file():
        standalone.stop(int(group_file.read_text(encoding="utf-8")))
        group_file.unlink()
    return 0


class _Step:
    """One line per step: its name and its duration."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        self._started = time.monotonic()
        print(f"{self._text} ...", end="", flush=True)

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        print(f" {time.monotonic() - self._started:.1f} s" if kind is None else " failed", flush=True)


if __name__ == "__main__":
    sys.exit(main())
