"""`airflow-anon verify` in a process of its own."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import write_manifest
from tests.engine.cli.command_line import cli, write


def test_verify_lists_what_holds(folder):
    cli("run", folder / "job.yaml")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(line.startswith("holds  ") for line in lines)
    assert "holds  labels of age: 0 distinct values are not labels of the chosen level" in lines


def forge(folder, change):
    """Change the data of a release and write a manifest that fits it."""
    data = folder / "release" / "data.parquet"
    pq.write_table(change(pq.read_table(data)), data)
    write_manifest(folder / "release")


def replaced(table, row, age):
    rows = table.to_pylist()
    rows[row]["age"] = age
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda t: t.append_column("person_id", pa.array(list("1234"))), "columns"),
        (lambda t: replaced(t, 0, "21"), "labels of age"),
        (lambda t: replaced(t, 3, "[70, 80["), "k-anonymity"),
        (lambda t: replaced(t, 0, "*"), "suppression-limit"),
        (lambda t: t.slice(1), "rows"),
    ],
)
def test_verify_ends_with_4_where_something_does_not_hold(folder, change, check):
    cli("run", folder / "job.yaml")
    forge(folder, change)
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert any(line.startswith(f"FAILS  {check}: ") for line in done.stdout.splitlines())
    assert "does not hold what the job demands" in done.stderr


def test_verify_against_a_stricter_job(folder):
    cli("run", folder / "job.yaml")
    write(folder, privacy=[{"model": "k-anonymity", "k": 3}])
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "FAILS  k-anonymity: 2 of 2 equivalence classes have fewer than 3 records" in done.stdout


@pytest.mark.parametrize("name", ["data.parquet", "report.json", "job.yaml", "manifest.json"])
def test_verify_notices_a_changed_file_and_one_that_is_missing(folder, name):
    cli("run", folder / "job.yaml")
    path = folder / "release" / name
    path.write_bytes(path.read_bytes()[:-1])
    assert cli("verify", folder / "release", folder / "job.yaml").returncode == 4
    path.unlink()
    assert cli("verify", folder / "release", folder / "job.yaml").returncode == 4


@pytest.mark.parametrize(
    ("name", "content"), [("data.parquet", None), ("data.parquet", b"x"), ("report.json", None), ("report.json", b"[")]
)
def test_verify_of_a_folder_whose_manifest_fits_but_which_is_no_release(folder, name, content):
    cli("run", folder / "job.yaml")
    if content is None:
        (folder / "release" / name).unlink()
    else:
        (folder / "release" / name).write_bytes(content)
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "data.parquet or report.json is missing or cannot be read" in done.stderr
