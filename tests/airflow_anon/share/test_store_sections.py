"""A share in a store with a series, further formats, linked tables or an approval: as in a folder."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest

from airflow_anon.ledger.address import open_ledger
from airflow_anon.run.refusal import ReleaseRefused
from engine import run
from engine.formats import csv_file
from tests.airflow_anon.operators import test_series
from tests.airflow_anon.publication import publishing
from tests.airflow_anon.share.store_in_folder import SHARE, attached
from tests.engine import linked_jobs
from tests.engine.series.nights import in_file


@pytest.fixture
def objects(tmp_path, monkeypatch):
    """Give the folder of what is in the store below the share."""
    monkeypatch.setenv("AIRFLOW_ANON_LEDGER", f"sqlite:///{tmp_path}/ledger.sqlite")
    attached(monkeypatch, tmp_path / "objects")
    return tmp_path / "objects/bucket/research"


def test_nights_of_a_series_with_further_formats(tmp_path, objects):
    """Vault, store and ledger agree on each night, and a person of both nights is in the same class as before."""
    world = test_series.World(tmp_path, {"vault": str(tmp_path / "vault.sqlite")})
    world.job["output"] = {"path": SHARE, "formats": ["parquet", "csv", "sav"]}
    seen = []
    for day in (1, 2):
        world.night(day, test_series.PEOPLE)
        current = json.loads((objects / "patients/current").read_text())["release_id"]
        folder = objects / "patients" / current
        assert {"data.parquet", "data.csv", "data.sav"} <= set(
            json.loads((folder / "manifest.json").read_text())["files"]
        )
        assert not csv_file.differ(folder / "data.parquet", folder / "data.csv", [])
        assert len(pd.read_spss(folder / "data.sav")) == pq.read_metadata(folder / "data.parquet").num_rows
        seen.append(in_file(pq.ParquetFile(folder / "data.parquet").read()))
        assert world.known()[-1].release_id == current
        assert open_ledger().current("patients").release_id == current
    assert [one.state for one in world.known()] == ["confirmed", "confirmed"]
    assert seen[0].keys() == seen[1].keys()


def test_a_release_that_waits_for_approval_is_not_in_the_store(tmp_path, objects):
    staged = publishing.Staged(tmp_path / "staging")
    job = {**publishing.job({"path": SHARE}), "approval": {"by": ["custodian"]}}
    with pytest.raises(ReleaseRefused, match="approv"):
        staged.publish(None, job=job)
    assert list(objects.parent.rglob("*")) == []


def test_each_of_several_tables_has_its_object(tmp_path, objects):
    job = linked_jobs.job(output={"path": SHARE})
    (tmp_path / "staging").mkdir()
    run(job, linked_jobs.tables_of(60, seed=1), output=tmp_path / "staging/release")
    (tmp_path / "staging/validation.json").write_text(json.dumps(publishing.VALIDATION))
    staged = publishing.Staged.there(tmp_path / "staging")
    staged.publish(None, job=job)
    current = json.loads((objects / "linked/current").read_text())["release_id"]
    for name in linked_jobs.COLUMNS:
        there = pq.ParquetFile(objects / "linked" / current / f"{name}.parquet").read()
        assert there.equals(pq.ParquetFile(staged.release / f"{name}.parquet").read())
