"""A share in a real S3 server, through Airflow's connection: nights, audit, readers, and a connection that is lost."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.io.store import _STORE_CACHE

import airflow_anon
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main as ledger_command
from airflow_anon.ledger.cli_verify import TAMPERED
from airflow_anon.ledger.delivery import delivered
from airflow_anon.run.release_id import release_id
from engine import InvalidData, VerificationFailed
from tests.airflow_anon.nights.night import states
from tests.airflow_anon.publication.publishing import Staged, run_context
from tests.seaweed import Cable, connection, options, seaweed, store_at

pytestmark = [pytest.mark.airflow, pytest.mark.slow]
SHARE = "s3://research_store@research/releases"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with seaweed(tmp_path_factory.mktemp("seaweed")) as port:
        yield port


@pytest.fixture
def store(port, tmp_path, monkeypatch):
    """Give a reader's client of the empty share."""
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_STORE", connection(port))
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    for key in [key for key in _STORE_CACHE if key.startswith("s3")]:
        monkeypatch.delitem(_STORE_CACHE, key)
    client = store_at(port)
    if client.find("research"):
        client.rm(client.find("research"))
    yield client
    for key in [key for key in _STORE_CACHE if key.startswith("s3")]:
        del _STORE_CACHE[key]


@pytest.mark.thorough
def test_a_night_in_airflow_goes_into_a_store(store, port, world, capsys):
    """The release is read as from a folder, the audit finds it whole, and tells what is changed afterwards."""
    path = world.job("hospital_stays", output={"path": "s3://research/releases", "conn_id": "research_store"})
    run = world.run(path)
    assert run.state == "success"
    assert set(states(run).values()) == {"success"}
    job = open_ledger().entries()[0].job
    place = f"s3://research/releases/{job}"
    table = airflow_anon.read(place, storage_options=options(port))
    assert len(table) == json.loads(store.cat_file(_current(store, job) + "/report.json"))["rows"]
    verify = ["verify", "--files", "--share", SHARE]
    assert ledger_command(verify) == 0
    data = _current(store, job) + "/data.parquet"
    released = store.cat_file(data)
    store.pipe_file(data, released[:-1] + bytes([released[-1] ^ 1]))
    assert ledger_command(verify) == TAMPERED
    assert "FILE      data.parquet of entry 1" in capsys.readouterr().out
    with pytest.raises(VerificationFailed, match=r"data\.parquet: does not match"):
        airflow_anon.read(place, storage_options=options(port))


def test_a_connection_that_is_lost_within_a_release(store, port, tmp_path, monkeypatch):
    """Wherever it is cut, readers keep the release of the night before; with the connection back a retry publishes."""
    cable = Cable(port)
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_STORE", connection(cable.port))
    output = {"path": "s3://research/releases", "conn_id": "research_store"}
    Staged(tmp_path / "yesterday").publish(output, run_context(1))
    yesterday = store.cat_file("research/releases/stays/current")
    wide = pa.table({"age": ["*"] * 50_000, "diagnosis": [f"{number * 7_919:x}" for number in range(50_000)]})
    staged = Staged(tmp_path / "today", wide)
    cuts = 0
    for cable.left in (1, 9_000, 100_000, 250_000):
        with pytest.raises(AirflowException, match="the store cannot be used now"):
            staged.publish(output, run_context(2))
        cuts += cable.left <= 0
        assert store.cat_file("research/releases/stays/current") == yesterday
        assert open_ledger().released("stays", release_id(run_context(2))) is None
    assert cuts == 4
    cable.left = float("inf")
    staged.publish(output, run_context(2))
    cable.close()
    assert _current(store, "stays").endswith(release_id(run_context(2)))
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_STORE", connection(port))
    _STORE_CACHE.pop("s3-research_store")
    found = delivered(open_ledger(), "stays")
    assert (found["files"], found["link"]) == ("matches", "matches")


def test_a_store_that_is_down_or_refuses_the_login(store, port, monkeypatch):
    with pytest.raises(InvalidData, match=r"has neither current nor manifest\.json"):
        airflow_anon.read("s3://research/releases/stays", storage_options=options(port))
    with pytest.raises(InvalidData, match="the store refuses your login"):
        airflow_anon.read("s3://research/releases/stays", storage_options={**options(port), "secret": "wrong"})


def _current(store, job):
    named = json.loads(store.cat_file(f"research/releases/{job}/current"))
    return f"research/releases/{job}/{named['release_id']}"
