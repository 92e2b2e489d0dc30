"""`airflow-anon init --conn ID --table T`: a table of a warehouse, and what goes wrong with it."""

from __future__ import annotations

import sqlite3

import pytest
import sqlalchemy as sa
import yaml

from airflow_anon.commands.main import main
from airflow_anon.jobs import deidentification_dag
from tests.airflow_anon.nights.night import connection_of


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    path = tmp_path / "warehouse.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table stays (mrn integer, email text, age integer, sex text, died text)")
        rows = [(4711 + n // 2, f"q{n}@example.org", 20 + n % 60, "fm"[n % 2], "yn"[n % 3 == 0]) for n in range(600)]
        connection.executemany("insert into stays values (?, ?, ?, ?, ?)", rows)
        connection.execute("create table nobody (age integer)")
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", f"sqlite:///{path}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_drafted_file_makes_a_dag(warehouse, capsys):
    assert main(["init", "--conn=warehouse", "--table=stays"]) == 0
    told = capsys.readouterr()
    assert "4711" not in told.out + told.err + (warehouse / "stays.yaml").read_text()
    job = yaml.safe_load((warehouse / "stays.yaml").read_text())
    assert job["source"] == {"conn_id": "warehouse", "table": "stays"}
    assert job["subject"] == "mrn"
    assert {name: one["role"] for name, one in job["attributes"].items()} == {
        "mrn": "identifying",
        "email": "identifying",
        "age": "quasi-identifying",
        "sex": "quasi-identifying",
        "died": "sensitive",
    }
    assert deidentification_dag(warehouse / "stays.yaml").dag_id == "stays"


REFUSED = {
    "no such table": (["--conn=warehouse", "--table=stay"], 2, "no such table: stay"),
    "no rows": (["--conn=warehouse", "--table=nobody"], 2, "table nobody: has no records"),
    "no connection": (["--conn=elsewhere", "--table=stays"], 2, "connection 'elsewhere' is not defined"),
    "a bad name": (["--conn=warehouse", "--table=a..b"], 2, "write it as table, schema.table"),
    "down": (["--conn=down", "--table=stays"], 1, "nothing listens at the host and port"),
    "several tables": (["--conn=warehouse", "--table=stays,nobody"], 2, "draft each, and put"),
    "not of omop": (["--conn=warehouse", "--table=stays", "--omop"], 2, "is no table of OMOP CDM 5.4"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_goes_wrong_is_told_and_nothing_is_written(warehouse, monkeypatch, capsys, case):
    arguments, status, text = REFUSED[case]
    monkeypatch.setenv("AIRFLOW_CONN_DOWN", "postgresql://reader:pa55word@127.0.0.1:1/clinic")
    assert main(["init", *arguments]) == status
    told = capsys.readouterr()
    assert text in told.err
    assert "pa55word" not in told.err
    assert not list(warehouse.glob("*.yaml"))


@pytest.mark.postgres
def test_a_table_without_rights_or_columns(warehouse, monkeypatch, capsys, postgres_database):
    owner = sa.create_engine(postgres_database)
    with owner.begin() as connection:
        connection.exec_driver_sql("create table secret (age integer)")
        connection.exec_driver_sql("create table bare ()")
        connection.exec_driver_sql("create role intern login")
    intern = sa.make_url(postgres_database).set(username="intern").render_as_string(hide_password=False)
    monkeypatch.setenv("AIRFLOW_CONN_INTERN", connection_of(intern))
    monkeypatch.setenv("AIRFLOW_CONN_OWNER", connection_of(postgres_database))
    assert main(["init", "--conn=intern", "--table=secret"]) == 1
    assert "permission denied for table secret" in capsys.readouterr().err
    assert main(["init", "--conn=owner", "--table=bare"]) == 2
    assert "no column that can be read" in capsys.readouterr().err
    assert not list(warehouse.glob("*.yaml"))
    with owner.begin() as connection:
        connection.exec_driver_sql("drop role intern")


def test_several_tables_of_omop_make_one_dag(warehouse, capsys):
    with sqlite3.connect(warehouse / "warehouse.sqlite") as connection:
        connection.execute("create table person (person_id integer, gender_concept_id integer)")
        connection.executemany("insert into person values (?, ?)", [(90_000 + n, 8507 + n % 2) for n in range(200)])
        connection.execute("create table death (person_id integer, cause_concept_id integer)")
        connection.executemany("insert into death values (?, ?)", [(90_000 + n, 44_000 + n % 3) for n in range(150)])
    assert main(["init", "--conn=warehouse", "--table=person,death", "--omop"]) == 0
    told = capsys.readouterr()
    assert "9000" not in told.out + told.err + (warehouse / "omop.yaml").read_text()
    job = yaml.safe_load((warehouse / "omop.yaml").read_text())
    assert {name: one["source"]["table"] for name, one in job["tables"].items()} == {
        "person": "person",
        "death": "death",
    }
    assert deidentification_dag(warehouse / "omop.yaml").get_task("extract").tables.keys() == {"person", "death"}
