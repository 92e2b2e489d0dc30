"""Spark releases the same as the engine itself; what it cannot do, and what goes wrong, it says and leaves nothing.

Few runs over wide tables: each costs seconds of Java. `make test-thorough` runs the whole contract.
"""

from __future__ import annotations

import csv
import datetime as dt
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import engine.backends.spark_session
import engine.job.counting
import engine.pipeline.unverified
from engine import InvalidData, InvalidJob, load_job, run
from engine.backends.spark_backend import Spark
from engine.backends.spark_failures import explained
from engine.tables.sources.source import open_path
from tests.engine.backends.test_contract import ODD, TYPES, document_of, texts_of, told
from tests.engine.backends.test_data_sets import part
from tests.engine.backends.test_failures import BEFORE, PERSON, job_on, left, table, tells_nothing
from tests.spark import QUICK, need_spark

SPARK = {"spark": {"master": "local[2]", "config": {k: v for k, v in QUICK.items() if k != "spark.master"}}}


def agree(document, data=None):
    """Return what the engine and Spark release in common."""
    expected, found = (told({**document, "backend": backend}, data) for backend in ("arrow", "spark"))
    assert found == expected
    return found


def doubled(column):
    if pa.types.is_dictionary(column.type):
        return pa.concat_arrays([column.dictionary_decode()] * 2).dictionary_encode()
    return pa.concat_arrays([column] * 2)


KEPT = {kind: doubled(column) for kind, column in TYPES.items() if kind != "time"}
OLD = {
    "old_date": doubled(pa.array([dt.date(1, 1, 1), dt.date(1582, 10, 10), *[dt.date(9999, 12, 31)] * 7, None])),
    "old_time": doubled(pa.array([-(15 * 10**15), *[-1] * 8, None], pa.timestamp("us"))),
    "large_decimal": doubled(pa.array([Decimal(10**37), *[Decimal(-1)] * 9], pa.decimal128(38, 0))),
    "uint8": doubled(pa.array([255, *[0] * 9], pa.uint8())),
    "uint32": doubled(pa.array([2**32 - 1, *[0] * 9], pa.uint32())),
}


def test_columns_of_every_type_are_grouped_and_written_alike(spark, tmp_path):
    """Each is looked up as a quasi-identifier with its own values, and released once more as it is."""
    columns = {**KEPT, **OLD}
    data = pa.table({**columns, **{f"other {name}": column for name, column in columns.items()}})
    path = tmp_path / "source.parquet"
    pq.write_table(data, path, row_group_size=7)
    document = document_of([], path)
    for name in columns:
        texts = sorted(set(texts_of(pq.read_table(path)[name].combine_chunks())) - {None})
        hierarchy = tmp_path / f"{name}.csv"
        with hierarchy.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";").writerows((text, "*") for text in texts)
        document["attributes"][name] = {"role": "quasi-identifying", "hierarchy": str(hierarchy), "maximum_level": 0}
        document["attributes"][f"other {name}"] = {"role": "insensitive", "accept": "unique"}
    report, _, schema, rows = agree(document)
    assert report["solution"]["suppressed"] == 0
    assert sum(rows.values()) == 20
    assert schema.field("other berlin").type == pa.timestamp("ms", "Europe/Berlin")


def test_models_weights_and_values_without_an_entry_have_the_same_release(spark, tmp_path):
    """With columns of any name, missing values that are refused by none, and a population."""
    rows = [(str(age % 40), f"z{age % 3}", f"d{age % 7}", age) for age in range(400)] + [("99", "z9", "d0", None)] * 3
    ages, zips, illnesses, costs = (list(column) for column in zip(*rows, strict=True))
    names = {f"odd {name}": pa.array(["x", "y", None] * 134 + ["z"]) for name in ODD}
    data = pa.table({"age": ages, "Area": zips, "area": zips, "s": illnesses, "cost": costs, **names})
    path = tmp_path / "source.parquet"
    pq.write_table(data, path)
    pq.write_table(data.select(["age", "Area"]), tmp_path / "people.parquet")
    (tmp_path / "area.csv").write_text("z0;Z;*\nz1;Z;*\nz2;Y;*\n")
    document = document_of(["age", "Area"], path, suppression_limit=0.3)
    document["attributes"]["age"] |= {"hierarchy": {"builder": "interval", "widths": [10, 20]}, "weight": 0.5}
    document["attributes"]["Area"] |= {"hierarchy": str(tmp_path / "area.csv"), "unseen": "suppress"}
    document["attributes"] |= {"s": {"role": "sensitive"}, "cost": {"role": "insensitive", "accept": "unique"}}
    document["attributes"] |= {name: {"role": "insensitive"} for name in ["area", *names]}
    document["privacy"] = [
        {"model": "k-anonymity", "k": 3},
        {"model": "k-map", "k": 4, "population": str(tmp_path / "people.parquet")},
        {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2},
        {"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.6},
    ]
    for suppressed in ("star", "drop"):
        document["output"] = {"path": str(tmp_path / "release"), "suppressed": suppressed}
        report, *rest = agree(document)
        assert isinstance(report, dict), (report, rest)
        assert report["solution"]["suppressed"] >= 3
    assert sorted(left(tmp_path)) == sorted(
        ["release", "people.parquet", "source.parquet", "source.parquet.hierarchy.csv", "area.csv"]
    )


@pytest.mark.parametrize("stored", ["csv", "memory", "folder"])
def test_csv_files_tables_in_memory_and_folders_are_read_alike(spark, tmp_path, stored):
    values, others = ["a,b", "a\nb", "", "ü"] * 2, ["u", "", "v w", 'x"y'] * 2
    data = pa.table({"q": values, "s": others})
    path = tmp_path / "visits"
    document = document_of(["q"], path, values)
    document["attributes"]["s"] = {"role": "insensitive"}
    if stored == "csv":
        path.mkdir()
        for name in "xy":
            with (path / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("q", "s"), *zip(values, others, strict=True)])
    if stored == "folder":
        for place in ("2026", "a b", "ü", "__HIVE_DEFAULT_PARTITION__", "1.0", "x%2Fy"):
            folder = path / f"place={place}"
            folder.mkdir(parents=True)
            pq.write_table(part(*"aabb"), folder / "0.parquet")
            pq.write_table(part(*"aa"), folder / "1.parquet")
        hierarchy = document_of(["place"], tmp_path / "place", ["2026", "a b", "ü", "1.0", "x/y"])
        document["attributes"]["place"] = hierarchy["attributes"]["place"]
    report = agree(document, data if stored == "memory" else None)[0]
    assert report["rows"] == {"csv": 16, "memory": 8, "folder": 36}[stored]
    assert not [name for name in left(tmp_path) if name.startswith(".")]


def test_an_empty_table_and_a_column_of_folders_that_is_not_in_the_job_are_refused_alike(spark, tmp_path):
    path = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"q": pa.array([], pa.string())}), path)
    assert agree(document_of(["q"], path)) == (
        "InvalidData",
        "the table is empty: it has no records, so there is nothing to de-identify",
    )
    folder = tmp_path / "data" / "patient=4711"
    folder.mkdir(parents=True)
    pq.write_table(part("a", "a"), folder / "0.parquet")
    document = document_of(["q"], tmp_path / "data")
    document["attributes"]["s"] = {"role": "insensitive"}
    assert "its folders name the columns 'patient'" in agree(document)[1]
    other = part("a", "a").set_column(1, "s", pa.array([1, 2]))
    pq.write_table(other, folder / "1.parquet")
    assert "'s' (string and int64)" in agree(document)[1]


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("us"), pa.float16(), pa.list_(pa.int64())])
def test_a_type_that_spark_would_change_is_refused_before_anything_is_started(tmp_path, kind, monkeypatch):
    need_spark()
    monkeypatch.setattr(engine.backends.spark_session.Session, "spark", lambda _: pytest.fail("it was started"))
    values = pa.nulls(4, kind)
    pq.write_table(pa.table({"q": ["x"] * 4, "when": values}), tmp_path / "source.parquet")
    document = document_of(["q"], tmp_path / "source.parquet", backend="spark")
    document["attributes"]["when"] = {"role": "insensitive"}
    with pytest.raises(InvalidData, match=r"column 'when': Spark does not keep .* set backend: arrow"):
        run(document)


@pytest.mark.parametrize("old", ["INT96", "Spark 2"])
def test_dates_that_spark_reads_by_another_calendar_are_refused(spark, tmp_path, old):
    data = pa.table({"q": ["a"] * 2, "when": pa.array([-(15 * 10**9)] * 2, pa.timestamp("s"))})
    if old != "INT96":
        data = data.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    pq.write_table(data, tmp_path / "source.parquet", use_deprecated_int96_timestamps=old == "INT96")
    with Spark(folder=tmp_path) as backend, pytest.raises(InvalidData, match="column 'when': its dates are written"):
        list(backend.tuples(open_path(tmp_path / "source.parquet"), ["q", "when"]))


FOREIGN = {
    "subject": {"subject": "id", "unit": None},
    "sample": {"sample": {"fraction": 0.5}},
    "transformation": {"transformation": "local-recoding"},
    "privacy.0: average-risk": {"privacy": [{"model": "average-risk", "threshold": 0.5}]},
    "privacy.0: k-map with a subset": {"privacy": [{"model": "k-map", "k": 2, "subset": "people.csv"}]},
    "drift": {"drift": {"facts": "facts.json"}},
}


@pytest.mark.parametrize("named", list(FOREIGN))
def test_what_spark_does_not_do_is_refused_by_its_name_before_anything_is_read(tmp_path, named):
    document = document_of(["q"], tmp_path / "nothing.parquet", backend="spark")
    document["attributes"]["id"] = {"role": "identifying"}
    document = {key: value for key, value in {**document, **FOREIGN[named]}.items() if value is not None}
    with pytest.raises(InvalidJob, match=rf"{named}.*: backend spark does not do that"):
        load_job(document)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"backend": "duckdb"}, "spark: is of backend spark, and backend is duckdb"),
        ({"spark": {"remote": "http://host"}}, "spark.remote"),
        ({"spark": {"remote": "sc://host", "master": "local"}}, "name one of remote, master and conn_id"),
        ({"spark": {"remote": "sc://host", "conn_id": "cluster"}}, "name one of remote, master and conn_id"),
        ({"spark": {"remote": "sc://host/;use_ssl=true;token=x"}}, "has a token, .* name a connection as conn_id"),
        ({"spark": {"config": {"driver.memory": "1g"}}}, "'driver.memory': is no setting of Spark"),
        ({"spark": {"config": {"spark.master": "local"}}}, "spark.master: has a key of its own"),
    ],
)
def test_settings_of_spark_are_checked(tmp_path, changes, said):
    with pytest.raises(InvalidJob, match=said):
        load_job(document_of(["q"], tmp_path / "x.parquet", **{"backend": "spark", **SPARK, **changes}))


@pytest.mark.parametrize("backend", ["auto", "spark"])
def test_a_source_in_an_object_store_is_refused_with_the_fix(tmp_path, backend):
    document = {**document_of(["q"], tmp_path / "x.parquet"), "backend": backend}
    with pytest.raises(InvalidJob, match=r"source.*is an address, .*; mount the store, or copy the files"):
        load_job({**document, "source": {"path": "s3a://bucket/visits/"}})


def test_a_connection_is_read_by_airflow_alone(tmp_path):
    with pytest.raises(InvalidJob, match=r"spark.conn_id: is 'cluster', and only Airflow's tasks read connections"):
        run(document_of(["q"], tmp_path / "x.parquet", backend="spark", spark={"conn_id": "cluster"}))


def test_a_missing_extra_and_a_missing_java_are_told_apart(tmp_path, monkeypatch):
    pq.write_table(table(*"aabb"), tmp_path / "people.parquet")
    document = job_on(tmp_path / "people.parquet", backend="spark")
    with monkeypatch.context() as changed:
        changed.setitem(sys.modules, "pyspark", None)
        with pytest.raises(InvalidJob, match=r"install the extra 'spark' \(pip install 'airflow-anon\[spark\]'\)"):
            run(document)
    assert left(tmp_path) == BEFORE
    need_spark()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InvalidJob, match="needs Java 17 or newer, which is not found"):
        run(document)
    assert left(tmp_path) == BEFORE


@pytest.mark.parametrize("change", ["one more", "new value"])
def test_a_file_that_changes_after_it_was_counted_is_refused(spark, tmp_path, monkeypatch, change):
    path = tmp_path / "people.parquet"
    pq.write_table(table(*"aabb", PERSON), path)
    search = engine.pipeline.unverified._search

    def changing(*arguments):
        pq.write_table({"one more": table(*"aabbb", PERSON), "new value": table(*"aabb", "new")}[change], path)
        return search(*arguments)

    monkeypatch.setattr(engine.pipeline.unverified, "_search", changing)
    tells_nothing(monkeypatch)
    with pytest.raises(InvalidData) as problem:
        run(job_on(path, backend="spark"))
    assert PERSON not in str(problem.value)
    assert left(tmp_path) == BEFORE


def test_a_file_of_which_other_columns_change_is_refused(spark, tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    people = table(*"aabb")
    pq.write_table(people, path)
    search = engine.pipeline.unverified._search

    def changing(*arguments):
        pq.write_table(people.set_column(1, "s", pa.array(list("abcd"))), path)
        return search(*arguments)

    monkeypatch.setattr(engine.pipeline.unverified, "_search", changing)
    with pytest.raises(InvalidData, match="changed while it was read; the file was written, replaced or removed"):
        run(job_on(path, backend="spark"))
    assert left(tmp_path) == BEFORE


def test_records_that_spark_does_not_count_are_missed(spark, tmp_path, monkeypatch):
    path = tmp_path / "people.parquet"
    pq.write_table(table(*"aabb"), path)
    read = Spark._read
    monkeypatch.setattr(Spark, "_read", lambda *given: read(*given).limit(3))
    with pytest.raises(InvalidData, match="records were added or are gone"):
        run(job_on(path, backend="spark"))
    assert left(tmp_path) == BEFORE


def test_other_bits_than_those_of_a_checksum_are_refused(spark, tmp_path):
    path = tmp_path / "people.parquet"
    settings = {"compression": "none", "write_statistics": False, "use_dictionary": False}
    pq.write_table(table(*"aabb"), path, write_page_checksum=True, **settings)
    content = path.read_bytes()
    assert content.count(b"sb") == 2
    path.write_bytes(content.replace(b"sb", b"sc", 1))
    with Spark(folder=tmp_path) as backend, pytest.raises(InvalidData, match="cannot be read by Spark"):
        list(backend.tuples(open_path(path), ["q", "s"]))


def test_text_that_is_not_utf8_is_refused_by_its_column(spark, tmp_path):
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"]).buffers())
    pq.write_table(pa.table({"q": broken}), tmp_path / "source.parquet")
    with (
        Spark(folder=tmp_path) as backend,
        pytest.raises(InvalidData, match="column 'q': holds text that is not"),
    ):
        list(backend.tuples(open_path(tmp_path / "source.parquet"), ["q"]))
    assert left(tmp_path) == ["source.parquet"]


def test_a_damaged_file_is_refused_without_its_content(spark, tmp_path, monkeypatch):
    tells_nothing(monkeypatch)
    path = tmp_path / "people.parquet"
    pq.write_table(table(*[PERSON] * 1000), path, compression="none")
    source = open_path(path)
    content = bytearray(path.read_bytes())
    content[40:200] = b"\xff" * 160
    path.write_bytes(content)
    with Spark(folder=tmp_path) as backend, pytest.raises(InvalidData, match="cannot be read by Spark") as problem:
        list(backend.tuples(source, ["q", "s"]))
    assert PERSON not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("java.io.IOException: No space left on device", "a disk is full"),
        ("java.lang.OutOfMemoryError: Java heap space", "its memory is too small"),
        ("Py4JNetworkError: Answer from Java side is empty", "Spark ended while it worked"),
        ("SparkException: [JOB_CANCELLED] Job 1 was cancelled", "its query was cancelled"),
        ("[PATH_NOT_FOUND] Path does not exist", "does not see the files"),
        (f"cannot parse {PERSON}", "cannot be read by Spark"),
    ],
)
def test_errors_of_spark_are_explained_without_their_text(text, said):
    told_so = str(explained(text, "PySparkException"))
    assert said in told_so
    assert PERSON not in told_so


def test_nobody_elses_settings_change_and_the_session_stays(spark, tmp_path):
    before = spark.conf.getAll
    path = tmp_path / "people.parquet"
    pq.write_table(table(*"aabb"), path)
    assert run(job_on(path, backend="spark")).report["backend"] == "spark"
    assert spark.conf.getAll == before
    assert spark.range(3).count() == 3


def test_a_session_of_another_thread_stays_too(spark, tmp_path):
    """Spark tells of sessions by thread, and a run in a thread of a server is in another than the session."""
    before = spark.conf.getAll
    path = tmp_path / "people.parquet"
    pq.write_table(table(*"aabb"), path)
    with ThreadPoolExecutor(1) as other:
        reports = [other.submit(run, job_on(path, backend="spark")).result().report for _ in range(2)]
    assert [report["backend"] for report in reports] == ["spark", "spark"]
    assert spark.conf.getAll == before
    assert spark.range(3).count() == 3
