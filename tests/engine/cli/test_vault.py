"""The commands of a series: somebody is forgotten, and the vault is compared with the release folder."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

from engine import run, write_manifest
from engine.cli.commands import main
from tests.engine.series.nights import job, patients, table


def job_file(folder):
    path = folder / "job.yaml"
    document = job(folder).document()
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(path)


def test_somebody_is_forgotten_once(tmp_path, capsys):
    run(job(tmp_path), table=table(patients(40)))
    people = run(job(tmp_path), table=table(patients(40))).table.column("who").to_pylist()
    assert main(["vault", "forget", job_file(tmp_path), f"MRN{people[0]}"]) == 0
    assert main(["vault", "forget", job_file(tmp_path), f"MRN{people[0]}"]) == 0
    assert capsys.readouterr().out.splitlines() == ["forgotten", "the vault does not know this person"]


def test_the_vault_is_compared_with_the_folder(tmp_path, capsys):
    run(job(tmp_path), table=table(patients(40)))
    assert main(["vault", "verify", job_file(tmp_path)]) == 0
    shutil.copy(tmp_path / "vault.sqlite", tmp_path / "copy")
    run(job(tmp_path), table=table(patients(40)))
    assert main(["vault", "verify", job_file(tmp_path)]) == 0
    assert "releases that the vault remembers: 2" in capsys.readouterr().out
    shutil.copy(tmp_path / "copy", tmp_path / "vault.sqlite")
    assert main(["vault", "verify", job_file(tmp_path)]) == 1
    assert "older copy" in capsys.readouterr().err


def test_a_release_is_verified_from_the_command_line(tmp_path, capsys):
    source = tmp_path / "source.csv"
    table(patients(40)).to_csv(source, index=False)
    run(job(tmp_path), table=table(patients(40)))
    assert main(["verify", str(tmp_path / "release"), job_file(tmp_path), "--source", str(source)]) == 0
    assert "series k-anonymity" in capsys.readouterr().out


def test_a_release_of_a_series_is_neither_shown_nor_refuted_without_its_source(tmp_path, capsys):
    run(job(tmp_path), table=table(patients(40)))
    assert main(["verify", str(tmp_path / "release"), job_file(tmp_path)]) == 2
    told = capsys.readouterr()
    assert "FAILS  series: traces cannot be counted" in told.out
    assert "holds  labels of age" in told.out
    assert "is stated and not shown; give what was de-identified, with its column 'mrn', as --source" in told.err
    report = tmp_path / "release" / "report.json"
    document = json.loads(report.read_text())
    document["rows"] += 1
    report.write_text(json.dumps(document))
    write_manifest(tmp_path / "release")
    assert main(["verify", str(tmp_path / "release"), job_file(tmp_path)]) == 4


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ({"release_id": "0"}, "does not know release 0"),
        ({"release_id": None}, "names no release"),
        ({}, "names no release"),
        ([], "names no release"),
        (None, "names no release"),
    ],
)
def test_a_report_of_a_release_that_the_vault_does_not_know_does_not_hold(tmp_path, capsys, stated, told):
    source = tmp_path / "source.csv"
    table(patients(40)).to_csv(source, index=False)
    run(job(tmp_path), table=table(patients(40)))
    report = tmp_path / "release" / "report.json"
    report.write_text(json.dumps({**json.loads(report.read_text()), "series": stated}))
    write_manifest(tmp_path / "release")
    assert main(["verify", str(tmp_path / "release"), job_file(tmp_path), "--source", str(source)]) == 4
    assert told in capsys.readouterr().err


def test_a_job_without_a_series_has_no_vault(tmp_path, capsys):
    path = tmp_path / "job.yaml"
    document = job(tmp_path).document()
    document.pop("series")
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    assert main(["vault", "verify", str(path)]) == 2
    assert "series: the job has none" in capsys.readouterr().err
