"""Drift in a real Airflow: a night whose table is not like the last one is refused, until somebody accepts it."""

from __future__ import annotations

import json
import re
import stat
from datetime import datetime, timezone

import pyarrow.parquet as pq
import pytest

from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger import form
from airflow_anon.ledger.address import open_ledger
from airflow_anon.plugin.pages.remedies import remedies
from engine.cli import main
from tests.airflow_anon.nights.night import prepared, release_of, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]
STEM = "demographics_with_diagnosis"
ALL = "SELECT * FROM deid_demographics"
HALF = f"{ALL} WHERE zip < '02139'"
STRANGE = (
    "SELECT mrn, given_name, family_name, age, race, ethnicity, zip, diagnosis, "
    "CASE WHEN CAST(age AS INTEGER) = 47 THEN 'Zzyzx' ELSE gender END AS gender FROM deid_demographics "
    "WHERE zip < '02139'"
)


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, own_warehouse):
    return prepared(tmp_path, run_dag, monkeypatch, own_warehouse, f"sqlite:///{tmp_path}/out.db")


def job(world, query):
    """Write the job of a night over what a query gives."""

    def attributes(written):
        return {**written, "gender": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}}

    return world.job(
        STEM,
        source={"conn_id": "clinical_warehouse", "query": query},
        attributes=attributes,
        suppression_limit=0.2,
        drift={
            "facts": str(world.folder / "private/facts.json"),
            "least_records": 0.9,
            "new_values": {"gender": "quarantine"},
        },
        dag=lambda settings: {**settings, "retries": 0},
    )


def night(world, query):
    """Run a night over what a query gives; give the run and the ledger's document of it."""
    path = job(world, query)
    run = world.run(path)
    ledger = open_ledger()
    return path, run, form.read(ledger.document(ledger.entries(limit=1)[0].sequence))


def test_nights_that_drift(world):
    facts = world.folder / "private/facts.json"
    path, run, document = night(world, ALL)
    assert set(states(run).values()) == {"success"}
    assert document.drift.since is None
    remembered = facts.read_text()
    assert stat.S_IMODE(facts.stat().st_mode) == 0o600
    first = release_of(world, path)

    path, run, document = night(world, HALF)
    assert (document.outcome, document.reason.error) == ("refused", "ReleaseRefused")
    assert "less than 0.9 of its records" in document.reason.message
    assert "drift accept" in remedies(document)[-1]["what"]
    assert release_of(world, path) == first
    assert facts.read_text() == remembered
    difference = re.search(r"--difference ([0-9a-f]{16})", document.reason.message)[1]

    assert accept(path, "0" * 16) == 2
    assert accept(path, difference, "--comment=half of the clinics moved out", "--by=C. Custodian") == 0
    path, run, document = night(world, HALF)
    assert set(states(run).values()) == {"success"}
    told = document.drift.accepted.model_dump()
    assert (told["difference"], told["by"], told["comment"]) == (
        difference,
        "C. Custodian",
        "half of the clinics moved out",
    )
    assert told["differences"][0] == "it has less than 0.9 of its records (drift.least_records)"
    second = release_of(world, path)
    assert json.loads((second / "report.json").read_text())["drift"]["accepted"] == told
    assert facts.read_text() != remembered
    assert [file.name for file in facts.parent.iterdir()] == ["facts.json"]
    assert accept(path, difference) == 2, "it was used"

    remembered = facts.read_text()
    path, run, document = night(world, STRANGE)
    assert set(states(run).values()) == {"success"}
    assert (document.drift.quarantined, document.drift.accepted) == (["gender"], None)
    assert document.drift.since == json.loads(remembered)["made"]
    release = release_of(world, path)
    assert release not in {first, second}
    assert "Zzyzx" not in pq.read_table(release / "data.parquet").column("gender").to_pylist()
    assert not any(b"Zzyzx" in file.read_bytes() for file in release.iterdir() if file.suffix == ".json")
    assert facts.read_text() != remembered
    assert not any("staging" in name for name in world.left())


def test_a_run_that_is_cleared_after_the_source_has_changed_remembers_what_it_released(world, monkeypatch):
    monkeypatch.setattr("airflow_anon.run.release_id.run_digest", lambda *_: "0a1b2c3d")
    facts = world.folder / "private/facts.json"
    day = datetime(2026, 3, 1, tzinfo=timezone.utc)

    def cleared(query):
        """Run the night of that day, whose release has the same id each time, as that of a run that is cleared."""
        run = world.run_dag(deidentification_dag(job(world, query), schedule=None), logical_date=day)
        assert set(states(run).values()) == {"success"}
        return facts.read_text()

    remembered = cleared(ALL)
    first = release_of(world, job(world, ALL))
    assert cleared(f"{ALL} WHERE CAST(age AS INTEGER) <> 47") == remembered
    assert release_of(world, job(world, ALL)) == first
    assert [entry.outcome for entry in open_ledger().entries()] == ["released"]


def accept(path, difference, *further):
    """Run the command as somebody would who read the refusal; return its status."""
    return main(["drift", "accept", str(path), f"--difference={difference}", *further])
