"""How many releases stay in a share, and where that has no meaning."""

from __future__ import annotations

import pandas as pd
import pytest

from engine import InvalidJob, load_job, run
from tests.engine.jobs import changed


@pytest.mark.parametrize("keep", [0, -1, 2.5, "30 nights"])
def test_a_number_of_releases(keep):
    with pytest.raises(InvalidJob, match=r"output\.keep"):
        load_job(changed(["output", "keep"], keep))


def test_a_table_has_one_release():
    with pytest.raises(InvalidJob, match="keep: is of the releases in a path"):
        load_job(changed(["output"], {"conn_id": "share", "table": "stays", "keep": 30}))


def test_a_run_that_replaces_one_folder_has_nothing_to_keep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = {
        "name": "people",
        "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "output": {"path": "release", "keep": 30},
    }
    table = pd.DataFrame({"age": ["20", "20", "30", "30"]})
    with pytest.raises(InvalidJob, match=r"output\.keep: only a share of Airflow has several releases"):
        run(job, table)
    assert not (tmp_path / "release").exists()
    run(job, table, output="other")
    assert (tmp_path / "other/data.parquet").is_file()
