"""Spark that ends in the middle, and a run that ends before Spark: an error, and nothing goes on or is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from engine import run
from engine.backends.spark_backend import Spark
from tests.engine.backends.test_failures import BEFORE, job_on, left, table
from tests.places import ROOT
from tests.spark import QUICK, active_jobs, endless, need_spark, once_it_counts


class StoppedError(BaseException):
    """What a signal raises."""


@pytest.mark.thorough
def test_a_run_that_is_interrupted_ends_its_query_and_not_the_session(spark, tmp_path, monkeypatch):
    pq.write_table(table(*"aabb"), tmp_path / "people.parquet")
    endless(Spark, monkeypatch)

    def stop(*_):
        raise StoppedError

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        waiting = once_it_counts(lambda: os.kill(os.getpid(), signal.SIGUSR1))
        with pytest.raises(StoppedError):
            run(job_on(tmp_path / "people.parquet", backend="spark"))
        waiting.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    while active_jobs(spark.sparkContext):
        time.sleep(0.05)  # a task ends at its next record
    assert left(tmp_path) == BEFORE
    monkeypatch.undo()
    assert run(job_on(tmp_path / "people.parquet", backend="spark")).report["rows"] == 4


KILLED = """
import json, os, signal, sys
from pathlib import Path
import pytest
from engine import EngineError, run
from engine.backends.spark_backend import Spark
from tests.spark import endless, once_it_counts

document, folder = json.loads(sys.argv[1]), Path(sys.argv[2])

def kill():
    from pyspark import SparkContext
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

with pytest.MonkeyPatch.context() as patch:
    endless(Spark, patch)
    once_it_counts(kill)
    try:
        run(document)
    except EngineError as problem:
        print(type(problem).__name__, problem)
print(sorted(path.name for path in folder.iterdir()))
print(run(document).report["rows"])
from pyspark import SparkContext
print(SparkContext._gateway, SparkContext._active_spark_context)
children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
print([Path(f"/proc/{child}/comm").read_text() for child in children])
"""


@pytest.mark.thorough
def test_a_killed_spark_is_told_and_another_run_starts_its_own(tmp_path):
    """A run that starts Java itself also ends it."""
    need_spark()
    pq.write_table(table(*"aabb"), tmp_path / "people.parquet")
    settings = {name: value for name, value in QUICK.items() if name != "spark.master"}
    document = job_on(tmp_path / "people.parquet", backend="spark", spark={"master": "local[2]", "config": settings})
    done = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(document), tmp_path],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    problem, after, rows, java, children = done.stdout.splitlines()
    assert problem.startswith("SparkLost backend spark: Spark ended while it worked")
    assert after == str(BEFORE)
    assert rows == "4"
    assert java == "None None"
    assert children == "[]"
    assert sorted(left(tmp_path)) == sorted([*BEFORE, "release"])


TOGETHER = """
import json, os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from engine import run
from engine.backends.spark_backend import Spark

documents = [json.loads(document) for document in sys.argv[1:]]
second_begins = threading.Event()
read = Spark._read

def slowly(self, *given):
    if threading.current_thread() is threading.main_thread():
        self._spark.version  # it starts
        second_begins.wait()
        time.sleep(3)
    return read(self, *given)

Spark._read = slowly
with ThreadPoolExecutor(1) as pool:
    from pyspark import SparkContext
    def later():
        while getattr(SparkContext._active_spark_context, "_jsc", None) is None:
            time.sleep(0.05)
        second_begins.set()
        return run(documents[1]).report["rows"]
    second = pool.submit(later)
    print(run(documents[0]).report["rows"], second.result())
print(SparkContext._gateway, SparkContext._active_spark_context)
children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
print([Path(f"/proc/{child}/comm").read_text() for child in children])
"""


@pytest.mark.thorough
def test_runs_of_two_threads_at_once_both_release_and_leave_no_java(tmp_path):
    """The second run begins while the first has Spark, which ends with that one."""
    need_spark()
    settings = {name: value for name, value in QUICK.items() if name != "spark.master"}
    documents = []
    for name, values in (("first", "aabb"), ("second", "aaabbb")):
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(table(*values), folder / "people.parquet")
        spark = {"master": "local[2]", "config": settings}
        documents.append(json.dumps(job_on(folder / "people.parquet", backend="spark", spark=spark)))
    command = [sys.executable, "-c", TOGETHER, *documents]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    rows, java, children = done.stdout.splitlines()
    assert rows == "4 6"
    assert java == "None None"
    assert children == "[]"
