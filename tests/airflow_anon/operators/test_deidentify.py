"""The engine inside a task: what comes back, what ends the task for good, what is left."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import ObjectStoragePath
from airflow.sdk.io import attach
from fsspec.implementations.memory import MemoryFileSystem

import engine
from airflow_anon.operators.deidentify import DeidentifyTableOperator
from airflow_anon.operators.what_was_read import note_what_was_read
from airflow_anon.run import progress as progress_module
from tests.airflow_anon.nights.night import connection_of

AGES = {"builder": "interval", "lower": 0, "upper": 100, "widths": [10]}
JOB = {
    "name": "persons",
    "source": {"conn_id": "warehouse", "table": "person"},
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": AGES},
        "diagnosis": {"role": "sensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "suppression_limit": 0.25,
    "output": {"conn_id": "share", "table": "person"},
}
TABLE = pa.table({"age": [21, 24, 30, 39, 75], "diagnosis": ["A00", "B00", "C00", "D00", "E00"]})


@pytest.fixture
def staging(tmp_path):
    pq.write_table(TABLE, tmp_path / "source.parquet")
    return tmp_path


def execute(staging, source=None, extracted=None, key=None, **changes):
    operator = DeidentifyTableOperator(
        task_id="deidentify",
        job={**JOB, **changes},
        source=source or f"{staging}/source.parquet",
        staging=str(staging),
        extracted=extracted,
        fingerprint_key=key,
    )
    return operator.execute({})


def test_release_and_metrics(staging):
    """One of five records stands alone in every interval of ten years, so it is left out and two pairs are left.

    One is too few for its number to be told, or that of the source.
    """
    result = execute(staging)
    folder = staging / "release"
    assert result["release"] == str(folder)
    assert result["manifest_sha256"] == hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert pq.read_table(folder / "data.parquet")["age"].to_pylist() == [
        "[20, 30[",
        "[20, 30[",
        "[30, 40[",
        "[30, 40[",
    ]
    loss, bound = (result.pop(name) for name in ("information_loss", "lower_bound"))
    assert 0 < bound <= loss < 1
    metrics = result.pop("metrics")
    assert (metrics.pop("information_loss"), metrics.pop("lower_bound")) == (loss, bound)
    del result["release"], result["manifest_sha256"]
    assert metrics == result
    assert result == {
        "rows": None,
        "released": 4,
        "suppressed": None,
        "suppressed_share": None,
        "optimal": True,
        "levels": {"age": 1},
        "prosecutor_risk": 0.5,
        "journalist_risk": 0.5,
        "marketer_risk": 0.5,
        "smallest_class": 2,
        "privacy_margin": 0.0,
    }


def test_result_survives_the_metadata_database(staging):
    """XCom turns numpy numbers into something else and refuses NaN: plain JSON comes back as it went in."""
    result = execute(staging)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert {type(value) for value in result.values()} <= {str, int, float, bool, dict, type(None)}


def test_everything_suppressed_is_plain_as_well(staging):
    changes = {"suppression_limit": 1.0, "allow_empty_information": True}
    result = execute(staging, privacy=[{"model": "k-anonymity", "k": 6}], **changes)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert (result["released"], result["suppressed_share"], result["smallest_class"]) == (0, None, None)


LEVELS_0 = {
    "age": {"role": "quasi-identifying", "hierarchy": AGES, "maximum_level": 0},
    "diagnosis": {"role": "sensitive"},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"atributes": {}}, "InvalidJob: job: atributes: unknown key 'atributes', did you mean 'attributes'"),
        ({"attributes": LEVELS_0, "suppression_limit": 0}, "NoSolution: no transformation of the table satisfies"),
        ({"attributes": {"age": LEVELS_0["age"]}}, "InvalidData: source: column number 2 of its 2 is not named"),
    ],
)
def test_what_no_retry_can_mend_fails_for_good(staging, changes, message):
    with pytest.raises(AirflowFailException, match="(?s)^" + message):
        execute(staging, **changes)
    assert [path.name for path in staging.iterdir()] == ["source.parquet"]


def test_a_value_without_a_hierarchy_entry_is_counted_and_not_told(staging):
    pq.write_table(TABLE.set_column(0, "age", [["21", "24", "30", "39", "seventy-five"]]), staging / "source.parquet")
    with pytest.raises(AirflowFailException, match="'age'") as caught:
        execute(staging)
    assert "seventy-five" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert [path.name for path in staging.iterdir()] == ["source.parquet"]


def test_a_full_disk_may_be_mended_by_a_retry(staging, monkeypatch):
    """Only what the engine says on purpose ends the task for good."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(engine, "run", full, raising=False)
    with pytest.raises(AirflowException, match="No space left") as caught:
        execute(staging)
    assert not isinstance(caught.value, AirflowFailException)


@pytest.mark.postgres
def test_a_table_that_no_release_can_get_ends_it_before_the_run(staging, postgres_database, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHARE", connection_of(postgres_database))
    with sa.create_engine(postgres_database).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE person (age text PRIMARY KEY, diagnosis text)")
    with pytest.raises(AirflowFailException, match="output table 'person': its key 'person_pkey'"):
        execute(staging)
    assert not (staging / "release").exists()


def test_a_retry_replaces_what_a_killed_try_left(staging):
    """A killed process leaves a foreign folder and the engine's temporary one; neither stops the retry."""
    for leftover in ("release", ".release.0123.new"):
        (staging / leftover).mkdir()
        (staging / leftover / "half").write_text("half")
    execute(staging)
    assert sorted(path.name for path in staging.iterdir()) == ["job_read.json", "release", "source.parquet"]
    engine.check_manifest(staging / "release")


def test_a_missing_source_says_what_to_clear(tmp_path):
    with pytest.raises(AirflowFailException, match=r"source\.parquet: is not there; .*clear the whole run"):
        execute(tmp_path)


def test_a_worker_that_does_not_see_the_volume_says_so(tmp_path):
    """The run's folder was made before, so that where it is missing too, this is another disk."""
    with pytest.raises(
        AirflowFailException,
        match=r"source\.parquet: is not there, nor is its folder: mount the volume of AIRFLOW_ANON_S",
    ):
        execute(tmp_path / "elsewhere")


def test_remote_staging_goes_through_private_copies(monkeypatch, tmp_path):
    """The engine sees files in folders of mode 0700 that are gone afterwards; the release is whole in the store."""
    attach("memory", fs=MemoryFileSystem())
    staging = ObjectStoragePath(f"memory://staging-{uuid.uuid4().hex}/run")
    staging.mkdir(parents=True)
    with (staging / "source.parquet").open("wb") as file:
        pq.write_table(TABLE, file)
    (staging / "release").mkdir()
    (staging / "release" / "stale").write_bytes(b"of an earlier try")
    seen = []
    run = engine.run

    def spy(job, output, **others):
        seen.extend([Path(job.source.path), Path(output)])
        assert [path.parent.stat().st_mode & 0o077 for path in seen] == [0, 0]
        return run(job, output=output, **others)

    monkeypatch.setattr(engine, "run", spy, raising=False)
    result = execute(staging, source=str(staging / "source.parquet"))
    assert result["release"] == str(staging / "release")
    assert not any(path.parent.exists() for path in seen)
    for file in ObjectStoragePath(result["release"]).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    engine.check_manifest(tmp_path, result["manifest_sha256"])


def test_log_tells_an_auditor_the_figures_and_no_value(staging, capsys):
    execute(staging)
    log = capsys.readouterr().out
    assert "4 records are released; fewer than 2 are left out" in log
    assert "Generalization levels: age 1" in log
    assert "2-anonymity: observed 2" in log
    assert "prosecutor 0.500000" in log
    assert not any(code in log for code in TABLE["diagnosis"].to_pylist())


def test_identifiers_that_repeat_in_the_warehouse_are_a_question_to_the_job(staging):
    """They are not in the staged file, so the extraction says it."""
    extracted = {"path": "x", "repeats": {"mrn": True}}
    with pytest.raises(
        AirflowFailException, match=r"'mrn': several records have the same value.*subject.*unit: record"
    ):
        execute(staging, extracted=extracted)
    execute(staging, extracted=extracted, unit="record")
    report = json.loads((staging / "release" / "report.json").read_text())
    assert report["lint"]["unit"] == "record"
    assert not [finding for finding in report["lint"]["findings"] if finding["column"] == "mrn"]


def test_nearly_unique_values_are_refused_without_a_value(staging):
    table = pa.table({"age": [21] * 200, "diagnosis": [f"SECRET{n}" for n in range(200)]})
    pq.write_table(table, staging / "source.parquet")
    with pytest.raises(AirflowFailException, match=r"'diagnosis'.*at least 90%.*accept: unique") as refused:
        execute(staging)
    assert "SECRET" not in str(refused.value)
    assert not (staging / "release").exists()


def test_progress_is_logged_at_intervals(caplog, monkeypatch):
    """Of reports at 0, 5, 20, 21 and 40 seconds those at 20 and 40 are due."""
    clock = iter([0.0, 0.0, 5.0, 20.0, 21.0, 40.0])
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    progress = progress_module.LoggedProgress(logging.getLogger("progress"))
    with caplog.at_level(logging.INFO):
        for number in range(5):
            progress({"checked": number, "solutions": max(0, number - 3)})
    assert [record.getMessage() for record in caplog.records] == [
        "Searching for 20 seconds",
        "Searching for 40 seconds; a transformation that does is found",
    ]


READ = {"table": None, "query": "SELECT age FROM person WHERE day = '...'", "query_sha256": "5" * 64}


@pytest.mark.parametrize(
    ("read", "written", "told"),
    [
        (READ, {"query": "SELECT age FROM person WHERE day = '{{ ds }}'"}, [READ["query"], READ["query_sha256"]]),
        ({**READ, "query": None}, {"query": "x"}, ["whose literals cannot be told", READ["query_sha256"]]),
        ({**READ, "query": "SELECT\n'...'\x00\u2028age: [}"}, {"query": "x"}, ["SELECT '...' age: [}"]),
        ({"table": "person_3"}, {"table": "person_{{ ds }}"}, ["source.table was rendered to: person_3"]),
        ({"table": "person"}, {"table": "person"}, []),
        ({"query_sha256": hashlib.sha256(b"SELECT 1").hexdigest()}, {"query": "SELECT 1"}, []),
        (None, {"table": "person"}, []),
    ],
)
def test_the_job_of_a_release_says_what_was_read(staging, read, written, told):
    """In comments: it is the same job, and the manifest knows the file."""
    job = engine.load_job({**JOB, "source": {"conn_id": "warehouse", **written}})
    extracted = None if read is None else {"rows": 5, "read": read}
    arguments = {"source": f"{staging}/source.parquet", "staging": str(staging), "extracted": extracted}
    result = DeidentifyTableOperator(task_id="deidentify", job=job, **arguments).execute({})
    text = (staging / "release/job.yaml").read_text()
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert bool(comments) == bool(told)
    assert all(any(words in line for line in comments) for words in told)
    assert engine.load_job(staging / "release/job.yaml").document() == job.document()
    assert engine.check_manifest(staging / "release", result["manifest_sha256"])["name"] == JOB["name"]


def test_the_job_of_a_release_says_what_was_read_of_the_population(tmp_path):
    """Beside what was read of the table, each under its own key."""
    written = {"conn_id": "census", "query": "SELECT * FROM people WHERE day = '{{ ds }}'"}
    job = engine.load_job({**JOB, "frontier": {"population": written}})
    people = {"read": {**READ, "query": "SELECT * FROM people WHERE day = '...'"}}
    (tmp_path / "job.yaml").write_text(str(job))
    assert note_what_was_read(tmp_path, job, None, people) is not None
    text = (tmp_path / "job.yaml").read_text()
    assert "# frontier.population.query was rendered to, with '...' for its literals: SELECT * FROM people" in text
    assert READ["query_sha256"] in text
    assert "# source" not in text
    assert engine.load_job(tmp_path / "job.yaml").sha256 == job.sha256
    assert note_what_was_read(tmp_path, job, None, {"read": {"table": None, "query_sha256": None}}) is None


def report_of(staging):
    return json.loads((staging / "release" / "report.json").read_bytes())


def test_the_report_has_the_digests_of_hierarchies_under_the_key_of_the_installation(staging):
    """The same key in another run has the same id, and nothing that leaves the task holds it."""
    (staging / "fingerprint.key").write_text("k" * 32)
    (staging / "fingerprint.key").chmod(0o600)
    told = [execute(staging, key=str(staging / "fingerprint.key")) for _ in range(2)]
    stated = report_of(staging)["hierarchies"]
    assert stated["digests"].keys() == {"age"}
    assert engine.hierarchies_problem(engine.load_job(JOB), report_of(staging), b"k" * 32) is None
    wider = {**JOB["attributes"], "age": {**JOB["attributes"]["age"], "hierarchy": {**AGES, "widths": [20]}}}
    changed = engine.load_job({**JOB, "attributes": wider})
    assert "column 'age'" in engine.hierarchies_problem(changed, report_of(staging), b"k" * 32)
    assert "k" * 32 not in json.dumps(told) + json.dumps(report_of(staging))


def test_without_a_key_the_night_goes_on_and_the_log_tells(staging, capsys):
    execute(staging, key="no_such_connection")
    assert "hierarchies" not in report_of(staging)
    assert "does not say with which hierarchies it is made" in capsys.readouterr().out
