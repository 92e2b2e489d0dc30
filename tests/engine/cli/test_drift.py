"""`airflow-anon drift accept` beside the folder of a job: a refused table is released after somebody accepts it."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from engine.cli import main

SECRET = "Xenia-secret"  # noqa: S105 (a value of the table)


@pytest.fixture
def job(tmp_path):
    document = {
        "name": "people",
        "source": {"path": "people.csv"},
        "attributes": {
            "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "note": {"role": "insensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "drift": {"facts": "private/facts.json", "new_values": {"sex": "refuse"}},
        "output": {"path": "release"},
    }
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def run(job, *values):
    rows = "".join(f"{value},x\n" for value in values for _ in range(10))
    (job.parent / "people.csv").write_text("sex,note\n" + rows)
    return main(["run", str(job)])


def test_a_refused_table_is_accepted_from_the_command_line(job, capsys):
    assert run(job, "F", "M") == 0
    assert main(["drift", "accept", str(job)]) == 2
    assert "no run refused a table since the last release" in capsys.readouterr().err
    assert run(job, "F", "M", SECRET) == 3
    command = re.search(r"drift accept JOB\.yaml (--difference [0-9a-f]{16})", capsys.readouterr().err)[1]
    assert main(["drift", "accept", str(job), *command.split(), "--by=C. Custodian", "--comment=a new code"]) == 0
    told = capsys.readouterr().out
    assert "column 'sex': has values that it did not have" in told
    assert SECRET not in told
    assert main(["drift", "accept", str(job), "--by=D. Doe"]) == 0
    assert "was accepted already by C. Custodian" in capsys.readouterr().out
    assert run(job, "F", "M", SECRET) == 0
    found = json.loads((job.parent / "release/report.json").read_text())["drift"]["accepted"]
    assert (found["by"], found["comment"]) == ("C. Custodian", "a new code")
    assert main(["drift", "accept", str(job)]) == 2


def test_a_check_can_be_asked_first_and_accepts_nothing(job, capsys):
    run(job, "F", "M")
    (job.parent / "people.csv").write_text("sex,note\n" + f"{SECRET},x\n" * 20)
    capsys.readouterr()
    assert main(["check", str(job)]) == 3
    told = "".join(capsys.readouterr())
    assert "a check keeps nothing of the table, so run the job first" in told
    assert main(["drift", "accept", str(job)]) == 2
    assert "since a check keeps nothing of a table that it refuses" in capsys.readouterr().err
    assert SECRET not in told
    assert not (job.parent / "private/facts.json.refused").exists()
    assert SECRET not in "".join(capsys.readouterr())


def test_verify_beside_the_source_takes_a_release_without_quarantined_records(job, capsys):
    """Those of a new value have the label of the others at this level, so the source has more of it than the file."""
    document = yaml.safe_load(job.read_text())
    any_of = {"builder": "grouping", "groups": [{"known": ["F", "M", "X"], "other": ["O"]}]}
    document["attributes"]["sex"] |= {"hierarchy": any_of, "minimum_level": 1}
    document["drift"] |= {"new_values": {"sex": "quarantine"}, "distance": 1.0}
    document |= {"suppression_limit": 0.4, "allow_empty_information": True}
    job.write_text(yaml.safe_dump(document))
    assert run(job, "F", "M") == 0
    assert run(job, "F", "M", "X") == 0
    report = json.loads((job.parent / "release/report.json").read_text())
    assert (report["drift"]["quarantined"], report["released"], report["rows"]) == (["sex"], 20, 30)
    beside = ["verify", str(job.parent / "release"), str(job), "--source", str(job.parent / "people.csv")]
    assert main(beside) == 0
    assert "holds  source: number of its records: 30" in capsys.readouterr().out
    (job.parent / "people.csv").write_text("sex,note\n" + "F,x\n" * 19 + "O,x\n" * 11)
    assert main(beside) == 4
    assert "classes of the release have others of them" in capsys.readouterr().out
