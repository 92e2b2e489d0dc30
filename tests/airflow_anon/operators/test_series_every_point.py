"""Wherever a night of a series is killed in Airflow's tasks, vault, share and ledger agree after the retry.

The task is forked and ends, without any clean-up: before lines of what writes the vault and the ledger's part in it.
The vault is a file, or in a database by its connection: then the points are those of what reads and writes it, since
what publishes is the same. Each point is in a night of its own, of 0.4 seconds of CPU time or more, from which the next
one goes on.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import airflow_anon
import engine
from airflow_anon.ledger.address import open_ledger
from airflow_anon.publication.series import compared_with_ledger
from airflow_anon.run.release_id import release_id
from engine import load_job
from tests.airflow_anon.operators.test_series import PEOPLE, world  # noqa: F401 (a fixture)
from tests.airflow_anon.publication.killing import killed_at, points_of
from tests.engine.series.nights import patients
from tests.reference import traces

VAULT = tuple(
    str(Path(package.__file__).resolve().parent / name)
    for package, name in (
        (engine, "series/vault"),
        (airflow_anon, "publication/series.py"),
        (airflow_anon, "transport/series_vault.py"),
    )
)
PUBLISHING = tuple(
    str(Path(airflow_anon.__file__).resolve().parent / f"publication/{name}.py") for name in ("publish", "pending_row")
)
MEMORY = 4


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("task", ["deidentify", "publish"])
def test_vault_share_and_ledger_agree_wherever_a_task_was_killed(world, task):  # noqa: F811
    parts = VAULT if "vault_conn_id" in world.job["series"] else (*VAULT, *PUBLISHING)
    day, seen = 1, [world.seen(world.night(1, PEOPLE))]

    def work():
        if task == "deidentify":
            return lambda: world.deidentify(day, people)
        made = world.deidentify(day, people)
        validated = world.validate(day, made)
        return lambda: world.publish(day, made, validated)

    people, day = dict(PEOPLE), 2
    if task == "deidentify":
        points = points_of(work(), world.folder, parts=parts)
        seen.append(world.seen(world.night(day, people)))
    else:
        made = world.deidentify(day, people)
        validated, published = world.validate(day, made), []
        points = points_of(lambda: published.append(world.publish(day, made, validated)), world.folder, parts=parts)
        seen.append(world.seen(published[0]))
    assert len(points) > 5
    for number, point in enumerate(points):
        day += 1
        people.pop(number % 60, None)
        people |= patients(1, seed=number, begin=100 + number)
        todo = work()
        assert killed_at(point, todo, parts)
        seen.append(world.seen(todo() if task == "publish" else world.night(day, people)))
        known = world.known()
        assert {one.state for one in known} == {"confirmed"}
        assert open_ledger().released("patients", known[-1].release_id) is not None
        assert known[-1].release_id == release_id(world.context(day))
        assert known[-1].release_id in compared_with_ledger(load_job(world.job), open_ledger())
        assert traces.smallest(seen[-MEMORY:]) >= 3
