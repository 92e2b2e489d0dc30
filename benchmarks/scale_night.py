"""What a night does to a Parquet file of any size, by the operators of a DAG: deidentify, validate, publish.

In: a file of `scale_data`, a folder. Out: for each task the CPU seconds, the seconds by the clock and the most memory
of its process, all children with it. Each task is a process of its own, as a worker starts it, and gets from the tasks
before it what XComs would bring. The published release is compared with its manifest, and its entry of the ledger is
read again.

    python benchmarks/scale_night.py TASK FILE FOLDER MEMORY        (one task; prints its figures as JSON)
"""

from __future__ import annotations

import datetime as dt
import json
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import airflow_worker  # noqa: E402 (the project root must be on the path)
import scale_data  # noqa: E402

TASKS = ("deidentify", "validate", "publish")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def night(path: Path, folder: Path, memory: str) -> tuple[dict[str, dict[str, float]], dict[str, Any], Path]:
    """Run the tasks one after another; return the figures of each, the metrics of the release, and its file."""
    (folder / "staging").mkdir(parents=True)
    settings = {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_ANON_LEDGER": f"sqlite:///{folder}/ledger.sqlite",
    }
    # imports of the operators are measured, with bytecode as an installation has it
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    figures = {task: _in_process(task, path, folder, memory, {**inherited, **settings}) for task in TASKS}
    published = _told(folder, "publish")
    return figures, published, Path(published["path"]) / "data.parquet"


def _in_process(task: str, path: Path, folder: Path, memory: str, environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, __file__, task, str(path), str(folder), memory]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603 (this file)
        most = _Watched(process.pid)
        most.start()
        told = process.communicate()[0]
        most.end()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found: dict[str, float] = json.loads(told.splitlines()[-1])
    found["wall"] = time.perf_counter() - started
    found["megabytes"] = max(found["megabytes"], most.megabytes)
    return found


class _Watched(threading.Thread):
    """The most memory that a process and all its children together had, asked ten times per second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._ended = threading.Event()
        self.megabytes = 0.0

    def run(self) -> None:
        while not self._ended.wait(0.1):
            self.megabytes = max(self.megabytes, sum(map(_resident, _tree(self._pid))) / 2**20)

    def end(self) -> None:
        self._ended.set()
        self.join()


def _tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        found += _children(one)
    return found


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:  # it has just ended
        return []


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):  # it has just ended
        return 0


def one(task: str, path: Path, folder: Path, memory: str) -> dict[str, Any]:
    """Run one task; the CPU seconds are without what compiling kernels costs, and what a worker has loaded before."""
    airflow_worker.load_airflow()
    spent = _compiled() if task == "deidentify" else time.process_time()
    work = {"deidentify": _deidentify, "validate": _validate, "publish": _publish}[task]
    told = work(scale_data.job(path, folder / "share", memory_limit=memory), path, folder)
    (folder / f"{task}.json").write_text(json.dumps(told))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": time.process_time() - spent, "megabytes": usage.ru_maxrss / 1024}


def _compiled() -> float:
    from engine.kernels.warm_up import warm_up  # noqa: PLC0415 (of one task)

    warm_up()
    return time.process_time()


def _deidentify(job: dict[str, Any], path: Path, folder: Path) -> dict[str, Any]:
    from airflow_anon.operators.deidentify import DeidentifyTableOperator  # noqa: PLC0415 (of one task)

    operator = DeidentifyTableOperator(task_id="deidentify", job=job, source=str(path), staging=str(folder / "staging"))
    return dict(operator.execute(context("deidentify")))


def _validate(job: dict[str, Any], path: Path, folder: Path) -> dict[str, Any]:
    from airflow_anon.operators.validate import ValidateReleaseOperator  # noqa: PLC0415 (of one task)

    made = _told(folder, "deidentify")
    operator = ValidateReleaseOperator(
        task_id="validate",
        job=job,
        release=made["release"],
        manifest_sha256=made["manifest_sha256"],
        source=str(path),
    )
    return operator.execute(context("validate"))


def _publish(job: dict[str, Any], path: Path, folder: Path) -> dict[str, Any]:
    from airflow_anon.ledger.address import open_ledger  # noqa: PLC0415 (of one task)
    from airflow_anon.operators.publish import PublishReleaseOperator  # noqa: PLC0415
    from engine import check_manifest  # noqa: PLC0415

    del path
    made, validated = _told(folder, "deidentify"), _told(folder, "validate")
    operator = PublishReleaseOperator(
        task_id="publish",
        job=job,
        release=made["release"],
        manifest_sha256=made["manifest_sha256"],
        validation_sha256=validated["validation_sha256"],
        metrics=made["metrics"],
    )
    published = operator.execute(context("publish"))
    check_manifest(Path(published["path"]))
    entry = open_ledger().released("scale", published["release_id"])
    assert entry is not None
    assert entry.entry_sha256 == published["ledger_sha256"]
    return published


def _told(folder: Path, task: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / f"{task}.json").read_text())
    return told


def outcome(metrics: dict[str, Any]) -> str:
    """Return levels and suppressed records as text, from the metrics of a release."""
    return f"{' '.join(map(str, metrics['levels'].values()))}, {metrics['suppressed']:,}"


def context(task: str) -> Any:
    """Return what the operators need of a run."""
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    run = SimpleNamespace(
        dag_id="scale",
        run_id="scale",
        logical_date=moment,
        run_after=moment,
        start_date=None,
        run_type="manual",
        clear_number=0,
        triggering_user_name=None,
        conf={},
    )
    instance = SimpleNamespace(task_id=task, xcom_push=lambda **_: None)
    return {"dag_run": run, "ti": instance, "params": {}, "outlet_events": {}}


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])))
