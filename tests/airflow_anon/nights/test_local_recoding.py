"""A night of a job with local recoding in a real Airflow: released, validated, published and in the ledger."""

from __future__ import annotations

import collections
import json

import pyarrow.parquet as pq
import pytest

from airflow_anon.ledger.address import open_ledger
from engine import check_manifest
from tests.airflow_anon.nights.night import prepared, release_of, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEM = "demographics_with_diagnosis"
QUASI = ("age", "gender", "race", "ethnicity", "zip")
K = 11


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


def test_a_night_releases_records_at_levels_of_their_own(world):
    privacy = [{"model": "k-anonymity", "k": K}]
    path = world.job(STEM, transformation="local-recoding", privacy=privacy, suppression_limit=0.0)
    run = world.run(path)
    assert set(states(run).values()) == {"success"}
    folder = release_of(world, path)
    check_manifest(folder)
    report = json.loads((folder / "report.json").read_text())
    shares = report["solution"]["shares"]
    assert report["solution"]["levels"] is None
    assert all(sum(of_level) == pytest.approx(1, abs=0.05) for of_level in shares.values())
    assert sum(share > 0 for share in shares["age"]) > 1
    table = pq.ParquetFile(folder / "data.parquet").read()
    sizes = collections.Counter(zip(*(table[name].to_pylist() for name in QUASI), strict=True))
    assert min(sizes.values()) >= K
    assert json.loads((folder / "validation.json").read_text())["success"] is True
    assert STEM in world.tables()
    (entry,) = [entry for entry in open_ledger().entries() if entry.run_id == run.run_id]
    document = open_ledger().document(entry.sequence)
    assert {name: one["shares"] for name, one in document["levels"].items()} == shares
    assert all(one["examples"] and "examples_left_out" not in one for one in document["levels"].values())
