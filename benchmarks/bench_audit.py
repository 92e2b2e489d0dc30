"""How long the audit pages and the checks of the ledger take with 1,000 releases.

    python benchmarks/bench_audit.py

In: nothing; a SQLite ledger of 1,000 releases of four jobs, with documents as large as those of real runs, is made in a
temporary folder. Out: a table in Markdown, milliseconds until an answer is complete, each the median of five, and as a
share of the second that a page may take. Every answer must say what the ledger holds. Who may see what is asked of
Airflow in production and takes its time there; here everybody may.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

JOBS = ("births", "deaths", "hospital-stays", "prescriptions")
NIGHTS = 250
REPEATS = 5
KILOBYTES = 30


def main() -> None:
    """Make the ledger, time the pages and the checks."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AIRFLOW_HOME"] = folder
        os.environ["AIRFLOW_ANON_LEDGER"] = f"sqlite:///{folder}/ledger.sqlite"
        os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "ERROR"
        # The page of all jobs asks Airflow when each runs next.
        subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True)
        ledger = _filled()
        newest = ledger.entries(limit=1)[0]
        print(f"{len(ledger.entries()):,} releases, documents of {KILOBYTES} kB\n")
        print("| what | ms | of a second |\n| --- | ---: | ---: |")
        for name, work, expected in [*_pages(newest), *_checks(ledger)]:
            seconds = [_timed(work, expected) for _ in range(REPEATS)]
            print(f"| {name} | {1000 * statistics.median(seconds):.0f} | {statistics.median(seconds):.1%} |")


def _filled() -> Any:
    from airflow_anon.ledger import open_ledger  # noqa: PLC0415 (the environment comes first)
    from tests.airflow_anon.plugin.documents import released  # noqa: PLC0415

    ledger = open_ledger()
    for night in range(NIGHTS):
        for job in JOBS:
            run = f"scheduled__night {night}"
            document = released(job, dag_id=job, run_id=run, release_id=f"night-{night:04}", loss=0.3 + night % 7 / 100)
            document["warnings"] = ["x" * 1024] * (KILOBYTES - 4)
            ledger.append(document)
    return ledger


def _pages(newest: Any) -> list[tuple[str, Callable[[], str], str]]:
    from fastapi import Request  # noqa: PLC0415 (the environment comes first)
    from starlette.testclient import TestClient  # noqa: PLC0415

    from airflow_anon.plugin import app as pages  # noqa: PLC0415
    from airflow_anon.plugin.access import guard  # noqa: PLC0415

    def everybody(request: Request) -> None:
        request.state.deidentification_user = None

    # An annotation that is text is looked up in the module, where a class of this function is not.
    everybody.__annotations__["request"] = Request
    vars(pages)["visible_dags"] = lambda _, dag_ids: set(dag_ids)
    app = pages.make_app()
    app.dependency_overrides[guard] = everybody
    client = TestClient(app)
    run = f"/dags/{newest.dag_id}/runs/{quote(newest.run_id, safe='')}"
    paths = {
        "all jobs": ("/", "prescriptions"),
        "history of a job": (f"/dags/{newest.dag_id}", f"{NIGHTS} attempts"),
        "audit of a release": (run, newest.entry_sha256),
        "certificate": (f"{run}/certificate", newest.entry_sha256),
        "ledger": ("/ledger", f"{NIGHTS * len(JOBS)} entries"),
        "ledger, with all documents": ("/ledger?documents=1", f"{NIGHTS * len(JOBS)} entries"),
        "JSON of all jobs": ("/api/jobs", "prescriptions"),
        "JSON of a release": (f"/api{run}", newest.entry_sha256),
    }
    return [(name, lambda path=path: client.get(path).text, text) for name, (path, text) in paths.items()]


def _checks(ledger: Any) -> list[tuple[str, Callable[[], str], str]]:
    return [
        ("check of the chain", lambda: str(ledger.check_chain()), "[]"),
        ("check of chain and documents", lambda: str(ledger.check()), "[]"),
    ]


def _timed(work: Callable[[], str], expected: str) -> float:
    started = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - started
    assert expected in answer, answer[:2000]
    return seconds


if __name__ == "__main__":
    main()
