"""`airflow-anon init` on files: the job file that it writes, what it says, and what it refuses."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from engine import __version__
from tests.engine.cli.command_line import cli


@pytest.fixture
def stays(tmp_path):
    rows = "".join(f"{number};N{4711 + number};{20 + number % 60};{'fm'[number % 2]}\n" for number in range(300))
    (tmp_path / "stays.csv").write_text("patient_id;patient_name;age;sex\n" + rows)
    return tmp_path


def test_version():
    done = cli("--version")
    assert (done.returncode, done.stdout) == (0, f"airflow-anon {__version__}\n")


def test_a_drafted_file_runs(stays):
    done = cli("init", "stays.csv", cwd=stays)
    assert (done.returncode, done.stderr) == (0, "")
    assert "patient_name" in done.stdout
    assert "a DAG extracts from a connection" in done.stdout
    job = yaml.safe_load((stays / "stays.yaml").read_text())
    assert job["source"] == {"path": "stays.csv", "delimiter": ";"}
    ran = cli("run", "stays.yaml", cwd=stays)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert pq.read_schema(stays / "release" / "data.parquet").names == ["age", "sex"]


def test_a_file_in_another_encoding_is_drafted_and_runs(stays):
    rows = "".join(f"{20 + number % 60};{'Köln' if number % 2 else 'Lübeck'}\n" for number in range(300))
    (stays / "people.csv").write_text("Größe;Ort\n" + rows, encoding="cp1252")
    done = cli("init", "people.csv", cwd=stays)
    assert done.returncode == 2
    assert "not UTF-8 text; save the file as UTF-8, or name its encoding" in done.stderr
    done = cli("init", "people.csv", "--encoding", "windows-1252", cwd=stays)
    assert (done.returncode, done.stderr) == (0, "")
    job = yaml.safe_load((stays / "people.yaml").read_text())
    assert job["source"] == {"path": "people.csv", "delimiter": ";", "encoding": "cp1252"}
    ran = cli("run", "people.yaml", cwd=stays)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert pq.read_schema(stays / "release" / "data.parquet").names == ["Größe", "Ort"]
    assert set(pq.read_table(stays / "release" / "data.parquet")["Ort"].to_pylist()) <= {"Köln", "Lübeck", "*"}
    verified = cli("verify", "release", "people.yaml", cwd=stays)
    assert (verified.returncode, verified.stderr) == (0, "")


def test_a_parquet_file_and_a_job_file_elsewhere(stays):
    (stays / "jobs").mkdir()
    pq.write_table(pa.table({"age": [20, 30, 40] * 50, "sex": ["f", "m", "f"] * 50}), stays / "people.parquet")
    done = cli("init", "people.parquet", "--output", "jobs/p.yaml", "--name", "all people", "--rows", "100", cwd=stays)
    assert done.returncode == 0
    assert "--rows" in done.stdout
    job = yaml.safe_load((stays / "jobs" / "p.yaml").read_text())
    assert (job["name"], job["source"]) == ("all-people", {"path": "../people.parquet"})


def test_a_job_file_is_not_replaced(stays):
    (stays / "stays.yaml").write_text("mine")
    done = cli("init", "stays.csv", cwd=stays)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is there already" in done.stderr
    assert (stays / "stays.yaml").read_text() == "mine"


TABLE = "age;sex\n" + "20;f\n30;m\n" * 100
TITLES = {
    "a mark of Excel": ("sep=;\n" + TABLE, "its first line, sep=, is a mark of Excel and no header; delete that line"),
    "in capitals": ("SEP=,\n" + TABLE.replace(";", ","), "its first line, sep=, is a mark of Excel"),
    "of two columns": ("Secret of 2021;\n" + TABLE, "looks like a title; delete the lines above the header, whose"),
    "of one field": ("Secret of 2021\n" + TABLE, "looks like a title; delete the lines above the header, whose"),
    "and an empty line": ("Secret of 2021\n\n" + TABLE, "looks like a title; delete the lines above the header, whose"),
    "with a tab": ("Secret of 2021\n" + TABLE.replace(";", "\t"), "looks like a title"),
    "a record": ("Secret;20;f\n" + "Other;20;f\n" * 9, "the names of its columns 2, 3 of 3 are values of them as well"),
    "a record with one number": ("Secret;20\n" + "Other;20\n" * 9, "the names of its columns 2 of 2 are values of"),
    "a record of one field": ("2021-01-01\n" * 9, "the names of its columns 1 of 1 are values of them as well"),
    "again": (f"{TABLE}{TABLE}", "or the header stands among the records; write the header once"),
}


@pytest.mark.parametrize("case", TITLES)
def test_a_first_line_that_is_no_header_is_refused(tmp_path, case):
    """Each would be the name of a column in the drafted job, and its values would be the header and the records."""
    text, told = TITLES[case]
    (tmp_path / "t.csv").write_text(text)
    done = cli("init", "t.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Secret" not in done.stderr
    assert not list(tmp_path.rglob("*.yaml"))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("sep=x;age\n" + "a;20\nb;30\n" * 100, ()),
        (";age\n" + "1;20\n2;30\n" * 100, ()),
        ("age\n" + "20\n30\n" * 100, ()),
        ("note\n" + "a; b\nc\n" * 100, ()),
        ("note\n" + "a; b\nc; d\n" * 100, ("--delimiter", ",")),
        ("male;age\n" + "male;20\nfemale;30\n" * 100, ()),
        ("2019;2020\n" + "1;2\n3;4\n" * 100, ()),
    ],
    ids=[
        "a name with sep=",
        "an index without a name",
        "one column",
        "some with a semicolon",
        "a delimiter that is named",
        "a value of its name",
        "years",
    ],
)
def test_what_is_no_title(tmp_path, text, options):
    (tmp_path / "t.csv").write_text(text)
    done = cli("init", "t.csv", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


REFUSED = {
    "nothing": ((), "name a FILE, or --conn"),
    "missing": (("none.csv",), "none.csv: not found"),
    "folder": ((".",), "is a folder; draft by one of its files, and name the folder in source.path then"),
    "another kind": (("stays.xlsx",), "must end in .csv"),
    "rows": (("stays.csv", "--rows", "0"), "argument --rows: must be a whole number of records, from 1 to 1,000,"),
    "rows beyond 64 bits": (("stays.csv", "--rows", str(2**63)), "argument --rows: must be a whole number of records"),
    "delimiter": (("stays.csv", "--delimiter", "ab"), "one ASCII character"),
    "encoding": (("stays.csv", "--encoding", "utf-9"), "--encoding: must be an encoding that Python knows"),
    "an encoding that is not its own": (
        ("stays.csv", "--encoding", "utf-16"),
        "source stays.csv: is not text in the encoding utf-16, which source.encoding names",
    ),
    "a folder that is not": (("stays.csv", "--output", "no/where.yaml"), "folder that exists"),
    "a connection without a table": (("--conn", "w"), "--table"),
    "both": (("stays.csv", "--conn", "w", "--table", "t"), "a table is drafted, or a file"),
    "omop": (("stays.csv", "--omop"), "no table of OMOP CDM 5.4"),
    "no records": (("empty.csv",), "has no records"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_ends_with_2_and_writes_nothing(stays, case):
    arguments, text = REFUSED[case]
    (stays / "stays.xlsx").write_text("")
    (stays / "empty.csv").write_text("age,sex\n")
    done = cli("init", *arguments, cwd=stays)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert not list(stays.rglob("*.yaml"))
