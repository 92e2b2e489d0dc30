"""A share in stores of other kinds than S3, through Airflow's connections of their types, on servers that emulate them.

The same code as for S3, which the gate tries: here is told whether other clients and stores keep what it relies on.
"""

from __future__ import annotations

import json
from types import ModuleType

import pyarrow as pa
import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk.io.store import _STORE_CACHE

import airflow_anon
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.delivery import delivered
from airflow_anon.publication.withdraw import recall
from airflow_anon.run.release_id import release_id
from airflow_anon.share.object_share import ObjectShare
from airflow_anon.transport import object_store
from airflow_anon.transport.object_store import StoreError
from engine import InvalidData
from tests import azurite, fake_gcs, seaweed
from tests.airflow_anon.publication.publishing import Staged, run_context
from tests.seaweed import Cable

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.thorough]


class Kind:
    """One kind of store on its server; `address` is of a share there, `share` the same as readers write it."""

    def __init__(self, scheme: str, server: ModuleType, port: int) -> None:
        self.scheme, self.server, self.port = scheme, server, port
        self.client = server.store_at(port) if scheme == "s3" else server.client(port)
        self.address = f"{scheme}://research_store@research/releases"
        self.share = f"{scheme}://research/releases"
        self.options = server.options(port)
        self.output = {"path": self.share, "conn_id": "research_store"}

    def names(self, job="stays"):
        return {key.partition(f"releases/{job}/")[2] for key in self.client.find(f"research/releases/{job}")}

    def current(self):
        return json.loads(self.client.cat_file("research/releases/stays/current"))["release_id"]


@pytest.fixture(scope="module", params=["s3", "gs", "abfs"])
def running(request, tmp_path_factory):
    starts = {
        "s3": (seaweed, seaweed.seaweed),
        "gs": (fake_gcs, fake_gcs.fake_gcs),
        "abfs": (azurite, azurite.azurite),
    }
    server, start = starts[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # asks by gRPC, which the server does not speak
        with start(tmp_path_factory.mktemp(request.param)) as port:
            yield Kind(request.param, server, port)


@pytest.fixture
def kind(running, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_STORE", running.server.connection(running.port))
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    _STORE_CACHE.clear()
    for key in running.client.find("research"):
        running.client.rm_file(key)
    yield running
    _STORE_CACHE.clear()


def _night(kind, folder, day, **output):
    staged = Staged(folder / f"staging{day}")
    staged.publish({**kind.output, **output}, run_context(day))
    return release_id(run_context(day))


def test_nights_are_published_kept_read_and_recalled(kind, tmp_path):
    first, second, third = (_night(kind, tmp_path, day, keep=2) for day in (1, 2, 3))
    assert kind.current() == third
    assert {name.partition("/")[0] for name in kind.names()} == {second, third, "current"}, first
    ledger = open_ledger()
    found = delivered(ledger, "stays")
    assert (found["files"], found["link"]) == ("matches", "matches")
    entry = ledger.released("stays", third)
    recall(ledger, entry, by="custodian", why="a patient has objected")
    assert {name.partition("/")[0] for name in kind.names()} == {second}
    with pytest.raises(InvalidData, match=r"has neither current nor manifest\.json"):
        airflow_anon.read(f"{kind.share}/stays", storage_options=kind.options)


def test_what_is_changed_or_gone_is_found(kind, tmp_path):
    now = _night(kind, tmp_path, 1)
    data = f"research/releases/stays/{now}/data.parquet"
    released = kind.client.cat_file(data)
    kind.client.pipe_file(data, released[:-1] + bytes([released[-1] ^ 1]))
    assert delivered(open_ledger(), "stays")["files"] == "changed"
    kind.client.rm_file(data)
    assert delivered(open_ledger(), "stays")["files"] == "missing"


def test_an_object_of_a_release_is_not_replaced(kind, tmp_path):
    """Files of a release are new or refused; `current` is replaced; what is not there is told from what fails."""
    place = f"{kind.address}/stays/r1/data.parquet"
    (tmp_path / "first").write_bytes(b"first")
    (tmp_path / "second").write_bytes(b"second")
    object_store.upload(tmp_path / "first", place)
    with pytest.raises(StoreError, match="is there already" if kind.scheme != "s3" else "errno 22"):  # as s3fs says it
        object_store.upload(tmp_path / "second", place)
    assert object_store.content_of(place) == b"first"
    for content in (b"old", b"new"):
        object_store.write(f"{kind.address}/stays/current", content)
    assert object_store.content_of(f"{kind.address}/stays/current") == b"new"
    assert object_store.listed(f"{kind.address}/stays") == {"r1/data.parquet": 5, "current": 3}
    object_store.remove(place)
    object_store.remove(place)
    assert object_store.content_of(place) is None
    assert object_store.sha256_of(place) is None
    assert object_store.listed(f"{kind.address}/other") == {}
    with pytest.raises(StoreError, match="is not there"):
        object_store.download(place, tmp_path / "none")


def test_a_release_of_many_blocks_comes_back_byte_by_byte(kind, tmp_path):
    _night(kind, tmp_path, 1)
    wide = pa.table({"age": ["*"] * 400_000, "diagnosis": [f"{number * 7_919:x}" for number in range(400_000)]})
    Staged(tmp_path / "wide", wide).publish(kind.output, run_context(2))
    assert kind.current() == release_id(run_context(2))
    found = delivered(open_ledger(), "stays")
    assert (found["files"], found["link"]) == ("matches", "matches")


def test_a_container_that_is_missing_holds_up_the_release_and_leaves_no_entry(kind, tmp_path):
    if kind.scheme == "s3":
        pytest.skip("SeaweedFS makes each bucket that is written to")
    with pytest.raises((AirflowException, AirflowFailException), match=r"is not there|cannot be used now"):
        _night(kind, tmp_path, 1, path=f"{kind.scheme}://nowhere/releases")
    assert open_ledger().released("stays", release_id(run_context(1))) is None


def test_a_connection_that_is_lost_leaves_readers_on_the_release_before(kind, tmp_path, monkeypatch):
    yesterday = _night(kind, tmp_path, 1)
    cable = Cable(kind.port)
    monkeypatch.setenv("AIRFLOW_CONN_RESEARCH_STORE", kind.server.connection(cable.port))
    _STORE_CACHE.clear()
    staged = Staged(tmp_path / "today")
    cable.left = 1
    with pytest.raises(AirflowException, match="the store cannot be used now"):
        staged.publish(kind.output, run_context(2))
    assert kind.current() == yesterday
    cable.left = float("inf")
    staged.publish(kind.output, run_context(2))
    cable.close()
    assert kind.current() == release_id(run_context(2))


def test_leftovers_are_told_from_releases(kind, tmp_path):
    now = _night(kind, tmp_path, 1)
    kind.client.pipe_file("research/releases/stays/killed/data.parquet", b"x")
    share = ObjectShare(share=kind.address, name="stays", alone=open_ledger().alone)
    assert share.names() == {now, "killed"}
    assert share.leftovers() == {"killed"}
    share.remove_leftovers("killed")
    assert share.names() == {now}
    share.remove_leftovers(now)
    assert share.names() == {now}
