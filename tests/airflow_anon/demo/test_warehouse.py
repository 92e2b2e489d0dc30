"""Building: the same rows for the same arguments, in one step, and never over somebody else's tables."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy import create_engine, text

from airflow_anon.demo import build
from airflow_anon.demo.build import ForeignWarehouseError
from airflow_anon.demo.warehouse import build_warehouse, direct_identifiers, main

PERSONS = 300


@pytest.fixture
def path(tmp_path):
    return tmp_path / "warehouse.db"


@pytest.fixture
def failing_load(monkeypatch):
    """Let the load of the visits fail; the tables before it are then filled."""
    real = build.load

    def load(connection, target, rows):
        if target.name == "visit_occurrence":
            raise OSError("no space left")
        real(connection, target, rows)

    monkeypatch.setattr(build, "load", load)


def count(path, table="person"):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.mark.thorough
def test_same_arguments_same_bytes_in_another_process_too(path, tmp_path):
    assert build_warehouse(f"sqlite:///{path}", persons=PERSONS, seed=7)
    other = tmp_path / "other.db"
    command = [sys.executable, "-m", "airflow_anon.demo.warehouse", "--url", f"sqlite:///{other}"]
    done = subprocess.run(
        [*command, "--persons", str(PERSONS), "--seed", "7"],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "3"},
    )  # fmt: skip
    assert "built" in done.stdout
    assert path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        ("idx_visit_person_id_1", ["person_id"]),
        ("idx_condition_person_id_1", ["person_id"]),
        ("idx_condition_visit_id_1", ["visit_occurrence_id"]),
    ],
)
def test_indexes(path, index, columns):
    build_warehouse(f"sqlite:///{path}", persons=1)
    with closing(sqlite3.connect(path)) as connection:
        found = [row[2] for row in connection.execute(f"PRAGMA index_info({index})")]
    assert found == columns


def test_another_seed_gives_other_people(path, tmp_path):
    other = tmp_path / "other.db"
    build_warehouse(f"sqlite:///{path}", persons=PERSONS, seed=7)
    build_warehouse(f"sqlite:///{other}", persons=PERSONS, seed=8)
    numbers = [{v for v in direct_identifiers(f"sqlite:///{file}") if v.startswith("MRN")} for file in (path, other)]
    assert len(numbers[0]) == len(numbers[1]) == PERSONS
    # Two draws of 300 among 90 million have less than one number in common.
    assert len(numbers[0] & numbers[1]) <= 1


def test_a_second_call_changes_nothing_and_other_arguments_rebuild(path):
    url = f"sqlite:///{path}"
    assert build_warehouse(url, persons=PERSONS, seed=1) is True
    before = path.stat()
    assert build_warehouse(url, persons=PERSONS, seed=1) is False
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert build_warehouse(url, persons=PERSONS + 1, seed=1) is True
    assert count(path) == PERSONS + 1


def test_an_engine_sees_the_new_warehouse(path):
    engine = create_engine(f"sqlite:///{path}")
    build_warehouse(engine, persons=PERSONS)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM person")).scalar() == PERSONS
    build_warehouse(engine, persons=5)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM person")).scalar() == 5
    engine.dispose()


def test_one_person_is_enough(path):
    build_warehouse(f"sqlite:///{path}", persons=1)
    assert count(path, "deid_demographics") == 1


def test_a_failing_build_leaves_nothing(path, failing_load):
    with pytest.raises(OSError, match="no space left"):
        build_warehouse(f"sqlite:///{path}", persons=PERSONS)
    assert list(path.parent.iterdir()) == []


def test_a_failing_rebuild_leaves_the_old_warehouse(path, request):
    build_warehouse(f"sqlite:///{path}", persons=PERSONS)
    before = path.read_bytes()
    request.getfixturevalue("failing_load")
    with pytest.raises(OSError, match="no space left"):
        build_warehouse(f"sqlite:///{path}", persons=PERSONS + 1)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_killed_build_is_no_warehouse_and_the_next_one_cleans_up(path):
    script = (
        "import os, signal\n"
        "from airflow_anon.demo import build, warehouse\n"
        "real = build.load\n"
        "def load(connection, target, rows):\n"
        "    real(connection, target, rows)\n"
        "    if target.name == 'visit_occurrence': os.kill(os.getpid(), signal.SIGKILL)\n"
        "build.load = load\n"
        f"warehouse.build_warehouse('sqlite:///{path}', persons={PERSONS})\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    assert build_warehouse(f"sqlite:///{path}", persons=PERSONS) is True
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("table", ["person", "deid_demographics", "something_else"])
def test_a_foreign_file_is_not_replaced(path, table):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {table} (a INTEGER)")
    before = path.read_bytes()
    with pytest.raises(ForeignWarehouseError, match=table):
        build_warehouse(f"sqlite:///{path}", persons=PERSONS)
    assert path.read_bytes() == before


def test_a_warehouse_with_a_foreign_table_is_not_replaced(path):
    build_warehouse(f"sqlite:///{path}", persons=PERSONS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cohort (a INTEGER)")
    with pytest.raises(ForeignWarehouseError, match="cohort"):
        build_warehouse(f"sqlite:///{path}", persons=PERSONS + 1)
    assert count(path) == PERSONS


def test_a_warehouse_that_is_being_written_is_not_replaced(path):
    build_warehouse(f"sqlite:///{path}", persons=PERSONS)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE INDEX another ON person (year_of_birth)")
        with pytest.raises(ForeignWarehouseError, match="another process"):
            build_warehouse(f"sqlite:///{path}", persons=PERSONS + 1)
    assert count(path) == PERSONS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"persons": 0}, "persons is 0, allowed is 1 to"),
        ({"persons": 10_000_001}, "persons is 10000001, allowed is 1 to"),
        ({"seed": -1}, "seed is -1, allowed is 0 to"),
    ],
)
def test_arguments_out_of_range(path, arguments, message):
    with pytest.raises(ValueError, match=message):
        build_warehouse(f"sqlite:///{path}", **arguments)
    assert not path.exists()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/db"])
def test_databases_that_do_not_fit(url):
    with pytest.raises(ValueError, match=r"SQLite URL must name a plain file|allowed are 'sqlite' and 'postgresql'"):
        build_warehouse(url, persons=PERSONS)


def test_the_command_line_reports_a_wrong_argument_with_exit_code_2(path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["--url", f"sqlite:///{path}", "--persons", "0"])
    assert end.value.code == 2
    assert "persons is 0" in capsys.readouterr().err


def test_importing_the_module_costs_no_heavy_import():
    script = "import sys, airflow_anon.demo.warehouse; print({'numpy', 'pyarrow', 'sqlalchemy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
