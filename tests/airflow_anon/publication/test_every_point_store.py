"""Wherever a publication into an object store is killed: readers stay on a whole release, and what follows ends it.

The store is a folder, so that it outlives the killed process, and each change of an object is a point.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_anon.ledger.address import open_ledger
from tests.airflow_anon.publication.killing import killed_at, points_of
from tests.airflow_anon.publication.test_every_point import OUTPUTS, World, complete, readers_are_safe
from tests.airflow_anon.share.store_in_folder import attached

pytestmark = pytest.mark.slow


class StoreWorld(World):
    """The same with a share in a store."""

    def __init__(self, folder, monkeypatch):
        monkeypatch.setitem(OUTPUTS, "store", lambda _: {"path": "s3://bucket/research", "conn_id": "store"})
        folder.mkdir()
        self.store = attached(monkeypatch, folder / "objects")
        super().__init__(folder, "store", monkeypatch)
        self.output = {"path": "s3://bucket/research", "conn_id": "store"}

    @property
    def stays(self):
        return self.folder / "objects/bucket/research/stays"

    def named(self):
        return json.loads((self.stays / "current").read_text())["release_id"]


@pytest.fixture
def world(tmp_path, monkeypatch):
    return StoreWorld(tmp_path / "world", monkeypatch)


@pytest.mark.parametrize("end", [pytest.param("retry", marks=pytest.mark.thorough), "settle"])
def test_a_killed_publication_is_ended(world, end):
    points = points_of(world.publish, world.folder)
    complete(world)
    assert len(points) > 12
    outcomes = set()
    for point in points:
        world.reset()
        assert killed_at(point, world.publish)
        readers_are_safe(world)
        outcome = world.settle()["outcome"] if end == "settle" else (world.publish(), "released")[1]
        outcomes.add(outcome)
        if outcome == "released":
            complete(world)
        else:
            assert not world.exists()
            assert world.entry() is None
            assert not world.is_current()
        assert world.nothing_is_left_over()
        assert [entry.outcome for entry in open_ledger().of_job("stays")] == [outcome, "released"]
    assert outcomes == ({"released", "failed"} if end == "settle" else {"released"})


@pytest.mark.parametrize("is_done", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_lost_connection_leaves_readers_where_they_were(world, is_done):
    """Each operation fails once, before or after the store has done it; the retry completes the release."""
    world.publish()
    operations = 0
    while True:
        world.reset()
        operations += 1
        left = operations

        def lost(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise ConnectionResetError

        world.store.fail(lost, after=is_done)
        with contextlib.suppress(AirflowException):  # an audit or a clean-up that fails does not end the publication
            world.publish()
        world.store.fail(None)
        readers_are_safe(world)
        if left > 0:  # all operations were tried
            break
        world.publish()
        complete(world)
        assert world.nothing_is_left_over()
    assert operations > 15
