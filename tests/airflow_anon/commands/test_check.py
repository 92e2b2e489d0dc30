"""`airflow-anon check JOB` of a job whose source is a connection."""

from __future__ import annotations

import re
import sqlite3
import tempfile

import pytest
import yaml

from airflow_anon.commands.main import main

JOB = {
    "name": "stays",
    "source": {"conn_id": "warehouse", "table": "stays"},
    "subject": "mrn",
    "attributes": {
        "mrn": {"role": "identifying"},
        "email": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "output": {"path": "share"},
}


@pytest.fixture
def warehouse(tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "warehouse.sqlite") as connection:
        connection.execute("create table stays (mrn integer, email text, age integer, sex text)")
        rows = [(4711 + n // 2, f"q{n}@example.org", 20 + n % 60, "fm"[n % 2]) for n in range(600)]
        connection.executemany("insert into stays values (?, ?, ?, ?)", rows)
        connection.execute("create table nobody (mrn integer, email text, age integer, sex text)")
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", f"sqlite:///{tmp_path}/warehouse.sqlite")
    monkeypatch.setenv("AIRFLOW_CONN_DOWN", "postgresql://reader:pa55word@127.0.0.1:1/clinic")
    monkeypatch.setenv("AIRFLOW_ANON_SHARE", str(tmp_path / "share"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def checked(warehouse, capsys, *options, **changes):
    """Give the exit status and what was said; nothing is ever left behind, and no identifier told."""
    (warehouse / "job.yaml").write_text(yaml.safe_dump({**JOB, **changes}))
    before = sorted(warehouse.rglob("*"))
    status = main(["check", str(warehouse / "job.yaml"), *options])
    told = capsys.readouterr()
    assert sorted(warehouse.rglob("*")) == before
    assert "example.org" not in told.out + told.err
    assert "pa55word" not in told.err
    return status, told.out + told.err


def test_a_sound_job(warehouse, capsys):
    status, told = checked(warehouse, capsys)
    assert status == 0
    assert "nothing: this was a check" in told
    assert "persons      300" in told


def test_a_sample(warehouse, capsys):
    status, told = checked(warehouse, capsys, "--sample=200")
    assert status == 0
    assert told.startswith("sample")


def test_all_problems_at_once(warehouse, capsys):
    attributes = {
        "mrn": JOB["attributes"]["mrn"],
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age", "maximum": 70, "top_code": "none"}},
        "sex": {"role": "quasi-identifying", "hierarchy": "nowhere.csv"},
        "ward": {"role": "insensitive"},
    }
    output = {"conn_id": "warehouse", "table": "stays"}
    changes = {"attributes": attributes, "output": output, "subject": None, "unit": None}
    status, told = checked(warehouse, capsys, **changes)
    assert status == 2
    for text in (
        "output.table: is the source itself",
        "has the column 'email', which the job does not name",
        "columns 'ward': named in the job but not in the source",
        "'age': its hierarchy has no entry for 9 of the distinct values, in 90 of the records",
        "nowhere.csv: not found",
        "'mrn': several records have the same value",
    ):
        assert text in told
    assert "'79'" not in told
    assert "'79'" in checked(warehouse, capsys, "--show-values", **changes)[1]


def test_a_column_of_another_case_is_told_by_the_spelling_of_the_job(warehouse, capsys):
    attributes = {name.upper() if name == "sex" else name: one for name, one in JOB["attributes"].items()}
    status, told = checked(warehouse, capsys, attributes=attributes)
    assert status == 2
    assert "has the column 'sex', which the job does not name; give it a role under attributes" in told
    assert "'sex' is 'SEX' of the job but for case or blanks: write it there as it is in the source" in told


GOES_WRONG = {
    "down": ({"conn_id": "down", "table": "stays"}, 1, "nothing listens at the host and port"),
    "no table": ({"conn_id": "warehouse", "table": "stay"}, 2, "no such table: stay"),
    "no column": ({"conn_id": "warehouse", "query": "select wards from stays"}, 2, "no such column: wards"),
    "no records": ({"conn_id": "warehouse", "table": "nobody"}, 2, "is empty"),
    "no connection": ({"conn_id": "elsewhere", "table": "stays"}, 2, "'elsewhere' is not defined"),
    "two statements": ({"conn_id": "warehouse", "query": "select 1; drop table stays"}, 2, "has a semicolon"),
    "none of its columns": ({"conn_id": "warehouse", "query": "select 1 as one"}, 2, "none of the job's columns"),
}


@pytest.mark.parametrize("case", GOES_WRONG)
def test_what_goes_wrong_is_told(warehouse, capsys, case):
    source, status, text = GOES_WRONG[case]
    found, told = checked(warehouse, capsys, source=source)
    assert found == status
    assert text in told


def test_pseudonyms_are_made_by_the_key_of_a_connection(warehouse, capsys, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_PSEUDONYMS", "generic://:0123456789abcdef0123456789abcdef@")
    email = {"role": "identifying", "action": "pseudonymize", "key_conn_id": "pseudonyms"}
    attributes = {**JOB["attributes"], "email": {**email, "key_id": "0" * 16}}
    status, told = checked(warehouse, capsys, attributes=attributes)
    assert status != 0
    (key_id,) = set(re.findall(r"\b[0-9a-f]{16}\b", told)) - {"0" * 16}
    assert "0123456789abcdef0123456789abcdef" not in told
    attributes["email"] = {**email, "key_id": key_id}
    status, told = checked(warehouse, capsys, attributes=attributes)
    assert (status, told) == (0, told)
    status, told = checked(warehouse, capsys, attributes={**attributes, "email": {**email, "key_conn_id": "lost"}})
    assert status != 0
    assert "attributes.email.key_conn_id: the connection is not defined" in told


def test_a_database_in_which_no_job_runs_is_refused_as_in_a_run(warehouse, capsys):
    output = {"conn_id": "warehouse", "table": "released"}
    status, told = checked(warehouse, capsys, backend="sql", output=output, subject=None, unit="record")
    assert status == 2
    assert "backend sql runs in postgresql and mariadb" in told


def linked(**visit):
    """Return changes that make the job one of two tables."""
    person = {name: entry for name, entry in JOB["attributes"].items() if name != "age"}
    return {
        "source": None,
        "attributes": {},
        "tables": {
            "person": {"source": {"conn_id": "warehouse", "table": "person"}, "attributes": person},
            "visit": {
                "source": {"conn_id": "warehouse", "query": "SELECT mrn, age FROM stays"},
                "attributes": {name: JOB["attributes"][name] for name in ("mrn", "age")} | visit,
            },
        },
    }


def with_persons(warehouse):
    with sqlite3.connect(warehouse / "warehouse.sqlite") as connection:
        connection.execute("create table person (mrn integer, email text, sex text)")
        rows = [(4711 + n, f"q{n}@example.org", "fm"[n % 2]) for n in range(300)]
        connection.executemany("insert into person values (?, ?, ?)", rows)


def test_linked_tables(warehouse, capsys):
    with_persons(warehouse)
    status, told = checked(warehouse, capsys, **linked())
    assert status == 0
    assert "records      900, " in told
    assert "persons      300" in told
    status, told = checked(warehouse, capsys, "--sample", "100", **linked())
    assert status == 0
    assert "only the first records were read" in told


def test_linked_tables_with_a_column_that_is_not_there(warehouse, capsys):
    with_persons(warehouse)
    status, told = checked(warehouse, capsys, **linked(ward={"role": "insensitive"}))
    assert status == 2
    assert "lacks the column 'ward'" in told
