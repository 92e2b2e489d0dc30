"""A night inside the warehouse: the release arrives in its table, and no record is written anywhere else."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_anon.jobs import deidentification_dag
from airflow_anon.ledger.address import open_ledger
from airflow_anon.ledger.cli import main
from airflow_anon.ledger.form_publication import Content
from airflow_anon.ledger.table_check import read_table
from airflow_anon.plugin.pages.certificate import certificate
from airflow_anon.plugin.pages.release import release
from airflow_anon.plugin.reading import Reading
from airflow_anon.run.check_only import CHECK_ONLY
from airflow_anon.transport.fingerprint_key import fingerprint_key
from engine import load_job
from tests.airflow_anon.nights.night import connection_of, prepared, states
from tests.conftest import role_without_rights
from tests.profiles import spread

pytestmark = [pytest.mark.airflow, pytest.mark.postgres]

TASKS = {
    "prepare_staging",
    "deidentify",
    "validate",
    "publish",
    "record_attempt",
    "released",
    "remove_staging",
}
TABLE = "research.hospital_stays"


@pytest.fixture
def world(tmp_path, run_dag, monkeypatch, postgres_database):
    """Give the world of a night whose source and share are in one PostgreSQL database."""
    found = prepared(tmp_path, run_dag, monkeypatch, postgres_database, postgres_database)
    run_statements(found, "CREATE SCHEMA research")
    return found


@pytest.fixture
def job(world):
    """Give the path of a job inside the warehouse, which is not tried again."""
    return job_of(world)


def job_of(world, **changes):
    return world.job(
        "hospital_stays",
        backend="sql",
        output=lambda _: {"conn_id": "clinical_warehouse", "table": TABLE},
        dag=lambda settings: {**settings, "retries": 0},
        **changes,
    )


def run_statements(world, *statements):
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    with engine.begin() as connection:
        return [connection.exec_driver_sql(one) for one in statements]


def rows(world, statement):
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


def tables(world):
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    return sorted(sa.inspect(engine).get_table_names(schema="research"))


def test_a_release_arrives_in_the_table_and_nowhere_else(world, job):
    run = world.run(job)
    assert run.state == "success", [open_ledger().document(one.sequence)["reason"] for one in open_ledger().entries()]
    assert states(run) == dict.fromkeys(TASKS, "success")
    assert tables(world) == ["hospital_stays", "hospital_stays_release"]
    assert world.left() == []
    loaded = load_job(job)
    (entry,) = open_ledger().entries()
    document = open_ledger().document(entry.sequence)
    assert document["outcome"] == "released"
    columns = ", ".join(loaded.quasi_identifiers)
    classes = Counter(rows(world, f"SELECT {columns} FROM {TABLE}"))
    suppressed = classes.pop(("*",) * len(loaded.quasi_identifiers), 0)
    assert min(classes.values()) >= loaded.minimum_class_size
    assert suppressed <= loaded.suppression_limit * (suppressed + classes.total())
    # what readers get is what the ledger says
    content = document["publication"]["table"]["content"]
    assert content["method"] == "sorted"
    assert read_table("clinical_warehouse", TABLE, Content.model_validate(content)).sha256 == content["sha256"]
    assert all(one["examples"] and "examples_left_out" not in one for one in document["levels"].values())
    assert document["source"]["fingerprint"]
    # one key, and fingerprints of another kind than those of extracted sources
    assert document["hierarchies"]["key_id"] == fingerprint_key().id != document["source"]["fingerprint_key_id"]
    assert document["validation"]["success"] is True
    place = {"dag_id": run.dag_id, "run_id": run.run_id}
    page = release(Reading(open_ledger(), set), place)["entry"]
    assert page["content"] is not None
    assert page["delivery"]["verdict"] == "intact"
    filed = certificate(Reading(open_ledger(), set), place)
    assert (filed["valid"], filed["objections"]) == (True, [])
    ledger = os.environ["AIRFLOW_ANON_LEDGER"]
    assert main(["verify", "--files", "--ledger", ledger]) == 0
    run_statements(
        world, f"UPDATE {TABLE} SET discharge_disposition = 'x' WHERE ctid = (SELECT min(ctid) FROM {TABLE})"
    )
    assert main(["verify", "--files", "--ledger", ledger]) == 4


def test_a_check_says_what_a_release_would_be_and_makes_no_table(world, job):
    """Neither a table nor an entry is left, and no file of records is written."""
    dag = deidentification_dag(job, schedule=None)
    run = world.run_dag(dag, logical_date=None, run_conf={CHECK_ONLY: True})
    assert run.state == "success"
    assert {states(run)[task] for task in ("deidentify", "validate", "publish", "record_attempt")} == {"skipped"}
    told = "\n".join(run.get_task_instance("prepare_staging").xcom_pull("prepare_staging", key="check"))
    for word in ("suppressed", "loss", "nothing: this was a check"):
        assert word in told
    assert (tables(world), world.left()) == ([], [])
    assert not (open_ledger().exists() and list(open_ledger().entries()))


def reason(run):
    """Give the outcome and the reason of the only entry of a run."""
    (entry,) = [entry for entry in open_ledger().entries() if entry.run_id == run.run_id]
    document = open_ledger().document(entry.sequence)
    return document["outcome"], document["reason"]


def after(task, do):
    """Return a change of the DAG: `do` something when a task has done its work, before it is over."""

    def altered(dag):
        dag.get_task(task)._post_execute_hook = lambda *_: do()

    return altered


def fail():
    raise AirflowFailException("it failed")


def waiting(world):
    """Name the table that waits to be published."""
    (made,) = [name for name in tables(world) if name.startswith("load_") and not name.endswith("_people")]
    return made


@pytest.mark.parametrize("task", spread(["deidentify", "validate"], 1))
def test_a_night_that_ends_in_any_task_leaves_nothing(world, job, task):
    """What the task has made by then is taken back."""
    made = []

    def end():
        made.append(waiting(world))
        fail()

    run = world.run(job, alter=after(task, end))
    assert run.state == "failed"
    assert len(made) == 1
    assert states(run)["record_attempt"] == "success"
    outcome, why = reason(run)
    assert (outcome, why["task"]) == ("failed", task)
    assert tables(world) == []
    assert world.left() == []


@pytest.mark.parametrize("task", spread(["validate", "deidentify"], 1))
def test_a_night_that_is_killed_in_any_task_leaves_nothing(world, job, task):
    """Without a word, as where the process is killed when its table is there."""

    def die():
        assert waiting(world)
        raise SystemExit(-signal.SIGKILL)

    run = world.run(job, alter=after(task, die))
    assert run.state == "failed"
    assert reason(run)[0] == "failed"
    assert tables(world) == []
    assert world.left() == []


def test_a_night_that_ends_when_its_release_is_there_is_recorded(world, job):
    run = world.run(job, alter=after("publish", fail))
    assert states(run)["publish"] == "failed"
    (entry,) = open_ledger().entries()
    assert entry.outcome == "released"
    assert tables(world) == ["hospital_stays", "hospital_stays_release"]
    assert world.left() == []


def test_a_release_that_is_changed_before_it_is_published_is_not_published(world, job):
    """The table that was made is bound to its documents by its content."""

    def change():
        run_statements(world, f"UPDATE research.{waiting(world)} SET zip = '99999' WHERE ctid = '(0,1)'")

    run = world.run(job, alter=after("validate", change))
    assert run.state == "failed"
    outcome, why = reason(run)
    assert (outcome, why["task"]) == ("failed", "publish")
    assert "is not the release made in the warehouse, somebody changed it" in why["message"]
    assert tables(world) == ["hospital_stays_release"]
    assert rows(world, f"SELECT count(*) FROM {TABLE}_release") == [(0,)]


def test_a_release_that_is_changed_before_it_is_validated_is_not_validated(world, job):
    def change():
        run_statements(world, f"DELETE FROM research.{waiting(world)} WHERE ctid = '(0,1)'")

    run = world.run(job, alter=after("deidentify", change))
    outcome, why = reason(run)
    assert (outcome, why["task"]) == ("failed", "validate")
    assert "somebody changed it" in why["message"]
    assert tables(world) == []


def test_readers_keep_their_privileges_and_see_nothing_before_it_is_published(world, job):
    """New tables are closed to those who get privileges on every new one; the release is not."""
    reader = f"reader_{os.getpid()}"
    run_statements(
        world,
        f"CREATE ROLE {reader}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA research GRANT SELECT ON TABLES TO {reader}",
    )
    may = "SELECT has_table_privilege('{}', 'research.{}', 'SELECT')"
    seen, staged = [], []

    def look():
        seen.extend(rows(world, may.format(reader, waiting(world))))
        staged.extend(Path(name).name for name in world.left())

    try:
        assert world.run(job, alter=after("deidentify", look)).state == "success"
        assert seen == [(False,)]
        assert {name for name in staged if "." in name} == {
            ".hospital-stays.run.json",
            "counted.json",
            "job_read.json",
            "job.yaml",
            "manifest.json",
            "report.json",
            "table.json",
        }
        assert rows(world, may.format(reader, "hospital_stays")) == [(True,)]
        run_statements(
            world,
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA research REVOKE SELECT ON TABLES FROM {reader}",
            f"COMMENT ON TABLE {TABLE} IS 'for research'",
        )
        # another night, into the same table
        assert world.run(job).state == "success"
        assert rows(world, may.format(reader, "hospital_stays")) == [(True,)]
        assert rows(world, f"SELECT obj_description('{TABLE}'::regclass)") == [("for research",)]
        assert rows(world, f"SELECT count(*) FROM {TABLE}_release") == [(2,)]
    finally:
        run_statements(world, f"DROP OWNED BY {reader}", f"DROP ROLE {reader}")


def test_a_role_that_reads_one_view_and_creates_in_one_schema_makes_a_night(world, job, monkeypatch):
    """From counting to publishing: it may read no table of patients, and make no temporary one."""
    role = f"nightly_{os.getpid()}"
    url = sa.make_url(world.warehouse)
    run_statements(
        world,
        f"CREATE ROLE {role} LOGIN",
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
        f'REVOKE TEMPORARY ON DATABASE "{url.database}" FROM PUBLIC',
        f"GRANT USAGE ON SCHEMA public TO {role}",
        f"GRANT SELECT ON deid_hospital_stays TO {role}",
        f"GRANT USAGE, CREATE ON SCHEMA research TO {role}",
    )
    monkeypatch.setenv("AIRFLOW_CONN_CLINICAL_WAREHOUSE", connection_of(str(url.set(username=role))))
    try:
        run = world.run(job)
        assert run.state == "success", [
            open_ledger().document(one.sequence)["reason"] for one in open_ledger().entries()
        ]
        assert tables(world) == ["hospital_stays", "hospital_stays_release"]
    finally:
        run_statements(world, f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


def test_a_job_that_cannot_be_met_is_refused_and_leaves_nothing(world):
    path = job_of(world, privacy=[{"model": "k-anonymity", "k": 1_000_000}], suppression_limit=0)
    run = world.run(path)
    assert run.state == "failed"
    assert reason(run)[0] == "refused"
    assert tables(world) == []
    assert world.left() == []


def test_a_table_whose_key_no_release_can_meet_is_refused_before_anything_is_counted(world, job):
    loaded = load_job(job)
    columns = ", ".join(f"{name} text" for name in loaded.released)
    run_statements(world, f"CREATE TABLE {TABLE} ({columns}, CONSTRAINT own UNIQUE ({loaded.quasi_identifiers[0]}))")
    checked = world.run_dag(deidentification_dag(job, schedule=None), logical_date=None, run_conf={CHECK_ONLY: True})
    assert states(checked)["prepare_staging"] == "failed"
    run = world.run(job)
    assert states(run)["deidentify"] == "failed"
    assert "its key 'own' (UNIQUE, PRIMARY KEY or EXCLUDE) is of quasi-identifiers alone" in str(reason(run)[1])
    assert (tables(world), world.left()) == (["hospital_stays"], [])


GIVES_AWAY = """
CREATE FUNCTION give_away() RETURNS event_trigger LANGUAGE plpgsql AS $$DECLARE made record; BEGIN
FOR made IN SELECT oid::regclass AS name FROM pg_class WHERE starts_with(relname, 'load_') AND relkind = 'r'
AND relowner <> '{role}'::regrole LOOP EXECUTE 'ALTER TABLE ' || made.name || ' OWNER TO {role}'; END LOOP; END$$
"""


@pytest.mark.parametrize("tag", ["CREATE TABLE", "REVOKE"])
def test_what_an_event_trigger_gives_to_others_never_waits_for_its_publication(world, job, tag):
    """Also where it gives away once others were shut out, which is the last statement before all is committed."""
    engine = sa.create_engine(world.warehouse, poolclass=sa.NullPool)
    with role_without_rights(engine) as (role, _):
        run_statements(
            world,
            "ALTER DEFAULT PRIVILEGES IN SCHEMA research GRANT SELECT ON TABLES TO PUBLIC",
            GIVES_AWAY.format(role=role),
            f"CREATE EVENT TRIGGER give_away ON ddl_command_end WHEN TAG IN ('{tag}') EXECUTE FUNCTION give_away()",
        )
        run = world.run(job)
        assert states(run)["deidentify"] == "failed"
        assert f"belongs to {role}, whose members could read and change" in str(reason(run)[1])
        assert (tables(world), world.left()) == ([], [])
        run_statements(world, "DROP EVENT TRIGGER give_away")


PERSONS = {
    "any-row": {"subject": "mrn"},
    "some-rows": {"subject": "mrn", "knows": {"rows": 2}, "max_rows": 3},
    "all-rows": {"subject": "mrn", "knows": "all-rows", "max_rows": 1},
}


def of_persons(name):
    """Return the keys of a job that counts persons."""
    return {"unit": None, "suppression_limit": 0.5, **PERSONS[name]}


@pytest.mark.parametrize(
    "name", ["some-rows", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("any-row", "all-rows"))]
)
def test_persons_are_counted_and_their_numbers_are_gone_with_the_night(world, name):
    """The second judge counts them in a table of its own, which is there until the release is published."""
    path = job_of(world, **of_persons(name))
    seen = []

    def look():
        (made,) = [one for one in tables(world) if one.endswith("_people")]
        cells = rows(world, f"SELECT * FROM research.{made}")
        named = dict(rows(world, "SELECT mrn, 1 FROM deid_hospital_stays"))
        seen.append((made, len({row[-3] for row in cells}), len(named), any(set(row) & set(named) for row in cells)))

    run = world.run(path, alter=after("deidentify", look))
    assert run.state == "success", [open_ledger().document(one.sequence)["reason"] for one in open_ledger().entries()]
    ((made, counted, persons, identifies),) = seen
    assert made.removesuffix("_people").startswith("load_")
    assert (counted, identifies) == (persons, False)
    assert tables(world) == ["hospital_stays", "hospital_stays_release"]
    assert world.left() == []
    (entry,) = open_ledger().entries()
    document = open_ledger().document(entry.sequence)
    assert document["validation"]["success"] is True
    assert [model["holds"] for model in document["privacy"]] == [True, True]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("UPDATE {} SET person = 0", "does not meet expect_persons_in_each_class"),
        pytest.param("DROP TABLE {}", "the table that says whose the records are is gone", marks=pytest.mark.thorough),
    ],
)
def test_the_second_judge_counts_persons_anew(world, change, told):
    path = job_of(world, **of_persons("any-row"))

    def alter():
        run_statements(world, change.format(f"research.{waiting(world)}_people"))

    run = world.run(path, alter=after("deidentify", alter))
    assert run.state == "failed"
    _, why = reason(run)
    assert (why["task"], told in why["message"]) == ("validate", True), why
    assert tables(world) == []
    assert world.left() == []
