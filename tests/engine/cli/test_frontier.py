"""The commands `frontier`, `policy` and `population` in processes of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import yaml

from engine.job.policy_file import read_policy
from tests.engine.cli.command_line import cli, names
from tests.engine.frontiers.small_job import job_of, people_of, written


@pytest.fixture
def folder(tmp_path):
    """Give a folder with a job and its source."""
    written(tmp_path, people_of(60))
    job = job_of(tmp_path, source={"path": "people.csv"}, output={"path": "release"})
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    return tmp_path


def rewrite(folder, **changes):
    job = yaml.safe_load((folder / "job.yaml").read_text())
    (folder / "job.yaml").write_text(yaml.safe_dump({**job, **changes}))


def test_a_frontier_is_written_where_it_is_asked_for(folder):
    files = {"--report": "f.json", "--chart": "f.html", "--picture": "f.svg", "--policy-dir": "policies"}
    done = cli("frontier", "job.yaml", *[part for pair in files.items() for part in pair], cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((folder / "f.json").read_text())
    assert f"frontier     {len(report['frontier'])} policies, area {report['area']:.4f}" in done.stdout
    assert f"Safe Harbor  risk {report['safe_harbor']['risk']:.4g}" in done.stdout
    assert "the table itself" in done.stdout
    assert (folder / "f.html").read_text().startswith("<!")
    assert (folder / "f.svg").read_text().startswith("<svg")
    policies = {f"policy-{item['index'] + 1}.yaml": item["policy"] for item in report["shortlist"]}
    assert {name: read_policy(folder / "policies" / name) for name in names(folder / "policies")} == policies
    for item in report["shortlist"]:
        assert f"policy {item['index'] + 1:<5} risk {item['risk']:.4g}" in done.stdout
    assert not (folder / "release").exists()


def test_the_number_of_policies_can_be_given(folder):
    for number in (2, 30):
        done = cli("frontier", "job.yaml", "--policies", str(number), "--report", "f.json", cwd=folder)
        assert done.returncode == 0
        assert json.loads((folder / "f.json").read_text())["visited"] <= number
    done = cli("frontier", "job.yaml", "--policies", "1", cwd=folder)
    assert done.returncode == 2
    assert "--policies: policies: must be at least 2" in done.stderr


def test_a_policy_of_the_short_list_can_be_run_and_verified(folder):
    assert cli("frontier", "job.yaml", "--policy-dir", "policies", cwd=folder).returncode == 0
    path = folder / "policies" / names(folder / "policies")[0]
    rewrite(folder, search={"algorithm": "policy", "file": f"policies/{path.name}"})
    done = cli("run", "job.yaml", cwd=folder)
    assert done.returncode == 0
    policy = read_policy(path)
    assert f"policy       groups: age {len(policy['age'])}, place {len(policy['place'])}" in done.stdout
    assert cli("verify", "release", "job.yaml", cwd=folder).returncode == 0
    path.write_text("policy: {age: []}")
    assert cli("verify", "release", "job.yaml", cwd=folder).returncode == 2
    # the release's own job has the groups; it names files without their folders
    shutil.copy(folder / "release" / "job.yaml", folder / "executed.yaml")
    assert cli("verify", "release", "executed.yaml", cwd=folder).returncode == 0


def test_any_policy_of_a_report_becomes_a_file(folder):
    """Those of the short list are the files that were written beside it; the others can be run too."""
    assert cli("frontier", "job.yaml", "--report", "f.json", "--policy-dir", "policies", cwd=folder).returncode == 0
    report = json.loads((folder / "f.json").read_text())
    for item in report["shortlist"]:
        number = str(item["index"] + 1)
        done = cli("policy", "f.json", number, cwd=folder)
        assert (done.returncode, done.stdout) == (0, (folder / "policies" / f"policy-{number}.yaml").read_text())
    listed = {item["index"] for item in report["shortlist"]}
    other = next(place for place in range(len(report["frontier"])) if place not in listed)
    (folder / "other.yaml").write_text(cli("policy", "f.json", str(other + 1), cwd=folder).stdout)
    search = {"algorithm": "policy", "file": "other.yaml"}
    rewrite(folder, search=search, allow_empty_information=True)
    assert cli("run", "job.yaml", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("report", "number", "reason"),
    [
        ("nowhere.json", "1", "report nowhere.json: cannot be read (No such file or directory)"),
        ("job.yaml", "1", "report job.yaml: is no report of a frontier; write one with airflow-anon frontier --report"),
        ("f.json", "0", "NUMBER 0: the frontier has the policies 1 to 2"),
        ("f.json", "3", "NUMBER 3: the frontier has the policies 1 to 2"),
    ],
)
def test_what_is_no_policy_of_a_report_is_refused(folder, report, number, reason):
    (folder / "f.json").write_text(json.dumps({"name": "n", "frontier": [{"policy": {}}, {"policy": {}}]}))
    done = cli("policy", report, number, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def test_a_rule_chooses_or_nothing_is_released(folder):
    rewrite(folder, choose={"from": "frontier", "maximum_risk": 0.2})
    done = cli("run", "job.yaml", cwd=folder)
    assert done.returncode == 0
    assert "chosen by the rule" in done.stdout
    assert cli("verify", "release", "job.yaml", cwd=folder).returncode == 0
    rewrite(folder, choose={"from": "frontier", "maximum_risk": 0.0001}, output={"path": "other"})
    done = cli("run", "job.yaml", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert "choose: no policy has a risk of at most 0.0001" in done.stderr
    assert not (folder / "other").exists()


INVALID = {
    "folder": (["--report", "nowhere/f.json"], {}, "--report nowhere/f.json: must be a file in a folder that exists"),
    "file": (["--policy-dir", "people.csv"], {}, "--policy-dir people.csv: is a file; name a folder"),
    "the job": (["--picture", "job.yaml"], {}, "--picture job.yaml: is the job, or a file or in a folder that"),
    "the source": (["--report", "people.csv"], {}, "--report people.csv: is the job, or a file or in a folder that"),
    "a folder of it": (["--chart", "release/f.html"], {}, "--chart release/f.html: must be a file in a folder"),
    "the population": (
        ["--report", "others.csv"],
        {"frontier": {"population": "others.csv"}},
        "--report others.csv: is the job, or a file or in a folder that",
    ),
    "a file of its pattern": (
        ["--report", "more.csv"],
        {"source": {"path": "*.csv"}},
        "--report more.csv: is the job, or a file or in a folder that",
    ),
    "two of one": (["--report", "f", "--picture", "f"], {}, "--picture f: is the file of another option too"),
    "settings": ([], {"frontier": {"seeds": 1}}, "unknown key 'seeds', did you mean 'seed'?"),
    "population": ([], {"frontier": {"population": "nowhere.csv"}}, "nowhere.csv: not found"),
    "current": ([], {"frontier": {"current": "nowhere.yaml"}}, "policy file nowhere.yaml: cannot be read"),
    "source": ([], {"source": {"path": "nowhere.csv"}}, "nowhere.csv: not found"),
}


@pytest.mark.parametrize("case", INVALID)
def test_what_is_invalid_ends_with_2_and_writes_nothing(folder, case):
    arguments, changes, text = INVALID[case]
    rewrite(folder, **changes)
    before = names(folder)
    done = cli("frontier", "job.yaml", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert names(folder) == before


def test_a_refused_job_needs_nothing_heavy(folder):
    rewrite(folder, frontier={"seeds": 1})
    code = (
        "import sys; from engine.cli.commands import main; status = main(['frontier', sys.argv[1]]); "
        "print(status, sorted({'numpy', 'pyarrow', 'numba', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, folder / "job.yaml"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "2 []"


def test_a_population_is_the_same_for_the_same_seed(tmp_path):
    for name in ("a.csv", "b.csv"):
        done = cli("population", "--shape", "rural", "--persons", "2000", "--seed", "3", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "simulated, rural" in done.stdout
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    alone = cli("population", "--persons", "1", "c.csv", cwd=tmp_path)
    assert alone.stdout == "population   c.csv: simulated, urban, 1 person, seed 1\n"
    done = cli("population", "nowhere/c.csv", cwd=tmp_path)
    assert done.returncode == 2
