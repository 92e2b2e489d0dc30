"""New values get their place in the file of a hierarchy, or none of them does."""

from __future__ import annotations

import io

import pytest
import yaml

from engine.cli import main
from engine.hierarchy.builders.csv_file import CsvFile

BEFORE = "blue;cold;*\nred;warm;*"
NEW = "orange-secret;warm;*\npurple-secret;cold;*\n"


@pytest.fixture
def job(tmp_path):
    """Give the path of a job with a hierarchy in a file."""
    (tmp_path / "colour.csv").write_text(BEFORE)
    document = {
        "name": "people",
        "source": {"path": "people.csv"},
        "attributes": {
            "colour": {"role": "quasi-identifying", "hierarchy": "colour.csv"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "note": {"role": "insensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(document))
    (tmp_path / "people.csv").write_text(
        "colour,age,note\n" + "red,20,x\nblue,20,x\n" * 4 + "orange-secret,20,x\npurple-secret,20,x\n" * 2
    )
    return tmp_path / "job.yaml"


def place(job, rows, column="colour"):
    (job.parent / "rows.csv").write_text(rows)
    return main(["place", str(job), column, str(job.parent / "rows.csv")])


def test_a_run_that_did_not_know_a_value_knows_it_then(job, capsys):
    release = str(job.parent / "release")
    assert main(["run", str(job), "--output", release]) == 2
    assert place(job, NEW) == 0
    told = capsys.readouterr()
    assert "2 values were placed in colour.csv" in told.out
    assert "secret" not in told.out + told.err
    assert main(["run", str(job), "--output", release]) == 0
    rows = CsvFile(path=str(job.parent / "colour.csv")).rows(())
    assert rows == [tuple(line.split(";")) for line in [*BEFORE.splitlines(), *NEW.splitlines()]]


def test_each_version_stays(job, capsys):
    assert place(job, "orange-secret;warm;*\n") == 0
    assert "1 value was placed" in capsys.readouterr().out
    first = (job.parent / "colour.csv").read_text()
    assert place(job, "purple-secret;cold;*\n") == 0
    assert (job.parent / "colour.csv.v1").read_text() == BEFORE
    assert (job.parent / "colour.csv.v2").read_text() == first


def test_rows_of_the_standard_input(job, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(NEW))
    assert main(["place", str(job), "colour", "-"]) == 0
    assert "purple-secret" in (job.parent / "colour.csv").read_text()


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("", "has no rows"),
        ("green-secret;cold\n", "row 1: its number of columns is 2, must be 3"),
        ("green-secret;cold;*\nred;warm;*\n", "row 2: its value has a place already"),
        ("green-secret;cold;*\ngreen-secret;warm;*\n", "row 2: its value has a place already, or comes twice"),
        ("green-secret;cold;other\n", "row 1: its highest label"),
        ("green-secret;;*\n", "row 1: its label at level 1 is blank"),
        ("green-secret; ;*\n", "row 1: its label at level 1 is blank"),
        ("*;cold;*\n", "row 1: its value is '*', which stands for removed values"),
    ],
)
def test_rows_that_do_not_fit_change_nothing(job, capsys, rows, told):
    assert place(job, rows) == 2
    found = capsys.readouterr().err
    assert told in found
    assert "secret" not in found
    assert (job.parent / "colour.csv").read_text() == BEFORE
    assert sorted(path.name for path in job.parent.glob("*colour*")) == ["colour.csv"]


def test_a_label_that_would_belong_to_two_others_changes_nothing(job, capsys):
    """In a hierarchy with two highest labels."""
    (job.parent / "colour.csv").write_text("blue;cold;A\nred;warm;B\n")
    assert place(job, "green-secret;cold;B\n") == 2
    assert "secret" not in capsys.readouterr().err
    assert (job.parent / "colour.csv").read_text() == "blue;cold;A\nred;warm;B\n"


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("age", "made by the builder age"),
        ("note", "has no hierarchy"),
        ("other", "name one of 'age', 'colour', 'note'"),
    ],
)
def test_a_column_without_a_file(job, capsys, column, told):
    assert place(job, NEW, column) == 2
    assert told in capsys.readouterr().err
