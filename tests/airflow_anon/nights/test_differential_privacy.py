"""A night of a differentially private job in a real Airflow: released, validated, published and in the ledger."""

from __future__ import annotations

import collections
import json

import pyarrow.parquet as pq
import pytest

from airflow_anon.ledger.address import open_ledger
from engine import check_manifest
from tests.airflow_anon.nights.night import PERSONS, prepared, release_of, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEM = "demographics_with_diagnosis"
FIXED = {"age": 3, "gender": 0, "race": 1}
K = 24
NOT_SHOWN = ("ethnicity", "zip", "diagnosis")


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


def job(world, **changes):
    def fixed(attributes):
        levels = {
            name: {"minimum_level": level, "maximum_level": level, "unseen": "root"} for name, level in FIXED.items()
        }
        found = {name: {**one, **levels.get(name, {})} for name, one in attributes.items()}
        return {**found, **{name: {"role": "identifying"} for name in NOT_SHOWN}}

    model = {"model": "differential-privacy", "epsilon": 2, "delta": 1e-6, "sampling_fraction": 0.5}
    said = {"privacy": [model], "sample": {"fraction": 0.5}, "suppression_limit": 0.0, "search": {}, "frontier": None}
    return world.job(STEM, attributes=fixed, **said, **changes)


def test_a_night_publishes_large_classes_of_a_sample_and_counts_nothing_else(world):
    path = job(world)
    run = world.run(path)
    assert set(states(run).values()) == {"success"}
    folder = release_of(world, path)
    check_manifest(folder)
    table = pq.ParquetFile(folder / "data.parquet").read()
    sizes = collections.Counter(zip(*(table[name].to_pylist() for name in FIXED), strict=True))
    assert table.column_names == list(FIXED)
    assert min(sizes.values()) >= K
    assert len(sizes) > 5
    assert 0.3 * PERSONS < table.num_rows < 0.6 * PERSONS
    assert json.loads((folder / "validation.json").read_text())["success"] is True
    report = json.loads((folder / "report.json").read_text())
    assert report["sample"] == {"fraction": 0.5, "classes_of_at_least": K}
    (entry,) = [entry for entry in open_ledger().entries() if entry.run_id == run.run_id]
    document = open_ledger().document(entry.sequence)
    assert entry.seconds is None
    assert (document["source"]["fingerprint"], document["timings"]) == (None, None)
    (criterion,) = document["privacy"]
    assert (criterion["model"], criterion["required"], criterion["holds"]) == ("differential-privacy", K, True)


@pytest.mark.thorough
def test_a_night_without_a_large_class_is_refused_in_words_that_tell_no_number(world):
    path = job(world, source={"conn_id": "clinical_warehouse", "query": "SELECT * FROM deid_demographics LIMIT 20"})
    run = world.run(path)
    assert states(run)["deidentify"] == "failed"
    (entry,) = [entry for entry in open_ledger().entries() if entry.run_id == run.run_id]
    document = open_ledger().document(entry.sequence)
    assert entry.outcome == "refused"
    assert "no class has the 24 records of the sample" in document["reason"]["message"]
    assert document["records"]["released"] is None
