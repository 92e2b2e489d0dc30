"""Deliberate harms, end to end: each fails the run with a clear message, releases nothing and leaves no staged data."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import create_engine, text

from airflow_anon.run import staging
from engine import write_manifest
from tests.airflow_anon.nights.night import release_of, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

STEM = "hospital_stays"


def assert_refused(world, run, capfd, failed, *messages):
    """Assert a run that failed in that task, and so in its outcome, with these messages; nothing of it is left."""
    captured = capfd.readouterr()
    log = captured.out + captured.err
    assert run.state == "failed"
    state = states(run)
    assert {task for task, is_in in state.items() if is_in == "failed"} == {failed, "released"}
    assert state["remove_staging"] == "success"
    for message in messages:
        assert message in log
    assert world.left() == []
    assert world.tables() == []
    return log


def test_criteria_that_nothing_can_meet(world, capfd):
    path = world.impossible_stays()
    run = world.run(path)
    assert_refused(
        world,
        run,
        capfd,
        "deidentify",
        "NoSolution: no transformation of the",
        "satisfies 1000000-anonymity while suppressing at most 0% of its records",
        "than the 1000000 that a class must have; use a weaker model",
    )


def tampered(dag, harm):
    """Run `harm(release folder)` between de-identification and validation."""
    from airflow.sdk import task  # noqa: PLC0415 (needs the environment)

    @task
    def tamper(release):
        harm(Path(release))

    with dag:
        dag.get_task("deidentify") >> tamper(dag.get_task("deidentify").output["release"]) >> dag.get_task("validate")


def flip_a_byte(release):
    content = bytearray((release / "data.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (release / "data.parquet").write_bytes(content)


def add_a_file(release):
    (release / "mrn.csv").write_text("for later")


def forge(release):
    """Change the data and write a manifest that fits it."""
    table = pq.ParquetFile(release / "data.parquet").read()
    pq.write_table(table.slice(1), release / "data.parquet")
    write_manifest(release, {"name": "hospital-stays"})


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        pytest.param(
            flip_a_byte,
            "data.parquet: does not match manifest.json; the file was changed",
            marks=pytest.mark.thorough,
        ),
        pytest.param(add_a_file, "files and manifest.json differ in mrn.csv", marks=pytest.mark.thorough),
        (forge, "manifest.json is not the one that was written; the folder was changed"),
    ],
)
def test_output_changed_before_validation(world, capfd, harm, message):
    run = world.run(world.job(STEM), alter=lambda dag: tampered(dag, harm))
    assert_refused(world, run, capfd, "validate", message)


def test_output_changed_after_validation(world, capfd):
    def alter(dag):
        from airflow.sdk import task  # noqa: PLC0415 (needs the environment)

        @task
        def tamper(release):
            flip_a_byte(Path(release))

        with dag:
            dag.get_task("validate") >> tamper(dag.get_task("deidentify").output["release"]) >> dag.get_task("publish")

    run = world.run(world.job(STEM), alter=alter)
    assert_refused(world, run, capfd, "publish", "is not the release that was made in this run")


def test_a_value_without_a_hierarchy_entry(world, capfd):
    """The message counts the records and names the column; the value itself stays out of it."""
    changed = "CASE WHEN gender = 'U' THEN 'Q-undisclosed' ELSE gender END AS gender"
    others = "mrn, admission_date, length_of_stay, age, zip, diagnosis, discharge_disposition"
    query = f"SELECT {others}, {changed} FROM deid_hospital_stays"
    path = world.job(STEM, source={"conn_id": "clinical_warehouse", "query": query})
    log = assert_refused(world, world.run(path), capfd, "deidentify", "InvalidData", "'gender'")
    explained = [line for line in log.splitlines() if "InvalidData" in line]
    assert explained
    assert not any("Q-undisclosed" in line for line in explained)


def test_a_column_the_job_does_not_name(world, capfd):
    query = "SELECT *, 1 AS phone_number FROM deid_hospital_stays"
    path = world.job(STEM, source={"conn_id": "clinical_warehouse", "query": query})
    assert_refused(world, world.run(path), capfd, "extract", "'phone_number'")


def test_a_missing_connection(world, capfd):
    path = world.job(STEM, source={"conn_id": "nowhere", "table": "deid_hospital_stays"}, dag={"retries": 0})
    assert_refused(world, world.run(path), capfd, "extract", "nowhere")


def test_a_share_that_is_not_there_leaves_no_current_release(world, capfd):
    """The table is switched before `current`: without the database the folder names no release."""
    output = {"path": "share", "conn_id": "nowhere", "table": "stays"}
    run = world.run(world.job(STEM, output=output, dag={"retries": 0}))
    assert run.state == "failed"
    assert states(run)["publish"] == "failed"
    assert "nowhere" in capfd.readouterr().out
    assert not (world.share / "hospital-stays" / "current").exists()
    assert list(world.staging.iterdir()) == []


def test_an_empty_table(world, capfd):
    query = "SELECT * FROM deid_hospital_stays WHERE 1 = 0"
    path = world.job(STEM, source={"conn_id": "clinical_warehouse", "query": query})
    assert_refused(world, world.run(path), capfd, "extract", "is empty")


def test_missing_values_where_the_job_refuses_them(world, capfd):
    engine = create_engine(world.warehouse)
    with engine.connect() as connection:
        missing = connection.execute(text("SELECT count(*) FROM deid_hospital_stays WHERE zip IS NULL")).scalar_one()
    engine.dispose()
    assert missing > 0

    def refusing(attributes):
        attributes["zip"]["nulls"] = "error"
        return attributes

    path = world.job(STEM, attributes=refusing)
    assert_refused(world, world.run(path), capfd, "deidentify", "InvalidData", "'zip'")


def test_a_staging_area_others_can_read(world, capfd):
    """Nothing is extracted; there is nothing to remove either, and the base stays as it was found."""
    world.staging.mkdir(mode=0o755)
    run = world.run(world.job(STEM))
    assert run.state == "failed"
    assert states(run)["prepare_staging"] == "failed"
    assert states(run)["extract"] == "upstream_failed"
    assert "must have mode 0700" in capfd.readouterr().out
    assert list(world.staging.iterdir()) == []
    assert world.tables() == []


def test_staging_that_cannot_be_removed_fails_the_run(world, monkeypatch, capfd):
    """Everything was published and yet the run is not green: patient data is left behind."""

    def stuck(folder, base):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(staging, "remove", stuck)
    path = world.job(STEM, dag={"retries": 0})
    run = world.run(path)
    assert run.state == "failed"
    assert states(run)["released"] == "success"
    assert states(run)["remove_staging"] == "failed"
    assert "Device or resource busy" in capfd.readouterr().out


def test_a_failed_night_leaves_the_last_release_current(world, capfd):
    path = world.job(STEM)
    world.run(path)
    before = release_of(world, path)
    tables = world.tables()
    run = world.run(path, alter=lambda dag: tampered(dag, flip_a_byte))
    assert run.state == "failed"
    assert release_of(world, path) == before
    assert json.loads((before / "validation.json").read_text())["success"] is True
    assert [folder for folder in before.parent.iterdir() if not folder.is_symlink()] == [before]
    assert world.tables() == tables
