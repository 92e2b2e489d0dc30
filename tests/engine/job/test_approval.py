"""The section `approval` of a job: what it takes, what it refuses, and that a command line cannot ask."""

from __future__ import annotations

import datetime as dt

import pytest
import yaml

from engine import InvalidJob, load_job
from engine.cli.commands import main
from tests.engine.jobs import changed


def job(**approval):
    return load_job(changed(["approval"], {"by": ["custodian"], **approval}))


def test_the_defaults_ask_for_each_release_and_expire_before_the_next_night():
    found = job().approval
    assert (found.when, found.by) == ("always", ("custodian",))
    assert dt.timedelta(hours=1) < found.waits < dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("expires", "waits"),
    [("1m", dt.timedelta(minutes=1)), ("36h", dt.timedelta(hours=36)), ("30d", dt.timedelta(days=30))],
)
def test_a_duration_is_a_number_with_its_unit(expires, waits):
    assert job(expires=expires).approval.waits == waits


@pytest.mark.parametrize("expires", ["0h", "31d", "721h", "1.5h", "-1h", "12", "12 h", "1w", ""])
def test_another_duration_is_refused(expires):
    with pytest.raises(InvalidJob, match=r"approval\.expires"):
        job(expires=expires)


@pytest.mark.parametrize("by", [[], ["a", "A"], [" a"], [""], ["a\nb"], ["x" * 257]])
def test_approvers_who_cannot_be_told_apart_or_read_are_refused(by):
    with pytest.raises(InvalidJob, match=r"approval\.by"):
        job(by=by)


def test_a_job_without_the_section_is_the_same_job_as_before():
    assert "approval" not in load_job(changed(["name"], "stays")).document()


def test_the_command_line_refuses_what_it_cannot_ask_for(tmp_path, capsys):
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(changed(["approval"], {"by": ["custodian"]})))
    assert main(["run", str(path), "--output", str(tmp_path / "release")]) == 2
    assert "approval: the job's releases wait" in capsys.readouterr().err
    assert not (tmp_path / "release").exists()
