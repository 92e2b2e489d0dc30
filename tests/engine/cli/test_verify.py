"""`airflow-anon verify` in a process of its own."""

from __future__ import annotations

import json
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import load_job, write_manifest
from engine.pipeline.report_form import wrong_keys
from tests.engine.cli.command_line import JOB, cli, write


def test_verify_lists_what_holds(folder):
    cli("run", folder / "job.yaml")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(line.startswith(("holds  ", "note   hierarchies: judged by those")) for line in lines)
    assert "holds  labels of age: distinct values that are not labels of the chosen level: 0" in lines
    told = [line for line in lines if line.startswith("holds  ")]
    assert lines[-1] == f"holds  the release: all of {len(told) - 1} checks"


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
    assert "FAILS  k-anonymity: equivalence classes with fewer than 3 records: 2 of 2" in done.stdout


def test_the_job_of_a_release_is_copied_out_of_it_where_it_names_files_of_hierarchies(folder):
    """They are not in the release, and a file that is put into it changes it."""
    (folder / "ages.csv").write_text("21;young\n22;young\n31;old\n32;old\n71;*\n")
    write(folder, attributes={**JOB["attributes"], "age": {"role": "quasi-identifying", "hierarchy": "ages.csv"}})
    assert cli("run", folder / "job.yaml").returncode == 0
    done = cli("verify", folder / "release", folder / "release" / "job.yaml")
    assert done.returncode == 2
    assert "ages.csv: not found" in done.stderr
    assert "copy its job.yaml elsewhere, put the files where the copy names them" in done.stderr
    (folder / "elsewhere").mkdir()
    for name in ("release/job.yaml", "ages.csv"):
        (folder / "elsewhere" / name.rpartition("/")[2]).write_bytes((folder / name).read_bytes())
    assert cli("verify", folder / "release", folder / "elsewhere" / "job.yaml").returncode == 0


@pytest.mark.parametrize("name", ["release", "job.yaml"])
def test_what_is_no_folder_is_not_judged(folder, name):
    """It says nothing of a release that somebody changed: 4 would call somebody out of bed."""
    done = cli("verify", folder / name, folder / "job.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{folder / name}: is not there, or is no folder" in done.stderr


def test_a_job_before_the_release_is_told(folder):
    (folder / "release").mkdir(exist_ok=True)
    done = cli("verify", folder / "job.yaml", folder / "release")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"job file {folder / 'release'}: is a folder; the release comes first: verify RELEASE_DIR" in done.stderr


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


def test_verify_of_a_damaged_table_ends_with_4(folder):
    """It opens, and what is damaged shows once its records are counted."""
    cli("run", folder / "job.yaml")
    data = folder / "release" / "data.parquet"
    data.write_bytes(b"PAR1" + b"\xff" * 60 + data.read_bytes()[64:])
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert (done.returncode, done.stdout.startswith("note")) == (4, True)
    assert "is a damaged Parquet file" in done.stderr


COLOURS = "red;warm;*\nblue;cold;*\n"
COLUMN = {"colour": {"role": "quasi-identifying", "hierarchy": "colour.csv"}}


@pytest.fixture
def coloured(folder, monkeypatch):
    """Give the folder of a release with a hierarchy in a file, made with a key of fingerprints."""
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", str(folder / "private.key"))
    (folder / "people.csv").write_text("colour\n" + "red\nblue\n" * 4)
    (folder / "colour.csv").write_text(COLOURS)
    write(folder, attributes=COLUMN)
    assert cli("run", folder / "job.yaml").returncode == 0
    return folder


def verified(folder):
    return cli("verify", folder / "release", folder / "job.yaml")


def test_verify_refuses_to_judge_by_another_hierarchy(coloured):
    assert "holds  hierarchy of colour: " in verified(coloured).stdout
    assert "note" not in verified(coloured).stdout
    # the same labels, so that nothing but the digest tells it
    (coloured / "colour.csv").write_text("red;cold;*\nblue;warm;*\n")
    (coloured / "colour.csv.v1").write_text(COLOURS)
    done = verified(coloured)
    assert done.returncode == 2
    assert "FAILS  hierarchy of colour: " in done.stdout
    assert "colour.csv.v1 beside it is the file of that time" in done.stdout
    assert "labels of colour" not in done.stdout, "nothing is judged by it"
    assert "was not judged: the hierarchies of colour" in done.stderr


def test_a_release_is_verified_with_the_file_of_its_time_after_a_value_was_placed(coloured):
    (coloured / "colour.csv.v1").write_text(COLOURS)
    (coloured / "colour.csv").write_text(COLOURS + "green;cold;*\n")
    assert verified(coloured).returncode == 2
    write(coloured, attributes={"colour": {**COLUMN["colour"], "hierarchy": "colour.csv.v1"}})
    assert verified(coloured).returncode == 0


def test_verify_notes_that_it_cannot_compare_hierarchies(coloured, monkeypatch):
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", str(coloured / "another.key"))
    done = verified(coloured)
    assert done.returncode == 2, "a key is made by runs alone"
    assert not (coloured / "another.key").exists()
    (coloured / "another.key").write_text("another " * 8)
    (coloured / "another.key").chmod(0o600)
    done = verified(coloured)
    assert (done.returncode, "give the key of that time" in done.stdout) == (0, True)
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", "a_connection")
    done = verified(coloured)
    assert (done.returncode, "note   hierarchies: judged by those that the job has now" in done.stdout) == (0, True)


def test_an_older_release_is_judged_by_the_hierarchies_of_today_with_a_note(coloured):
    report = coloured / "release" / "report.json"
    document = json.loads(report.read_text())
    assert document.pop("hierarchies")["digests"].keys() == {"colour"}
    report.write_text(json.dumps(document))
    write_manifest(coloured / "release")
    done = verified(coloured)
    assert done.returncode == 0
    assert "note   hierarchies: judged by those that the job has now; its report does not say" in done.stdout


def test_hierarchies_of_a_report_that_no_run_wrote_do_not_hold(coloured):
    report = coloured / "release" / "report.json"
    report.write_text(json.dumps({**json.loads(report.read_text()), "hierarchies": {"digests": "none"}}))
    write_manifest(coloured / "release")
    done = verified(coloured)
    assert done.returncode == 4
    assert "FAILS  report: hierarchies of the report are not as a run writes them" in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        lambda _: "null",
        lambda _: "[]",
        lambda _: "3",
        lambda text: text.replace('"k": 2', '"k": 50, "k": 2'),
        lambda text: text.replace('"threshold": 0.09', '"threshold": NaN'),
        lambda text: text.replace('"threshold": 0.09', '"threshold": 1e999'),
        lambda _: "[" * 100_000,
        lambda text: text.replace('"people"', r'"\ud800"'),
    ],
    ids=["null", "list", "number", "key twice", "NaN", "infinite", "deep", "surrogate"],
)
def test_verify_reads_no_report_in_one_of_two_ways(folder, change):
    """Without a report fewer things are compared, so a document that is none must not count as none."""
    cli("run", folder / "job.yaml")
    report = folder / "release" / "report.json"
    text = report.read_text()
    report.write_text(change(text))
    assert report.read_text() != text
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert (done.returncode, done.stdout) == (4, "")
    assert "data.parquet or report.json is missing or cannot be read" in done.stderr


def test_verify_tells_a_report_with_a_number_beyond_all_doubles(folder):
    cli("run", folder / "job.yaml")
    report = folder / "release" / "report.json"
    document = json.loads(report.read_text())
    document["risk"]["prosecutor"] = 10**400
    report.write_text(json.dumps(document))
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "FAILS  figures: risk in the report are not those of the output" in done.stdout


@pytest.mark.parametrize("manifest", ["[" * 100_000, '{"files": {}, "files": {}}', '{"files": {"a": {"bytes": NaN}}}'])
def test_verify_tells_a_manifest_that_is_none(folder, manifest):
    cli("run", folder / "job.yaml")
    (folder / "release" / "manifest.json").write_text(manifest)
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "manifest.json cannot be read; the folder was changed" in done.stderr


LETTERS = [f"a{number}" for number in range(64)]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("codebook.json", lambda text: text.replace('"2-anonymity"', '"50-anonymity"')),
        ("codebook.json", lambda text: text.replace('"records": 4', '"records": 4.0')),
        ("codebook.json", lambda text: text.replace('"label": "[20, 30["', '"label": "[20, 31["')),
        ("codebook.json", lambda text: text.replace('"form": 1', '"form": 0')),
        ("codebook.json", lambda _: "{}"),
        ("codebook.json", lambda _: "["),
        ("README.md", lambda text: text.replace("2-anonymity", "50-anonymity")),
        ("README.md", lambda text: text + "\n"),
        ("job.yaml", lambda text: text.replace("k: 2", "k: 50")),
        ("job.yaml", lambda _: ""),
        ("job.yaml", lambda _: "[" * 5000),
        ("job.yaml", lambda _: "a: &a [*a]\n\x00"),
        ("job.yaml", lambda text: text.replace("k: 2", "k: 50\n  k: 2")),
        # 2 ^ 64 entries
        ("job.yaml", lambda _: "a0: &a0 [b]\n" + "".join(f"{x}: &{x} [*{y}, *{y}]\n" for y, x in pairwise(LETTERS))),
    ],
)
def test_verify_compares_the_documents_that_readers_open(folder, name, change):
    cli("run", folder / "job.yaml")
    document = folder / "release" / name
    text = document.read_text()
    document.write_text(change(text))
    assert document.read_text() != text
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert f"FAILS  documents: {name}: not as the released file and the job have it" in done.stdout.splitlines()


@pytest.mark.parametrize("name", ["codebook.json", "README.md", "job.yaml"])
def test_verify_tells_a_document_that_was_removed(folder, name):
    cli("run", folder / "job.yaml")
    (folder / "release" / name).unlink()
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert f"FAILS  documents: {name}: not as the released file and the job have it" in done.stdout.splitlines()


def test_verify_by_the_job_of_the_release(folder):
    """As auditors do, who have nothing else."""
    cli("run", folder / "job.yaml")
    done = cli("verify", folder / "release", folder / "release" / "job.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "holds  documents: they are those of the file" in done.stdout.splitlines()


def test_verify_says_that_it_does_not_compare_the_documents_of_another_version(folder):
    """It would word them in another way."""
    cli("run", folder / "job.yaml")
    report = folder / "release" / "report.json"
    document = json.loads(report.read_text())
    document["versions"]["airflow-anon"] = "0.0.1"
    report.write_text(json.dumps(document))
    (folder / "release" / "README.md").write_text("another text")
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 0
    assert (
        "note   documents: codebook.json, README.md, job.yaml, what manifest.json says of the report and the form of "
        "report.json are of another version, and were not compared" in done.stdout.splitlines()
    )


def without(key):
    return lambda report: {name: value for name, value in report.items() if name != key}


def within(part, **changed):
    return lambda report: {**report, part: {**report[part], **changed}}


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (lambda report: {**report, "certified_by": "nobody"}, "further keys"),
        (within("solution", certified=True), "solution"),
        (within("suppressed_class", certified=True), "suppressed_class"),
        (within("versions", numpy=2), "versions"),
        (lambda report: {**report, "identifying": [{**report["identifying"][0], "why": "asked"}]}, "identifying"),
        (without("attribute_inference"), "attribute_inference"),
        (without("identifying"), "identifying"),
        (without("lint"), "lint"),
        (without("withheld"), "withheld"),
        (lambda report: {**report, "name": "others"}, "name"),
        (lambda report: {**report, "timings": None, "withheld": [*report["withheld"], "timings"]}, "timings"),
        (lambda report: {**report, "withheld": [*report["withheld"], "rows"]}, "withheld"),
        (lambda report: {**report, "withheld": [*report["withheld"], "utility.comfort"]}, "withheld"),
        (lambda report: {**report, "withheld": report["withheld"] * 2}, "withheld"),
        (within("utility", **{"kl-divergence": 0.1}), "withheld, utility.kl-divergence"),
        (within("search", proof="bounds"), "withheld, search.proof"),
        (within("search", seconds=None), "withheld, search.seconds"),
        (within("solution", optimal="yes"), "solution"),
        (within("solution", optimal=False), "solution.lower_bound, solution.gap"),
        (within("solution", lower_bound=0.0), "solution.lower_bound"),
        (within("solution", gap=0.5), "solution.gap"),
        (within("solution", information_loss="none"), "solution"),
        (within("solution", information_loss=10**400), "solution"),
    ],
)
def test_verify_compares_the_form_of_a_report_and_what_it_withholds(folder, change, keys):
    """Nobody can recount these figures, so a report may only say of them what a run says."""
    cli("run", folder / "job.yaml")
    report = folder / "release" / "report.json"
    before = json.loads(report.read_text())
    after = change(before)
    assert after != before
    report.write_text(json.dumps(after))
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    text = f"FAILS  documents: report.json ({keys}): not as the released file and the job have it"
    assert text in done.stdout.splitlines()


AGES = [20, 21, 22, 23, 31, 32, 33, 34, 35, 71, 72]
"""Four and five of a decade of years, and two who are left out where three are demanded."""


def people(path, ages):
    path.write_text("person_id,age,diagnosis\n" + "".join(f"p{age},{age},u\n" for age in ages))


def dropped(folder, ages):
    """Make a release in which small classes are left out, by decades."""
    people(folder / "people.csv", ages)
    age = {**JOB["attributes"]["age"], "minimum_level": 1, "maximum_level": 1}
    write(
        folder,
        attributes={**JOB["attributes"], "age": age},
        privacy=[{"model": "k-anonymity", "k": 3}],
        suppression_limit=0.4,
        output={"path": "release", "suppressed": "drop"},
    )
    assert cli("run", folder / "job.yaml").returncode == 0
    assert pq.read_metadata(folder / "release" / "data.parquet").num_rows == 9


def with_source(folder, ages):
    people(folder / "given.csv", ages)
    return cli("verify", folder / "release", folder / "job.yaml", "--source", folder / "given.csv")


@pytest.mark.parametrize(
    ("ages", "texts"),
    [
        (AGES, []),
        ([*AGES, 81], ["the report does not account for all of them"]),
        (AGES[:-2], ["the report does not account for all of them"]),
        ([age for age in AGES if age != 20] + [73], ["classes of the release have others of them"]),
        ([*AGES, 24], ["the report does not account for all of them", "classes of the release have others of them"]),
    ],
    ids=["its own", "one who was left out more", "nobody left out", "another one", "one in a class more"],
)
def test_verify_compares_a_release_of_records_with_the_source_that_is_given(folder, ages, texts):
    dropped(folder, AGES)
    done = with_source(folder, ages)
    text = "; ".join([f"number of its records: {len(ages)}", *texts])
    assert f"{'FAILS' if texts else 'holds'}  source: {text}" in done.stdout.splitlines()
    assert done.returncode == (4 if texts else 0)


def test_verify_compares_the_number_of_records_that_were_left_out_with_the_source(folder):
    """Where it is told the file alone shows none of them."""
    ages = [*AGES, 81, 82]
    dropped(folder, ages)
    document = json.loads((folder / "release" / "report.json").read_text())
    assert (document["rows"], document["suppressed_class"]["records"]) == (13, 4)
    assert with_source(folder, ages).returncode == 0
    done = with_source(folder, [*ages, 61])
    assert done.returncode == 4
    assert (
        "FAILS  source: number of its records: 14; the report does not account for all of them"
        in done.stdout.splitlines()
    )


def test_verify_says_of_another_source_that_it_cannot_be_compared(folder):
    dropped(folder, AGES)
    (folder / "given.csv").write_text("person_id\n1\n")
    done = cli("verify", folder / "release", folder / "job.yaml", "--source", folder / "given.csv")
    assert done.returncode == 4
    assert "FAILS  source: it cannot be counted: it lacks quasi-identifying columns" in done.stdout


def test_verify_says_of_a_source_that_is_not_there_that_nothing_is_compared(folder):
    dropped(folder, AGES)
    done = cli("verify", folder / "release", folder / "job.yaml", "--source", folder / "none.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"airflow-anon: --source {folder / 'none.csv'}: not found, so that nothing is compared"
    )


def names(folder):
    return set(json.loads((folder / "release" / "report.json").read_text())["withheld"])


@pytest.mark.parametrize(
    ("changes", "withheld"),
    [
        ({}, {"rows", "solution.suppressed", "suppressed_class.records", "search.proof", "utility.kl-divergence"}),
        ({"suppression_limit": 0.0, "allow_empty_information": True}, {"utility.non-uniform-entropy"}),
        (
            {"suppression_limit": 0.0, "allow_empty_information": True, "utility": {"measure": "kl-divergence"}},
            {"solution.information_loss", "solution.lower_bound", "solution.gap", "utility.kl-divergence"},
        ),
        ({"search": {"algorithm": "datafly"}}, {"solution.lower_bound", "solution.gap", "search.proof"}),
        ({"transformation": "local-recoding"}, set()),
        ({"subject": "person_id", "knows": "all-rows"}, {"utility.non-uniform-entropy"}),
    ],
    ids=["few left out", "nobody left out", "a loss of cells", "an approximation", "a local recoding", "persons"],
)
def test_verify_refuses_a_report_that_withholds_and_does_not_name_it(folder, changes, withheld):
    """Nor may it name as withheld what no such run has."""
    write(folder, **changes)
    assert cli("run", folder / "job.yaml").returncode == 0
    assert withheld <= names(folder)
    report = folder / "release" / "report.json"
    document = json.loads(report.read_text())
    wrong = [sorted(names(folder) - {one}) for one in sorted(names(folder))]
    none = {f"utility.{name}" for name, figure in document["utility"].items() if figure is None}
    wrong += [sorted({*document["withheld"], one}) for one in sorted(none - names(folder))]
    wrong += [sorted({*document["withheld"], "solution.levels"})] if document["solution"]["levels"] is None else []
    assert wrong
    job = load_job(folder / "job.yaml")
    assert wrong_keys(job, document) == []
    accepted = [one for one in wrong if "withheld" not in wrong_keys(job, {**document, "withheld": one})]
    assert accepted == []
    report.write_text(json.dumps({**document, "withheld": wrong[0]}))
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "report.json (withheld)" in done.stdout


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        (without("released"), "released"),
        (within("utility", loss=None), "utility.loss"),
        (within("solution", lower_bound=None, gap=None), "solution.lower_bound, solution.gap"),
        (within("search", proof=None), "withheld, search.proof"),
        (within("solution", optimal=False), "search.proof"),
    ],
)
def test_verify_refuses_a_report_that_withholds_although_nobody_was_left_out(folder, change, keys):
    """Numbers are withheld where few records were left out, and where the job's measures say so."""
    write(folder, suppression_limit=0.0, allow_empty_information=True)
    cli("run", folder / "job.yaml")
    report = folder / "release" / "report.json"
    after = change(json.loads(report.read_text()))
    hidden = [
        f"{part}.{key}"
        for part in ("utility", "solution", "search")
        for key, value in after[part].items()
        if value is None
    ]
    after["withheld"] = sorted({*after["withheld"], *hidden})
    report.write_text(json.dumps(after))
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    text = f"FAILS  documents: report.json ({keys}): not as the released file and the job have it"
    assert text in done.stdout.splitlines()


@pytest.mark.parametrize(
    ("facts", "holds"),
    [
        ({"name": "people", "release_id": "20260301T024500Z-0123abcd", "created": "2026-03-01T02:45:00+00:00"}, True),
        ({"metrics": {}}, True),
        ({"metrics": {"rows": 5, "released": 4, "suppressed": None, "smallest_class": 2, "optimal": True}}, False),
        ({"metrics": {"rows": None, "released": 4, "suppressed": None, "smallest_class": 2, "optimal": True}}, True),
        ({"metrics": {"released": 4.0}}, False),
        ({"metrics": {"prosecutor_risk": 0.01}}, False),
        ({"metrics": {"persons": 4}}, False),
        ({"metrics": [4]}, False),
        ({"name": "others"}, False),
        ({"release_id": 3}, False),
        ({"certified_by": "nobody"}, False),
    ],
)
def test_verify_compares_what_a_manifest_says_beside_the_files(folder, facts, holds):
    """The share writes the metrics of the report into it, and readers take them from there."""
    cli("run", folder / "job.yaml")
    write_manifest(folder / "release", facts)
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert (done.returncode == 0) is holds
    if not holds:
        text = "FAILS  documents: manifest.json: not as the released file and the job have it"
        assert (done.returncode, text in done.stdout.splitlines()) == (4, True)


def test_verify_refuses_further_facts_of_a_file_in_the_manifest(folder):
    cli("run", folder / "job.yaml")
    manifest = folder / "release" / "manifest.json"
    document = json.loads(manifest.read_text())
    document["files"]["data.parquet"]["records"] = 50
    manifest.write_text(json.dumps(document))
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "FAILS  documents: manifest.json: " in done.stdout


def test_verify_refuses_files_that_no_release_of_the_job_has(folder):
    """Readers would open them, and nothing compares them."""
    cli("run", folder / "job.yaml")
    (folder / "release" / "validation.json").write_text("{}")
    write_manifest(folder / "release")
    assert cli("verify", folder / "release", folder / "job.yaml").returncode == 0
    (folder / "release" / "data.csv").write_text("age,diagnosis\n21,u\n")
    write_manifest(folder / "release")
    done = cli("verify", folder / "release", folder / "job.yaml")
    assert done.returncode == 4
    assert "FAILS  documents: further files: not as the released file and the job have it" in done.stdout


def test_a_line_end_in_the_name_of_a_column_makes_no_line(folder):
    """Else whoever names the columns of a source writes lines of check, run, verify and init."""
    name, shown = "age\nFAILS  \x1b[31mrows", r"age\nFAILS  \x1b[31mrows"
    table = pa.table({name: ["21", "22", "31", "32", "71"], "diagnosis": list("uvuvu")})
    pq.write_table(table, folder / "people.parquet")
    roles = {name: JOB["attributes"]["age"], "diagnosis": {"role": "sensitive"}}
    write(folder, source={"path": "people.parquet"}, attributes=roles)
    for command in (["check", "job.yaml"], ["run", "job.yaml"], ["verify", "release", "job.yaml"]):
        done = cli(*command, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert shown in done.stdout
        assert "\x1b" not in done.stdout
        assert not any(line.startswith("FAILS") for line in done.stdout.splitlines())
    drafted = cli("init", "people.parquet", "--output", "drafted.yaml", cwd=folder)
    assert drafted.returncode == 0
    assert any(line.startswith(shown) for line in drafted.stdout.splitlines())
    write(folder, source={"path": "people.parquet"}, attributes={"diagnosis": roles["diagnosis"], "age": roles[name]})
    refused = cli("run", "job.yaml", cwd=folder)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
