"""Counting what changed gives what counting all rows gives; whatever does not fit is counted in full."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.operators.deidentify import DeidentifyTableOperator
from airflow_anon.transport import counted_rows, incremental_read
from airflow_anon.transport.counted_rows import NotCountedError, as_bytes
from airflow_anon.transport.counted_source import counted_source
from airflow_anon.transport.incremental_read import CHANGES_ALONE
from airflow_anon.transport.kept_table import State, sha256_of
from engine import EngineError, counted_columns, load_job, run, why_counted_in_full
from tests.airflow_anon.operators.changing_source import OVERLAP, WAYS
from tests.airflow_anon.operators.test_incremental import NIGHTS, applied, night, sqlite_source
from tests.profiles import examples

COUNTED = ["age", "stay", "diagnosis"]
MODELS = [
    [{"model": "k-anonymity", "k": 2}],
    [{"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}],
    [{"model": "l-diversity", "variant": "shannon-entropy", "attribute": "diagnosis", "l": 2}],
    [{"model": "l-diversity", "variant": "recursive", "attribute": "diagnosis", "c": 2, "l": 2}],
    [{"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.4}],
]


@pytest.fixture(autouse=True)
def _small_tables_are_worth_it(monkeypatch):
    monkeypatch.setattr(counted_rows, "ROWS_PER_COMBINATION", 1)


@pytest.fixture
def one(tmp_path, monkeypatch):
    return sqlite_source(tmp_path, monkeypatch)


def document(folder, privacy=MODELS[0], **changes):
    """Give a job of the table `person`; texts that look like I10 have one label, and each number is its own."""
    hierarchy = folder / "stay.csv"
    with hierarchy.open("w", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows((str(value), str(value % 2), "*") for value in range(10))
    quasi = {"age": {"builder": "age"}, "stay": str(hierarchy)}
    return {
        "name": "people",
        "source": {"conn_id": "warehouse", "table": "person"},
        "unit": "record",
        "attributes": {
            **{name: {"role": "identifying"} for name in ("mrn", "version", "is_deleted")},
            **{name: {"role": "quasi-identifying", "hierarchy": one} for name, one in quasi.items()},
            "diagnosis": {"role": "sensitive"},
        },
        "incremental": {
            "key": "mrn",
            "changed": "version",
            "list_keys": True,
            "overlap": OVERLAP,
            "kept_in": str(folder / "kept"),
        },
        "privacy": privacy,
        "suppression_limit": 0.6,
        "allow_empty_information": True,
        **changes,
    }


def told(job, path, table=None):
    """Give the report and the release of a run, but for times and the order of records; or its refusal."""
    try:
        result = run(job.with_source(path), table)
        rows = Counter(map(repr, result.table.to_pylist()))
    except EngineError as problem:
        return type(problem).__name__, str(problem)
    report = {key: value for key, value in result.report.items() if key not in {"timings", "search"}}
    return report, result.table.schema, rows


def counted(result, **arguments):
    return counted_source(Path(result["path"]), result["path"], **arguments)


def counts_in(result):
    """Give the combinations of a staged table, counted anew."""
    return Counter(tuple(row.values()) for row in pq.read_table(result["path"], columns=COUNTED).to_pylist())


def handed_over(result):
    table = pq.read_table(Path(result["path"]).parent / "counts.parquet")
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert len({row[:-1] for row in rows}) == len(rows)
    return {row[:-1]: row[-1] for row in rows}


@pytest.mark.parametrize("way", list(WAYS))
@settings(max_examples=examples(30))
@given(nights=NIGHTS, privacy=st.sampled_from(MODELS), backend=st.sampled_from(["arrow", "duckdb"]))
def test_nights_are_those_of_full_counts(way, nights, privacy, backend):
    """Values that come and vanish, missing ones, combinations that go: counts and releases are those of all rows."""
    if backend == "duckdb":
        pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(counted_rows, "ROWS_PER_COMBINATION", 1)
        source = sqlite_source(Path(folder), patch, way)
        job = load_job(document(Path(folder), privacy, backend=backend))
        for operations, is_published in nights:
            for operation in operations:
                applied(source, operation)
            if not source.rows:
                source.write(0, (50, None, "I10"))
            result = source.extract(counted=COUNTED)
            assert handed_over(result) == counts_in(result)
            table = counted(result)
            full = source.in_full()
            assert told(job, result["path"], table) == told(job, full["path"])
            assert table.asked
            assert result["fingerprint"] == full["fingerprint"]
            if is_published:
                source.keep(result)
        source.engine.dispose()


def test_only_changes_are_counted(one, monkeypatch, caplog):
    """After the first night no row that stays is counted, and the counts are kept with the rows."""
    for key in range(20):
        one.write(key, (key % 3, key % 2, "I10"))
    night(one, counted=COUNTED)
    assert len(list((one.folder / "kept").glob("table-*.counts"))) == 1
    one.write(3, (99, 2, "E11"), late=OVERLAP)
    one.remove(4)
    one.write(30, (30, None, None))
    monkeypatch.setattr(incremental_read, "counts_of", None)
    with caplog.at_level("INFO"):
        result = night(one, counted=COUNTED)
    assert result["incremental"] == CHANGES_ALONE
    assert "Counting: only what changed" in caplog.text
    assert handed_over(result) == counts_in(result)


@pytest.mark.parametrize("how", ["lost", "changed", "columns", "type"])
def test_kept_counts_that_do_not_fit_are_made_anew(one, caplog, how):
    """The rows that are kept are used all the same."""
    one.write(1, (20, 1, "I10"))
    night(one, counted=COUNTED if how != "columns" else COUNTED[:2])
    [kept] = (one.folder / "kept").glob("table-*.counts")
    if how == "lost":
        kept.unlink()
    elif how == "changed":
        kept.write_bytes(kept.read_bytes() + b"x")
    elif how == "type":
        # correctly sealed, and of another column type: as a version that stored it otherwise would leave it
        table = pq.read_table(kept)
        content = as_bytes(table.set_column(0, "age", table["age"].cast(pa.string())))
        resealed(one, kept, content)
    one.write(2, (30, 1, "I10"))
    with caplog.at_level("INFO"):
        result = one.extract(counted=COUNTED)
    assert result["incremental"] == CHANGES_ALONE
    assert "Counting: all rows, because" in caplog.text
    assert handed_over(result) == counts_in(result)


def resealed(source, kept, content):
    """Put other counts into what is kept, with the seal that fits them."""
    from airflow_anon.transport.fingerprint_key import fingerprint_key  # noqa: PLC0415 (needs AIRFLOW_HOME)

    key, place = fingerprint_key(), source.folder / "kept" / "state.json"
    whole = json.loads(place.read_text())
    state = State.opened(whole["state"], key)
    changed = State(**{**state.__dict__, "counts_sha256": hashlib.sha256(content).hexdigest()})
    place.write_text(json.dumps({**whole, "state": changed.sealed(key)}))
    kept.write_bytes(content)


@pytest.mark.parametrize("change", [[1, 1], [1, -1], [0, 1]])
def test_kept_counts_that_are_wrong_are_noticed(one, caplog, change):
    """Wrong counts with a right seal do not come to the rows, or rows are gone that were not there."""
    for key in range(2):
        one.write(key, (20 + key, 1, "I10"))
    night(one, counted=COUNTED)
    [kept] = (one.folder / "kept").glob("table-*.counts")
    table = pq.read_table(kept)
    numbers = [max(0, number + one) for number, one in zip(table[3].to_pylist(), change, strict=True)]
    if sum(numbers) == 2:
        one.remove(1 if table["age"].to_pylist()[numbers.index(0)] == 21 else 0)
    resealed(one, kept, as_bytes(table.set_column(3, table.schema.names[3], pa.array(numbers, pa.int64()))))
    one.write(5, (70, 1, "I10"))
    with caplog.at_level("INFO"):
        result = one.extract(counted=COUNTED)
    assert "Counting: all rows, because" in caplog.text
    assert handed_over(result) == counts_in(result)


def test_many_combinations_are_not_handed_over(one, caplog, monkeypatch):
    monkeypatch.setattr(counted_rows, "ROWS_PER_COMBINATION", 8)
    one.write(1, (20, 1, "I10"))
    with caplog.at_level("INFO"):
        result = night(one, counted=COUNTED)
    assert "too many different combinations" in caplog.text
    assert not (Path(result["path"]).parent / "counts.parquet").exists()
    with pytest.raises(NotCountedError, match="handed over no counts"):
        counted(result)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("no counts", "handed over no counts"),
        ("no seal", "handed over no counts"),
        ("counts", "not those of the staged table"),
        ("source", "not those of the staged table"),
        ("another night", "not those of the staged table"),
        ("document", "damaged, changed"),
        ("seal", "damaged, changed"),
        ("key", "damaged, changed"),
        ("number", "do not come to the records"),
        ("type", "other columns than the table, or other types"),
    ],
)
def test_what_does_not_match_is_counted_in_full(one, how, why):
    for key in range(4):
        one.write(key, (20 + key % 2, 1, "I10"))
    before = one.extract(counted=COUNTED)
    one.write(2, (90, 1, "E11"))
    result = one.extract(counted=COUNTED)
    staged = Path(result["path"]).parent
    arguments = {}
    if how in {"no counts", "no seal"}:
        (staged / {"no counts": "counts.parquet", "no seal": "kept.json"}[how]).unlink()
    elif how == "counts":
        table = pq.read_table(staged / "counts.parquet")
        (staged / "counts.parquet").write_bytes(as_bytes(table.take(list(reversed(range(table.num_rows))))))
    elif how == "source":
        pq.write_table(pq.read_table(result["path"]).slice(1), result["path"])
    elif how == "another night":
        for name in ("counts.parquet", "kept.json"):
            shutil.copy(Path(before["path"]).parent / name, staged / name)
    elif how == "document":
        (staged / "kept.json").write_text("{")
    elif how == "seal":
        state = json.loads((staged / "kept.json").read_text())
        (staged / "kept.json").write_text(json.dumps({**state, "counts_sha256": "0" * 64}))
    elif how == "key":
        (one.folder / "other.key").write_text("k" * 64)
        (one.folder / "other.key").chmod(0o600)
        arguments = {"key": str(one.folder / "other.key")}
    else:
        wrongly_sealed(staged, how)
    with pytest.raises(NotCountedError, match=why):
        counted(result, **arguments)


def wrongly_sealed(staged, how):
    """Seal counts that are not of the table, as a defect of the extraction would."""
    from airflow_anon.transport.fingerprint_key import fingerprint_key  # noqa: PLC0415 (needs AIRFLOW_HOME)

    table, key = pq.read_table(staged / "counts.parquet"), fingerprint_key()
    other = table.set_column(0, "age", table["age"].cast(pa.string()))
    table = table.slice(1) if how == "number" else other
    (staged / "counts.parquet").write_bytes(as_bytes(table))
    state = State.opened(json.loads((staged / "kept.json").read_text()), key)
    with (staged / "source.parquet").open("rb") as file:
        sha256 = {"sha256": sha256_of(file), "counts_sha256": hashlib.sha256(as_bytes(table)).hexdigest()}
    (staged / "kept.json").write_text(json.dumps(State(**{**state.__dict__, **sha256}).sealed(key)))


def test_a_job_that_changed_is_counted_with_the_same_counts(one):
    """Counts are of values: another hierarchy, other words for a missing value and other models read them anew."""
    for key in range(12):
        one.write(key, (20 + key % 3, key % 4, "IE"[key % 2]))
    result = night(one, counted=COUNTED)
    for changes in (
        {"privacy": MODELS[1]},
        {"privacy": [{"model": "k-anonymity", "k": 3}], "suppression_limit": 0.0},
        {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "missing": ["21"]}},
    ):
        written = document(one.folder, **{name: value for name, value in changes.items() if name != "age"})
        written["attributes"] |= {name: value for name, value in changes.items() if name == "age"}
        table, job = counted(result), load_job(written)
        assert told(job, result["path"], table) == told(job, result["path"])
        assert table.asked


def test_a_column_that_was_not_counted_is_read(one):
    """A model that names another column since the extraction."""
    one.write(1, (20, 1, "I10"))
    result = night(one, counted=COUNTED[:2])
    table, job = counted(result), load_job(document(one.folder, MODELS[1]))
    assert told(job, result["path"], table) == told(job, result["path"])
    assert not table.asked


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sample": {"fraction": 0.5}}, "a sample"),
        ({"privacy": [*MODELS[0], {"model": "average-risk", "threshold": 0.5}]}, "a model of the table as a whole"),
        ({}, None),
    ],
)
def test_why_a_job_is_counted_in_full(tmp_path, changes, why):
    job = load_job(document(tmp_path, **changes))
    assert why_counted_in_full(job) == why
    assert counted_columns(job) == ("age", "stay")


@pytest.mark.parametrize("is_lost", [False, True])
def test_the_task_says_who_counted(one, capsys, is_lost):
    """A release is made either way; a retry after a kill between the two files counts all rows."""
    for key in range(6):
        one.write(key, (20, 1, "I10"))
    result = night(one, counted=COUNTED)
    staging = Path(result["path"]).parent
    if is_lost:
        (staging / "kept.json").unlink()
    operator = DeidentifyTableOperator(
        task_id="deidentify", job=document(one.folder), source=result["path"], staging=str(staging)
    )
    operator.execute({})
    assert ("Counting: all rows, because the extraction handed over no counts" in capsys.readouterr().out) == is_lost
    assert (staging / "release" / "manifest.json").is_file()


def test_floats_of_different_bits_stay_apart():
    """0.0, -0.0, not a number and a missing value are four values, taken away as they came."""
    values = pa.table({"x": pa.array([0.0, -0.0, float("nan"), None, 0.0])})
    counts = counted_rows.Counts(["x"])
    counts.add(values)
    counts.add(values.slice(0, 1), -1)
    counts.add(values.slice(2, 1), -1)
    found = counts.total(values.schema, 3).to_pylist()
    assert sorted((repr(row["x"]), row[counted_rows.ROWS]) for row in found) == [("-0.0", 1), ("0.0", 1), ("None", 1)]
