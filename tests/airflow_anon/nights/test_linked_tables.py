"""The shipped job of linked tables in a real Airflow, on SQLite and PostgreSQL: a release, its entry, and a refusal."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from sqlalchemy import create_engine, text

from airflow_anon.demo.warehouse import direct_identifiers
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.share_check import check_files
from airflow_anon.observe.addresses import Addresses
from airflow_anon.plugin.pages.certificate import certificate
from airflow_anon.plugin.pages.release import release as release_page
from airflow_anon.plugin.reading import Reading
from airflow_anon.plugin.rendering import render_alone
from engine import check_manifest, load_job
from tests.airflow_anon.nights.night import JOBS, found, prepared, release_of, states
from tests.conftest import empty_database

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

JOB = JOBS / "patients_visits_conditions.yaml"
TABLES = ["person", "visit_occurrence", "condition_occurrence"]


def changed(world, change):
    """Write the shipped job, changed, beside its hierarchies."""
    path = world.job("demographics_with_diagnosis").with_name("linked.yaml")
    document = yaml.safe_load(JOB.read_text())
    change(document)
    path.write_text(yaml.safe_dump(document))
    return path


def pseudonyms(document):
    """Let the job release pseudonyms of the persons, by which everybody can join the tables."""
    for table in document["tables"].values():
        table["attributes"]["person_id"] |= {"action": "pseudonymize", "accept": "linked-rows"}


def test_the_tables_are_released_together(world):
    assert_released_together(world)


@pytest.mark.thorough
@pytest.mark.postgres
def test_the_tables_of_postgresql_are_released_together(
    tmp_path, run_dag, monkeypatch, postgres_url, postgres_database
):
    with empty_database(postgres_url) as research:
        assert_released_together(prepared(tmp_path, run_dag, monkeypatch, postgres_database, research))


def assert_released_together(world):
    path = changed(world, pseudonyms)
    run = world.run(path)
    assert run.state == "success"
    assert set(states(run).values()) == {"success"}
    release = release_of(world, path)
    assert {file.name for file in release.iterdir() if file.suffix == ".parquet"} == {f"{t}.parquet" for t in TABLES}
    check_manifest(release)
    job = load_job(path)
    tables = {name: pq.read_table(release / f"{name}.parquet") for name in TABLES}
    assert {name: tuple(one.column_names) for name, one in tables.items()} == job.released_of_tables
    fewest, persons = joined(tables, job)
    assert fewest >= 5
    assert persons < 3_000
    # those of whom records are gone are gone from every table
    people = [set(one["person_id"].to_pylist()) for one in tables.values()]
    assert people[1] <= people[0]
    assert people[2] <= people[1]
    assert rows_of_source(world) > sum(one.num_rows for one in tables.values())
    validation = json.loads((release / "validation.json").read_text())
    assert validation["success"]
    assert any(one["expectation_type"] == "expect_persons_in_each_class" for one in validation["results"])
    assert_recorded(run, release)
    assert_told(world, run)
    for name, table in tables.items():
        assert rows_of_view(world, name, table.column_names) == Counter(zip(*table.to_pydict().values(), strict=True))


def assert_told(world, run):
    """Look at the page and the certificate of the run: they name its tables, and columns with their tables."""
    asked = {"dag_id": run.dag_id, "run_id": run.run_id}
    page = certificate(Reading(open_ledger(), set), asked)
    assert page["valid"]
    assert page["leaves"]["removed"] == []
    assert [one.partition(":")[0] for one in page["leaves"]["pseudonymized"]] == [
        f"{t}.person_id" for t in sorted(TABLES)
    ]
    assert "condition_occurrence.status" in page["leaves"]["generalized"]
    having = {one["attribute"]: one["tables"] for one in page["entry"]["content"]["levels"]}
    assert (having["race"], having["status"]) == (["person"], ["condition_occurrence"])
    told = page["entry"]["content"]["lineage"]["source"]
    assert told["tables"] == [f"{table} (a query)" for table in sorted(TABLES)]
    for name, document in (("certificate", page), ("release", release_page(Reading(open_ledger(), set), asked))):
        text_of_page = render_alone(name, document, Addresses("/deidentification"))
        assert "condition_occurrence" in text_of_page
        (world.folder / f"{name}.html").write_text(text_of_page)


def rows_of_view(world, name, columns):
    engine = create_engine(world.research)
    with engine.connect() as connection:
        view = f"patients_visits_conditions_{name}"
        rows = Counter(map(tuple, connection.execute(text(f"SELECT {', '.join(columns)} FROM {view}"))))
    engine.dispose()
    return rows


def assert_recorded(run, release):
    """One entry of the ledger is of all tables, and its files are those of the share."""
    ledger = open_ledger()
    assert ledger.check() == []
    told = run.get_task_instance("record_attempt").xcom_pull("record_attempt")
    entry = ledger.entry(told["ledger_sequence"])
    document = ledger.document(entry.sequence)
    assert all(one["examples"] and "examples_left_out" not in one for one in document["levels"].values())
    assert entry.outcome == "released"
    assert len([one for one in ledger.entries() if one.run_id == run.run_id]) == 1
    assert {state.state for state in check_files(document)} == {"matches"}
    assert document["job"]["document"] == yaml.safe_load((release / "job.yaml").read_text())
    assert document["source"]["conn_id"] == "clinical_warehouse"
    assert set(document["source"]["tables"]) == set(document["source"]["read"]["tables"]) == set(TABLES)
    assert "table" not in document["levels"]
    assert f"{TABLES[2]}.parquet" in document["publication"]["files"]


def joined(tables, job):
    """Return the fewest persons who share two rows that anybody has, over all tables, and the number of persons."""
    pieces = []
    for name, table in tables.items():
        frame = table.to_pandas().astype(object)
        cells = frame[[column for column in frame if column in job.quasi_identifiers]]
        cells = cells.where(cells.notna(), None)
        pieces.append(pd.DataFrame({"person": frame["person_id"], "cell": [(name, *row) for row in cells.to_numpy()]}))
    shared = Counter()
    persons = 0
    for _, own in pd.concat(pieces).groupby("person")["cell"]:
        cells = sorted(own, key=repr)
        shared.update({part for size in (1, 2) for part in combinations(cells, size)})
        persons += 1
    return min(shared.values()), persons


def rows_of_source(world):
    engine = create_engine(world.warehouse)
    with engine.connect() as connection:
        found = sum(connection.scalar(text(f"SELECT count(*) FROM {name}")) for name in TABLES)
    engine.dispose()
    return found


def test_no_identifier_is_in_the_release_or_left_in_staging(world):
    assert world.run(JOB).state == "success"
    release = release_of(world, JOB)
    names = {name for file in release.glob("*.parquet") for name in pq.read_schema(file).names}
    assert "person_id" not in names
    assert "table" not in names
    needles = {one.encode() for one in direct_identifiers(world.warehouse) if len(one) >= 6}
    assert found(needles, (file.read_bytes() for file in release.iterdir())) == set()
    assert list(world.staging.iterdir()) == []


def test_a_column_that_the_job_does_not_name_in_a_table_ends_the_run(world):
    def widen(document):
        source = document["tables"]["visit_occurrence"]["source"]
        source["query"] = source["query"].replace("SELECT person_id", "SELECT visit_occurrence_id, person_id")

    run = world.run(changed(world, widen))
    assert run.state == "failed"
    assert states(run)["extract"] == "failed"
    assert not (world.share / "patients-visits-conditions").exists()
