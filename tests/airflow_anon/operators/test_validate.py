"""ValidateReleaseOperator on release folders of the engine: whole, tampered with, and defective."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import re
import stat

import fsspec
import great_expectations as gx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import ObjectStoragePath
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.io import attach

from engine import run, write_manifest
from tests.airflow_anon.expectations import build
from tests.airflow_anon.operators.staged import Staged, flip_byte


@pytest.fixture
def staged(tmp_path):
    return Staged(tmp_path)


def test_good_release(staged):
    """The hash that is returned is that of the file, which says which expectations held, when, and by which version."""
    before = dt.datetime.now(dt.timezone.utc).replace(microsecond=0)
    result = staged.validate()
    content = staged.validation.read_bytes()
    assert result == {
        "success": True,
        "expectations": 10,
        "validation_sha256": hashlib.sha256(content).hexdigest(),
    }
    document = json.loads(content)
    assert document["success"] is True
    assert (document["job"], document["suite"]) == ("persons", "persons-release")
    assert document["manifest_sha256"] == staged.manifest_sha256
    assert document["great_expectations_version"] == gx.__version__
    assert before <= dt.datetime.fromisoformat(document["validated_at"]) <= dt.datetime.now(dt.timezone.utc)
    assert len(document["results"]) == 10
    assert all(result["success"] is True for result in document["results"])
    assert stat.S_IMODE(staged.validation.stat().st_mode) == 0o600
    assert sorted(path.name for path in staged.staging.iterdir()) == ["release", "source.parquet", "validation.json"]


def test_the_hash_of_a_result_does_not_tell_its_withheld_figures(staged):
    """The ledger keeps the hash and withholds small counts: a random part lets nobody try which count fits."""
    found = []
    for _ in range(2):
        staged.validate()
        document = json.loads(staged.validation.read_bytes())
        found.append(document.pop("salt"))
        assert re.fullmatch("[0-9a-f]{32}", found[-1])
        assert found[-1] not in json.dumps(document)
    assert found[0] != found[1]


def test_defective_release(staged, caplog):
    """A class of k - 1 is refused: each failed check is named with both figures, and the result says so as well."""
    caplog.set_level(logging.DEBUG)

    def harm(table):
        table = build.in_one_order(table)
        for row in (6, 7, 8, 9):
            table = build.changed(table, "age", row, "y30s")
        return table

    staged.defect(harm)
    text = staged.refused("does not meet 3 of 10 expectations")
    assert "expect_classes_to_hold_at_least: observed 2, required 3 (equivalence classes with fewer" in text
    assert "expect_privacy_model_to_hold: observed 2, required 3" in text
    assert "expect_reported_figures: observed" in text
    document = json.loads(staged.validation.read_text())
    assert document["success"] is False
    assert len(build.failed(document)) == 3
    told = text + staged.validation.read_text() + caplog.text
    values = {str(value) for column in build.source().columns for value in column.to_pylist()} | {"y30s", "z213-"}
    assert [value for value in values if value in told] == []


def test_csv_with_other_records_is_not_validated(staged):
    """The manifest fits what was written, as it would after a defect of the engine."""
    output = {"path": str(staged.staging / "share"), "formats": ["parquet", "csv"]}
    document = {**staged.job.document(), "output": output}
    staged.manifest_sha256 = run(document, build.source(), output=staged.release).manifest_sha256
    assert staged.validate(job=document)["success"] is True
    csv = staged.release / "data.csv"
    header, first, second, *others = csv.read_text().splitlines(keepends=True)
    csv.write_text("".join([header, *others, first, second]))
    staged.manifest_sha256 = write_manifest(staged.release)
    staged.refused("data.csv: is missing, or does not have the records of data.parquet", job=document)
    assert not staged.validation.exists()


def test_type_is_compared_with_the_source(staged):
    """The schema of the staged source decides, not that of the release."""
    staged.defect(lambda table: table.set_column(3, "days", table["days"].cast("int32")))
    text = staged.refused("does not meet 1 of 10 expectations")
    assert "column 'days' is int32, in the source it is int64" in text
    assert staged.validate(source=None)["success"] is True


def test_rows_are_compared_with_the_extraction(staged):
    """A template gives the number as text; another number of rows is refused."""
    assert staged.validate(source_rows="13")["success"] is True
    assert "and no more than the limit allows" in staged.refused("does not meet 1 of", source_rows="14")
    assert "the records of the source must be the rows" in staged.refused("does not meet 2 of", source_rows="15")


def test_rows_are_those_of_the_staged_file_unless_they_are_given(staged):
    """They are not in an XCom, from which everybody would know how many were left out."""
    assert staged.validate(source_rows=None)["success"] is True
    pq.write_table(pa.concat_tables([build.source()] * 2), staged.source)
    staged.refused("does not meet", source_rows=None)


def test_the_result_tells_no_number_of_records_left_out(staged):
    """13 records less 12 rows."""
    staged.validate()
    document = json.loads(staged.validation.read_text())
    assert not re.search(r"(?<![\w.])13(?![\w.])", json.dumps({**document, "validated_at": None, "salt": None}))


def rewrite(staged):
    """Change a value and make a manifest that fits."""
    data = staged.release / "data.parquet"
    pq.write_table(build.changed(pq.ParquetFile(data).read(), "age", 0, "y40s"), data)
    write_manifest(staged.release)


TAMPERED = {
    "byte flipped": (flip_byte, "data.parquet: does not match manifest.json"),
    "file added": (lambda staged: (staged.release / "extra.csv").write_text("x"), "differ in extra.csv"),
    "file removed": (lambda staged: (staged.release / "job.yaml").unlink(), "differ in job.yaml"),
    "folder added": (lambda staged: (staged.release / "more").mkdir(), "holds a folder"),
    "manifest replaced": (rewrite, "manifest.json is not the one that was written"),
    "manifest removed": (lambda staged: (staged.release / "manifest.json").unlink(), "has no manifest.json"),
    "release moved away": (
        lambda staged: staged.release.rename(staged.staging / "elsewhere"),
        "release: not found; clear the whole run",
    ),
}


@pytest.mark.parametrize("tampering", TAMPERED.values(), ids=TAMPERED)
def test_tampering(staged, tampering):
    """A changed folder is refused for good, and the success of an earlier try does not outlive it."""
    tamper, message = tampering
    staged.validate()
    tamper(staged)
    text = staged.refused(message)
    assert ".validate-" not in text
    assert not staged.validation.exists()
    assert not list(staged.staging.glob(".*"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"manifest_sha256": None},
            "manifest_sha256: is missing, because the task before, which gives it, left no result",
        ),
        ({"manifest_sha256": ""}, "is not the one that was written"),
        ({"source_rows": None, "source": None}, "source_rows must be a whole number"),
        ({"source_rows": "None"}, "source_rows must be a whole number"),
        ({"source": "nowhere/source.parquet"}, "nowhere/source.parquet: not found"),
        ({"job": {"name": "persons"}}, "privacy: this key is required"),
    ],
)
def test_what_the_tasks_before_did_not_say(staged, changes, message):
    """Nothing is taken for granted that an earlier task has to say."""
    staged.refused(message, **changes)
    assert not staged.validation.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("report.json", b"[]", "report.json: is not a JSON object"),
        ("report.json", b"{", "report.json: is not a JSON object"),
        ("report.json", b'{"rows": 1, "rows": 2}', "report.json: is not a JSON object"),
        ("report.json", b'{"rows": NaN}', "report.json: is not a JSON object"),
        ("report.json", b"[" * 100_000, "report.json: is not a JSON object"),
        ("report.json", b"{}", "report: names no solution"),
        ("data.parquet", b"PAR1", "data.parquet: cannot be read"),
    ],
)
def test_unreadable_file(staged, name, content, message):
    """A file that fits its manifest and cannot be read is refused."""
    (staged.release / name).write_bytes(content)
    staged.manifest_sha256 = write_manifest(staged.release)
    staged.refused(message)


def test_another_job(staged):
    """The job says what must hold: a stricter one refuses what a weaker one made."""
    stricter = {**staged.job.document(), "privacy": [{"model": "k-anonymity", "k": 7}]}
    assert "observed 6, required 7" in staged.refused("does not meet", job=stricter)


def test_file_address(staged):
    """`file://` addresses, with or without a slash at the end, are local folders."""
    result = staged.validate(release=f"file://{staged.release}/", source=f"file://{staged.source}")
    assert result["validation_sha256"] == hashlib.sha256(staged.validation.read_bytes()).hexdigest()


def test_object_store(staged):
    """A release in an object store is validated as a private copy; the result lies beside it, and no copy is left."""
    attach("memory", fs=fsspec.filesystem("memory"))
    remote = ObjectStoragePath("memory://bucket/run")
    (remote / "release").mkdir(parents=True)
    for path in [*staged.release.iterdir(), staged.source]:
        target = remote / "release" / path.name if path.parent == staged.release else remote / path.name
        target.write_bytes(path.read_bytes())
    addresses = {"release": "memory://bucket/run/release", "source": "memory://bucket/run/source.parquet"}
    result = staged.validate(**addresses)
    content = (remote / "validation.json").read_bytes()
    assert result["validation_sha256"] == hashlib.sha256(content).hexdigest()
    (remote / "release" / "data.parquet").write_bytes(b"PAR1")
    staged.refused("data.parquet: does not match", **addresses)
    assert not (remote / "validation.json").exists()


def test_copy_is_private_and_removed(staged, monkeypatch):
    """While Great Expectations runs, the copy is the owner's alone; an error leaves nothing of it."""
    seen = []

    def look(table, suite, memory):
        seen.extend((path.name, stat.S_IMODE(path.stat().st_mode)) for path in staged.staging.glob(".validate-*"))
        raise RuntimeError("out of memory")

    monkeypatch.setattr("airflow_anon.expectations.run.run_suite", look)
    with pytest.raises(AirflowException, match="ended unexpectedly with RuntimeError"):
        staged.validate()
    assert [mode for _, mode in seen] == [0o700]
    assert sorted(path.name for path in staged.staging.iterdir()) == ["release", "source.parquet"]


def test_a_validation_that_is_killed_ends_and_leaves_no_copy(staged, monkeypatch):
    """Airflow's handler of SIGTERM calls `on_kill` and goes on: a pod would work on for its period of grace."""
    operator = staged.operator()
    monkeypatch.setattr("airflow_anon.expectations.run.run_suite", lambda *_: operator.on_kill())
    with pytest.raises(SystemExit):
        operator.execute({})
    assert sorted(path.name for path in staged.staging.iterdir()) == ["release", "source.parquet"]
    operator.on_kill()


KEY = b"k" * 32


def placed(path, key=KEY):
    """Write a key of fingerprints; return its place."""
    path.write_bytes(key)
    path.chmod(0o600)
    return str(path)


def test_a_release_is_not_judged_by_hierarchies_that_were_changed_since(tmp_path):
    staged = Staged(tmp_path, fingerprint_key=KEY)
    key = placed(tmp_path / "fingerprint.key")
    assert staged.validate(fingerprint_key=key)["success"] is True
    file = next(path for path in (tmp_path / "hierarchies").iterdir() if path.name.startswith("age"))
    rows = file.read_text().splitlines()
    file.write_text("\n".join([*rows, rows[0].replace(rows[0].split(";")[0], "999", 1)]))
    told = staged.refused("column 'age': the hierarchy file .* is not as it was", fingerprint_key=key)
    assert "or clear the run" in told
    assert "999" not in told
    # without its key nobody can tell: as releases of earlier versions
    assert staged.validate(fingerprint_key=placed(tmp_path / "another.key", b"o" * 32))["success"] is True


def test_a_key_that_is_not_there_is_no_reason_to_refuse_a_release(tmp_path, capsys):
    staged = Staged(tmp_path, fingerprint_key=KEY)
    assert staged.validate(fingerprint_key="no_such_connection")["success"] is True
    assert "Not known whether the hierarchies are those of the release" in capsys.readouterr().out
