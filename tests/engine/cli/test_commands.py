"""The command line in processes of its own: exit codes, texts, and that nothing is left when it fails."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from engine import check_manifest, write_manifest
from engine.cli.commands import main
from tests.engine.cli.command_line import JOB, ROWS, cli, names, write
from tests.places import FILES
from tests.profiles import spread


def test_run_writes_a_release_and_says_what_came_out(folder):
    done = cli("run", folder / "job.yaml", cwd="/")
    assert done.returncode == 0
    assert done.stderr == ""
    assert sorted(check_manifest(folder / "release")["files"]) == [name for name in FILES if name != "manifest.json"]
    report = json.loads((folder / "release" / "report.json").read_text())
    # one of two is too few to be told, and so is the number of records that it was left out of
    assert (report["rows"], report["released"], report["solution"]["suppressed"]) == (None, 4, None)
    assert "records      4, fewer than 2 left out" in done.stdout
    assert f"{report['solution']['information_loss']:.10g} (proven optimal)" in done.stdout
    # one record is too few for a class of suppressed ones
    assert "the suppressed records are left out" in done.stdout
    assert rows_of(folder / "release") == [
        ("[20, 30[", "u"),
        ("[20, 30[", "v"),
        ("[30, 40[", "u"),
        ("[30, 40[", "v"),
    ]
    assert yaml.safe_load((folder / "release" / "job.yaml").read_text())["name"] == "people"


def rows_of(release):
    """Return the released records, sorted: those of a class are in random order."""
    return sorted(tuple(row.values()) for row in pq.read_table(release / "data.parquet").to_pylist())


def test_run_on_parquet_gives_the_same_data(folder):
    cli("run", folder / "job.yaml")
    before = rows_of(folder / "release")
    ages = pa.array([21, 22, 31, 32, 71], pa.int8())
    pq.write_table(pa.table({"age": ages, "diagnosis": ["u", "v", "u", "v", "u"]}), folder / "people.parquet")
    write(folder, source={"path": "people.parquet"})
    assert cli("run", folder / "job.yaml").returncode == 0
    assert rows_of(folder / "release") == before


def test_output_and_report_go_where_they_are_asked_to(folder):
    done = cli("run", "job.yaml", "--output", "else/where", "--report", "figures.json", cwd=folder)
    assert done.returncode == 0
    assert not (folder / "release").exists()
    stated = json.loads((folder / "figures.json").read_text())
    assert stated == json.loads((folder / "else" / "where" / "report.json").read_text())


def test_the_second_run_replaces_the_first(folder):
    for _ in range(2):
        assert cli("run", folder / "job.yaml").returncode == 0
    assert names(folder / "release") == FILES
    assert [name for name in names(folder) if "/" not in name] == ["job.yaml", "people.csv", "release"]


INVALID = {
    "unknown key": ({"sauce": {}}, None, "sauce: unknown key 'sauce', did you mean 'source'?"),
    "limit": ({"suppression_limit": 2}, None, "suppression_limit"),
    "no source": ({"source": {"path": "nowhere.csv"}}, None, "nowhere.csv: not found"),
    "connection": (
        {"source": {"conn_id": "w", "table": "t"}},
        None,
        "source: is of a connection, which only a run in Airflow reads; run its DAG",
    ),
    "no output": ({"output": None}, None, "give --output DIR"),
    "address": ({"output": {"path": "s3://share/x"}}, None, "only folders of this machine"),
    "delimiter": ({"source": {"path": "people.csv", "delimiter": ";"}}, None, "holds none of the job's columns"),
    "level": (
        {"attributes": {**JOB["attributes"], "age": {**JOB["attributes"]["age"], "maximum_level": 9}}},
        None,
        "attributes.age.maximum_level: is 9, the hierarchy ends at 2",
    ),
    "hierarchy file": (
        {"attributes": {**JOB["attributes"], "age": {"role": "quasi-identifying", "hierarchy": "age.csv"}}},
        None,
        "age.csv: not found",
    ),
    "unnamed column": (
        {},
        "person_id,age,diagnosis,phone\n1,21,u,4711\n",
        "column number 4 of its 4 is not named in the job",
    ),
    "missing column": ({}, "person_id,age\n1,21\n", "'diagnosis': named in the job but not in the source"),
    "no header": ({}, "4711,21,u\n4711,22,v\n", "holds none of the job's columns"),
    "equal values, no header": ({}, "4711,4711,u\n1,22,v\n", "column names must be unique"),
    "ragged": ({}, ROWS + "6,4711,u,u\n", "separated by ','"),
    "empty": ({}, "", "is empty; its first row must name the columns"),
    "no records": ({}, "person_id,age,diagnosis\n", "has no records"),
    "unknown value": (
        {},
        ROWS + "6,4711,u\n",
        "column 'age': its hierarchy has no entry for 1 of the distinct values, in 1 of the records",
    ),
}


@pytest.mark.parametrize(
    ("case", "old"), [*((case, False) for case in INVALID), ("limit", True), ("ragged", True), ("unknown value", True)]
)
def test_an_invalid_job_or_data_ends_with_2_and_leaves_what_was_there(folder, case, old):
    if old:
        assert cli("run", folder / "job.yaml").returncode == 0
    changes, content, text = INVALID[case]
    if content is not None:
        (folder / "people.csv").write_text(content)
    write(folder, **{key: value for key, value in {**JOB, **changes}.items() if value is not None})
    if changes.get("output", 1) is None:
        (folder / "job.yaml").write_text(yaml.safe_dump({key: JOB[key] for key in JOB if key != "output"}))
    before = {name: (folder / name).read_bytes() for name in names(folder) if (folder / name).is_file()}
    done = cli("run", "job.yaml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("airflow-anon: ")
    assert text in done.stderr
    assert {name: (folder / name).read_bytes() for name in names(folder) if (folder / name).is_file()} == before
    assert names(folder) == sorted({*before, *(["release"] if old else [])})


def test_no_solution_ends_with_3_and_leaves_nothing(folder):
    write(folder, privacy=[{"model": "k-anonymity", "k": 6}])
    before = names(folder)
    done = cli("run", folder / "job.yaml", "--output", folder / "a" / "b", "--report", folder / "figures.json")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no transformation of the table satisfies 6-anonymity" in done.stderr
    assert names(folder) == before


def test_a_failed_verification_ends_with_4_and_leaves_nothing(folder):
    # labels that are one record late: the first class lacks a record, and the last one has one too many
    code = (
        "import sys, engine.tables.release.released_labels as e\n"
        "columns = e.ReleasedLabels.columns\n"
        "def wrong(self, places):\n"
        "    return columns(self, e.np.append(places[1:], places[-1]))\n"
        "e.ReleasedLabels.columns = wrong\n"
        "from engine.cli.commands import main\n"
        "sys.exit(main())\n"
    )
    before = names(folder)
    done = subprocess.run(
        [sys.executable, "-c", code, "run", folder / "job.yaml", "--report", folder / "r.json"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4
    assert "the output was refused, nothing is released: k-anonymity" in done.stderr
    assert names(folder) == before


@pytest.mark.parametrize(
    "report", ["release/extra.json", "release/report.json", "nowhere/r.json", ".", "job.yaml", "people.csv"]
)
def test_a_report_that_would_break_the_release_or_fail_after_it_is_refused_before(folder, report):
    done = cli("run", "job.yaml", "--report", report, cwd=folder)
    assert done.returncode == 2
    assert "--report" in done.stderr
    assert names(folder) == ["job.yaml", "people.csv"]


def test_an_output_in_a_release_is_refused(folder):
    assert cli("run", "job.yaml", cwd=folder).returncode == 0
    done = cli("run", "job.yaml", "--output", "release/more/inside", cwd=folder)
    assert done.returncode == 2
    assert "is in the release" in done.stderr
    assert names(folder / "release") == FILES
    assert cli("verify", "release", "job.yaml", cwd=folder).returncode == 0


def test_an_output_that_holds_the_source_or_that_it_would_read_is_refused(folder):
    job = (folder / "job.yaml").read_text().replace("people.csv", "{}")
    (folder / "in").mkdir()
    (folder / "people.csv").rename(folder / "in" / "people.csv")
    for source, output, told in (
        ("in/", "in/release", "is among the files of the source"),
        ("in/", "in/more/release", "is among the files of the source"),
        ("in/*.csv", "in/out.csv", "is among the files of the source"),
        ("in/people.csv", "in", "holds the source"),
    ):
        (folder / "job.yaml").write_text(job.format(source))
        done = cli("run", "job.yaml", "--output", output, cwd=folder)
        assert done.returncode == 2
        assert told in done.stderr
        assert names(folder / "in") == ["people.csv"]
    for source, output in (("in/", "in/_release"), ("in/*.csv", "in/more/out.csv"), ("in/people.csv", "in/release")):
        (folder / "job.yaml").write_text(job.format(source))
        for _ in range(2):
            assert cli("run", "job.yaml", "--output", output, cwd=folder).returncode == 0
            shutil.rmtree(folder / "in" / "release", ignore_errors=True)


def test_a_release_does_not_replace_its_own_source(folder):
    assert cli("run", "job.yaml", cwd=folder).returncode == 0
    before = (folder / "release" / "data.parquet").read_bytes()
    job = (folder / "job.yaml").read_text()
    (folder / "job.yaml").write_text(job.replace("people.csv", "release/data.parquet"))
    done = cli("run", "job.yaml", cwd=folder)
    assert done.returncode == 2
    assert "holds the source" in done.stderr
    assert (folder / "release" / "data.parquet").read_bytes() == before


def test_an_interrupt_is_said_in_one_line(folder):
    code = (
        "import sys, engine.pipeline.run as run; from engine.cli.commands import main\n"
        "def interrupted(*_, **__): raise KeyboardInterrupt\n"
        "run.run = interrupted; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", folder / "job.yaml"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (130, "airflow-anon: interrupted\n")
    assert names(folder) == ["job.yaml", "people.csv"]


def test_a_foreign_folder_is_not_replaced(folder):
    (folder / "release").mkdir()
    (folder / "release" / "notes.txt").write_text("mine")
    done = cli("run", folder / "job.yaml")
    assert done.returncode == 2
    assert "is not a release; name a new or empty folder" in done.stderr
    assert (folder / "release" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("size", spread([100, 0, 1, 1500], 1))
def test_a_full_disk_ends_with_1_and_leaves_what_was_there(folder, size):
    """The limit of a file's size stands for it: a write fails in the same place, with another error of the system."""
    assert cli("run", "job.yaml", cwd=folder).returncode == 0
    before = {name: (folder / name).read_bytes() for name in names(folder) if (folder / name).is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    command = [sys.executable, "-m", "engine", "run", "job.yaml"]
    done = subprocess.run(
        command,
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        # Python would cut off the bytecode that it keeps of modules
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1])),
    )
    assert done.returncode == 1
    assert re.search(r"^airflow-anon: .*File too large; no release was made or replaced: ", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
    assert {name: (folder / name).read_bytes() for name in names(folder) if (folder / name).is_file()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a file on a full disk")
def test_a_report_that_a_full_disk_refuses_leaves_the_release_that_was_made(folder):
    done = cli("run", "job.yaml", "--report", "/dev/full", cwd=folder)
    assert done.returncode == 2
    assert "--report /dev/full: cannot be written (No space left on device); the release" in done.stderr
    assert done.stdout.startswith("released ")
    assert "report.json" in names(folder / "release")
    assert cli("verify", "release", "job.yaml", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "No space left on device; no release was made or replaced: make room"),
        (errno.EFBIG, "File too large; no release was made or replaced: a file that the run writes is larger"),
    ],
)
def test_a_full_disk_is_told_with_what_to_do(folder, monkeypatch, capsys, number, says):
    def full(*_, **__):
        raise OSError(number, "a cell", str(folder / "release"))

    monkeypatch.setattr("engine.pipeline.run.run", full)
    assert main(["run", str(folder / "job.yaml"), "--output", str(folder / "release")]) == 1
    told = capsys.readouterr().err
    assert f"{folder / 'release'}: {says}" in told
    assert "a cell" not in told


def test_a_folder_whose_name_is_no_text(folder):
    done = cli("run", "job.yaml", "--output", b"rele\xffse".decode(errors="surrogateescape"), cwd=folder)
    assert done.returncode == 2
    assert "output: its path is not UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "j" * 300 + ".yaml"), "cannot be read (File name too long)"),
        (("run", "job.yaml", "--output", "r" * 300), "cannot be made (File name too long)"),
        (("run", "job.yaml", "--report", "r" * 300), "File name too long"),
        (("run", "job.yaml", "--report", "r" * 300 + "/report.json"), "File name too long"),
        (("verify", "r" * 300, "job.yaml"), "File name too long"),
        (("frontier", "job.yaml", "--report", "r" * 300), "File name too long"),
        (("frontier", "job.yaml", "--policy-dir", "r" * 300), "File name too long"),
        (("population", "p" * 300 + ".csv"), "File name too long"),
    ],
)
def test_names_that_are_too_long(folder, arguments, message):
    before = names(folder)
    done = cli(*arguments, cwd=folder)
    assert done.returncode in {1, 2, 4}
    assert message in done.stderr
    assert names(folder) == before


def test_schema_prints_a_json_schema(folder):
    done = cli("schema")
    assert (done.returncode, done.stderr) == (0, "")
    schema = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(JOB, schema)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["run"], ["run", "a.yaml", "--nonsense"]])
def test_wrong_arguments_end_with_2(arguments):
    done = cli(*arguments)
    assert done.returncode == 2
    assert "usage: airflow-anon" in done.stderr


def test_help_names_every_command():
    done = cli("--help")
    assert done.returncode == 0
    assert [name for name in ("run", "verify", "schema", "warm-up", "demo") if name not in done.stdout] == []


def test_schema_and_refused_jobs_need_nothing_heavy(folder):
    (folder / "job.yaml").write_text("name: x\n")
    code = (
        "import sys; from engine.cli.commands import main; status = [main(['schema']), main(['run', sys.argv[1]])]; "
        "print(status, sorted({'numpy', 'pyarrow', 'numba', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, folder / "job.yaml"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[0, 2] []"


def test_dates_that_nobody_can_compare_are_neither_shown_nor_refuted(folder):
    """Their key is one of the run, which is kept nowhere; so is that by which further rows were left out."""
    rows = "".join(f"P{n // 2},{20 + 10 * (n // 8)},2024-0{1 + n % 9}-11\n" for n in range(16))
    (folder / "people.csv").write_text("person_id,age,admitted\n" + rows)
    columns = {**JOB["attributes"], "admitted": {"role": "insensitive", "action": "shift", "accept": "unique"}}
    del columns["diagnosis"]
    write(folder, subject="person_id", attributes=columns, shift={"days": 30})
    assert cli("run", folder / "job.yaml").returncode == 0
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 2
    assert "the key of this release is not given, and is kept nowhere" in done.stderr
    (folder / "people.csv").write_text("person_id,age,diagnosis\n" + "".join(f"P{n // 2},{20},u\n" for n in range(16)))
    write(folder, subject="person_id", max_rows=1)
    assert cli("run", folder / "job.yaml").returncode == 0
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 2
    assert "max_rows left out rows by a key that is not given" in done.stderr
    assert "--source" not in done.stderr


def test_persons_are_counted_and_verified_with_the_source(folder):
    """Without the identifiers nobody can count persons, which is neither shown nor refuted: status 2."""
    visits = [(n // 2, 20 + 10 * (n // 8), "uv"[n % 2]) for n in range(16)]
    rows = "".join(f"P{person},{age},{diagnosis}\n" for person, age, diagnosis in visits)
    (folder / "people.csv").write_text("person_id,age,diagnosis\n" + rows)
    write(folder, subject="person_id", privacy=[{"model": "k-anonymity", "k": 4}])
    done = cli("run", folder / "job.yaml")
    assert done.returncode == 0, done.stderr
    assert "persons      8" in done.stdout
    verified = cli("verify", folder / "release", folder / "job.yaml")
    assert verified.returncode == 0, verified.stdout
    assert "counted in persons" in verified.stdout
    (folder / "people.csv").write_text("age,diagnosis\n" + "".join(f"{age},{one}\n" for _, age, one in visits))
    without = cli("verify", folder / "release", folder / "job.yaml")
    assert without.returncode == 2
    assert "FAILS  persons" in without.stdout
    assert (
        "is stated and not shown; give what was de-identified, with its column 'person_id', as --source"
        in without.stderr
    )
    report = json.loads((folder / "release/report.json").read_text())
    report["rows"] += 1
    (folder / "release/report.json").write_text(json.dumps(report))
    write_manifest(folder / "release", {"name": "x"})
    assert cli("verify", folder / "release", folder / "job.yaml").returncode == 4
