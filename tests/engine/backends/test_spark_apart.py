"""A Spark Connect server counts while only an event loop waits; a wait that ends or is killed leaves no query."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import suppress

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import engine.backends.spark_session
from engine import CountApart, CountedApart, InvalidData, InvalidJob, SparkAccess, SparkLost, count_apart, run
from engine.backends.spark_backend import Spark
from tests.engine.backends.test_failures import BEFORE, PERSON, job_on, left, table
from tests.places import ROOT
from tests.ports import free_port
from tests.spark import active_jobs, endless

pytest.importorskip("pyspark", reason="needs the extra 'spark'")


@pytest.fixture
def job(tmp_path):
    pq.write_table(table(*"aabb"), tmp_path / "people.parquet")
    return job_on(tmp_path / "people.parquet", backend="spark")


def planned(job, folder, remote):
    """Return a count after a way through JSON, as Airflow keeps it."""
    count = count_apart(job, folder, SparkAccess({"spark.remote": remote}))
    return CountApart.of(json.loads(json.dumps(count.document())))


async def lasting(spark):
    """Return the jobs of Spark that ran before and still run: reading the types of a file is a job as well."""
    before = active_jobs(spark.sparkContext)
    await asyncio.sleep(1)
    return set(before) & set(active_jobs(spark.sparkContext))


def ended(spark, jobs):
    """Wait until none of these jobs of Spark runs."""
    while set(jobs) & set(active_jobs(spark.sparkContext)):
        time.sleep(0.05)


def test_a_run_takes_what_was_counted_apart_and_counts_nothing(spark, spark_server, job, tmp_path, monkeypatch):
    count = planned(job, tmp_path / "counted", spark_server)
    folder = asyncio.run(count.result(spark_server))
    counted = pq.read_table(folder).to_pylist()
    assert sorted((row["c0"], row["n"]) for row in counted) == [("a", 2), ("b", 2)]
    access = SparkAccess({"spark.remote": spark_server}, CountedApart(tmp_path / "counted/0", count.columns))

    def counts(*_):
        pytest.fail("it was counted again")

    monkeypatch.setattr("engine.backends.spark_backend._grouped", counts)
    result = run(job, spark=access)
    assert (result.report["rows"], result.report["backend"]) == (4, "spark")
    assert left(tmp_path) == ["counted", *BEFORE, "release"]
    assert PERSON not in json.dumps(count.document())
    assert not active_jobs(spark.sparkContext)


@pytest.mark.thorough
def test_a_wait_that_is_cancelled_ends_the_query_and_another_begins_anew(
    spark, spark_server, job, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        endless(Spark, patch)
        count = planned(job, tmp_path / "counted", spark_server)

    async def cancelled():
        waiting = asyncio.create_task(count.result(spark_server))
        while not (jobs := await lasting(spark)):
            assert not waiting.done(), waiting.exception()
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        assert waiting.cancelled()
        return jobs

    ended(spark, asyncio.run(cancelled()))
    again = planned(job, tmp_path / "counted", spark_server)
    assert asyncio.run(again.result(spark_server)) == str(tmp_path / "counted/0")


WAIT = """
import asyncio, json, sys
from engine import CountApart
asyncio.run(CountApart.of(json.loads(sys.argv[1])).result(sys.argv[2]))
"""


@pytest.fixture
def waiting(spark, spark_server):
    """Give `waiting(count)`: a process that waits for it, and the jobs that Spark runs for it."""
    processes = []

    def wait(count):
        before = set(active_jobs(spark.sparkContext))
        command = [sys.executable, "-c", WAIT, json.dumps(count.document()), spark_server]
        process = subprocess.Popen(command, cwd=ROOT)
        processes.append(process)
        while not (jobs := set(active_jobs(spark.sparkContext)) - before):
            assert process.poll() is None
            time.sleep(0.05)
        return process, jobs

    yield wait
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.thorough
def test_the_query_of_a_triggerer_that_was_killed_is_ended_by_the_next_one_or_by_the_server(
    spark, spark_server, job, tmp_path, monkeypatch, waiting
):
    with monkeypatch.context() as patch:
        endless(Spark, patch)
        count = planned(job, tmp_path / "counted", spark_server)
    process, jobs = waiting(count)
    process.kill()
    process.wait()
    process, later = waiting(count)
    ended(spark, jobs)
    assert process.poll() is None
    process.kill()
    ended(spark, later)  # after `detachedTimeout`


def test_a_server_that_does_not_answer_is_told_within_seconds_without_its_token(tmp_path, job, monkeypatch):
    assert engine.backends.spark_session._ANSWER_SECONDS <= 10
    monkeypatch.setattr("engine.backends.spark_session._ANSWER_SECONDS", 1)
    remote = f"sc://127.0.0.1:{free_port()}/;user_id=night;token=geheim"
    text = r"no Spark Connect server answers at 127\.0\.0\.1:\d+; start it"
    access = SparkAccess({"spark.remote": remote})
    with pytest.raises(SparkLost, match=text) as refused:
        run(job, spark=access)
    assert "geheim" not in str(refused.value) + repr(access)
    with pytest.raises(SparkLost, match=text):
        count_apart(job, tmp_path / "counted", access)
    assert left(tmp_path) == ["counted", *BEFORE]
    assert left(tmp_path / "counted") == []


def test_an_address_that_is_none_is_refused_without_its_token(job, tmp_path):
    with pytest.raises(InvalidJob, match=r"is no address of a Spark Connect server") as refused:
        run(job, spark=SparkAccess({"spark.remote": "sc://host/path;token=geheim"}))
    assert "geheim" not in str(refused.value)
    assert left(tmp_path) == BEFORE


def test_what_was_counted_of_other_columns_or_is_not_there_is_refused(spark_server, job, tmp_path):
    for counted, text in [
        (CountedApart(tmp_path / "counted/0", ("s",)), "the job changed while Spark counted"),
        (CountedApart(tmp_path / "counted/0", ("q",)), "Spark does not see the files of this task"),
    ]:
        with pytest.raises(InvalidData, match=text):
            run(job, spark=SparkAccess({"spark.remote": spark_server}, counted))
    assert left(tmp_path) == BEFORE


def test_what_the_engine_must_read_first_is_not_counted_apart(spark_server, job, tmp_path):
    access = SparkAccess({"spark.remote": spark_server})
    pyarrow.csv.write_csv(table(*"aabb"), tmp_path / "people.csv")
    assert count_apart({**job, "source": {"path": str(tmp_path / "people.csv")}}, tmp_path / "c", access) is None
    assert count_apart({**job, "backend": "arrow"}, tmp_path / "c", access) is None
    assert count_apart(job, tmp_path / "c", SparkAccess({"spark.master": "local[2]"})) is None
