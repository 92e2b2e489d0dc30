"""`airflow-anon check` on files."""

from __future__ import annotations

import pytest

from tests.engine.cli.command_line import ROWS, cli, names, write


def test_a_sound_job(folder):
    before = names(folder)
    done = cli("check", "job.yaml", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing: this was a check" in done.stdout
    assert names(folder) == before


def test_what_is_unknown_is_shown_when_asked_for(folder):
    (folder / "people.csv").write_text(ROWS + "6,4712,u\n")
    told = cli("check", "job.yaml", cwd=folder)
    shown = cli("check", "job.yaml", "--show-values", cwd=folder)
    assert (told.returncode, shown.returncode) == (2, 2)
    assert "4712" not in told.stdout + told.stderr
    assert "'4712'" in shown.stdout


def test_a_sample(folder):
    assert cli("check", "job.yaml", "--sample", "4", cwd=folder).stdout.startswith("sample")


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "ten", str(2**63), str(10**30), "9" * 5000])
def test_a_sample_of_no_number_of_records(folder, number):
    done = cli("check", "job.yaml", f"--sample={number}", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "argument --sample: must be a whole number of records, from 1 to 1,000,000,000,000,000,000" in done.stderr


def test_a_sample_of_more_than_any_table_has_is_the_table(folder):
    whole = cli("check", "job.yaml", cwd=folder)
    done = cli("check", "job.yaml", "--sample", str(10**18), cwd=folder)
    assert (done.returncode, done.stderr) == (whole.returncode, "")
    assert "sample" not in done.stdout.split()[:1]


def test_a_job_that_cannot_be_read(folder):
    write(folder, suppression_limit=3, sauce={})
    done = cli("check", "job.yaml", cwd=folder)
    assert done.returncode == 2
    assert "suppression_limit" in done.stderr
    assert "sauce" in done.stderr
