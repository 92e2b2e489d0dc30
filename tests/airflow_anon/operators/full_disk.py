"""A full disk: the task says so, a retry may help, and nothing half written stays in staging or in the share."""

from __future__ import annotations

import json
import logging
import random
import resource
import sqlite3
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_anon.operators import (
    DeidentifyTableOperator,
    ExtractTableOperator,
    PublishReleaseOperator,
    ValidateReleaseOperator,
)
from airflow_anon.transport.address import path_of
from airflow_anon.transport.parquet import write_parquet
from tests.airflow_anon.publication.publishing import METRICS, run_context
from tests.profiles import thorough

RECORDS = 4000
SIZES = [0, 1, 100, 4000, 20_000] if thorough() else [0, 4000]
"""Bytes that a file may have; all files of the release together need more."""
JOB = {
    "name": "people",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age", "widths": [10]}},
        "note": {"role": "insensitive", "accept": "unique"},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
}


@contextmanager
def files_of_at_most(size):
    """Let writes beyond a size fail, as they do on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def rows():
    chance = random.Random(7)
    return [(chance.randrange(90), f"{chance.getrandbits(64):x}") for _ in range(RECORDS)]


@pytest.fixture
def staging(tmp_path, monkeypatch):
    """Make a warehouse and an empty staging folder."""
    with sqlite3.connect(tmp_path / "w.db") as connection:
        connection.execute("CREATE TABLE person (age INTEGER, note TEXT)")
        connection.executemany("INSERT INTO person VALUES (?, ?)", rows())
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "w.db")}))
    key = tmp_path / "w.db.key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", str(key))
    # what tests print goes to a file, which would be full too
    monkeypatch.setattr(BaseOperator, "log", logging.getLogger(__name__), raising=False)
    folder = tmp_path / "staging"
    folder.mkdir()
    return folder


def tasks(staging):
    """Give each task of a run, what it needs of those before, and where it writes."""
    extract = ExtractTableOperator(
        task_id="extract",
        conn_id="warehouse",
        table="person",
        attributes={"age": "quasi-identifying", "note": "insensitive"},
        staging=str(staging),
        batch_rows=500,
    )
    yield "extract", lambda _: extract
    source = str(staging / "source.parquet")
    yield "deidentify", lambda _: DeidentifyTableOperator(task_id="d", job=JOB, source=source, staging=str(staging))
    yield (
        "validate",
        lambda done: ValidateReleaseOperator(
            task_id="v",
            job=JOB,
            release=done["deidentify"]["release"],
            manifest_sha256=done["deidentify"]["manifest_sha256"],
            source_rows=RECORDS,
        ),
    )
    yield (
        "publish",
        lambda done: PublishReleaseOperator(
            task_id="p",
            job=JOB,
            publish_to={"path": str(staging.parent / "share")},
            release=done["deidentify"]["release"],
            manifest_sha256=done["deidentify"]["manifest_sha256"],
            validation_sha256=done["validate"]["validation_sha256"],
            metrics=METRICS,
        ),
    )


def found(folder):
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and "w.db" not in path.name
    )


def test_every_task(staging):
    """Each fails on the full disk, leaves what was there, and succeeds when there is space again."""
    done = {}
    for name, make in tasks(staging):
        for size in SIZES:
            before = found(staging)
            with pytest.raises(AirflowException) as caught, files_of_at_most(size):
                make(done).execute(run_context())
            assert not isinstance(caught.value, AirflowFailException), (name, size)
            assert found(staging) == before, (name, size)
            assert not [path for path in found(staging.parent) if "share" in path]
        done[name] = make(done).execute(run_context())


@pytest.mark.parametrize("size", SIZES)
def test_parts_of_several_types(tmp_path, size):
    """A second part begins with wider types; when it cannot be written the first one goes too."""
    notes = [note for _, note in rows()]
    batches = [pa.record_batch({"note": kind}) for kind in (pa.nulls(RECORDS), pa.array(notes), pa.array(notes[::-1]))]
    with pytest.raises(OSError), files_of_at_most(size):
        write_parquet(iter(batches), path_of(str(tmp_path / "source.parquet")))
    assert found(tmp_path) == []
    assert write_parquet(iter(batches), path_of(str(tmp_path / "source.parquet"))) == 3 * RECORDS
    assert pq.read_table(tmp_path / "source.parquet").num_rows == 3 * RECORDS
