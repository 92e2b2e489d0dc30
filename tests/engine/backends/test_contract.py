"""Every backend releases the same: levels, suppressed records, sorted output and refusals are those of the others."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import itertools
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from engine import EngineError, run
from engine.tables.sources.column_text import as_text
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.places import FILES
from tests.profiles import examples, only, thorough
from tests.spark import has_spark

pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")

BACKENDS = ["arrow", "duckdb"]
SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(60))


def told(job, table=None):
    """Return what a run releases, whatever the order of records; or the kind and the text of its refusal."""
    try:
        result = run(job, table)
        rows = Counter(map(repr, result.table.to_pylist()))
    except EngineError as problem:
        return type(problem).__name__, str(problem)
    report = {
        key: result.report[key] for key in ("rows", "released", "solution", "suppressed_class", "privacy", "risk")
    }
    report["solution"] = {
        **report["solution"],
        "information_loss": round(report["solution"]["information_loss"] or 0, 9),
    }
    return report, result.report["lint"], result.table.schema, rows


@pytest.fixture(autouse=True, scope="module")
def _one_session_of_spark(request):
    if thorough() and has_spark():
        request.getfixturevalue("spark")


def agree(document, table=None, *, on_spark=True):
    """Return what the backends release in common; Spark is asked where there is time for it."""
    backends = [*BACKENDS, *(["spark"] if on_spark and thorough() and has_spark() else [])]
    first, *others = (told({**document, "backend": backend}, table) for backend in backends)
    assert others == [first] * len(others)
    return first


@SLOW_START
@given(any_problems())
def test_any_problem_has_the_same_release(problem):
    """With weights, subsets, populations, all models, missing values and values without an entry."""
    models = [model for number, model in enumerate(problem["models"]) if model not in problem["models"][:number]]
    with tempfile.TemporaryDirectory() as folder:
        job = build.job({**problem, "models": models}, Path(folder))
        table = build.source(problem)
        table = table if problem["people"] else table.drop_columns(["id"])
        pq.write_table(table, Path(folder) / "source.parquet")
        document = {**job.document(), "source": {"path": str(Path(folder) / "source.parquet")}}
        one, other = (told({**document, "backend": backend}) for backend in BACKENDS)
        if isinstance(one[0], dict):
            # which of several equally good transformations is first visited may depend on float sums
            assert {**one[0], "solution": None} == {**other[0], "solution": None} or one[0] == other[0]
            assert one[3] == other[3]
        else:
            assert one == other


UTC = dt.timezone.utc
TYPES = {
    "text": pa.array(["a", "", None, "ä", "a ", "A", "日本", "e\u0301", "é", "*"]),
    "large_text": pa.array(["a", "", None, "ä", "a ", "A", "b", "c", "d", "e"], pa.large_string()),
    "dictionary": pa.array(["a", "b", None, "a", "b", "a", "b", "c", "c", ""]).dictionary_encode(),
    "flag": pa.array([True, False, None] * 3 + [True]),
    "float": pa.array([0.0, -0.0, float("nan"), 1.0, None, 1.5, 1e300, float("inf"), 0.1, -0.0]),
    "float32": pa.array([0.0, -0.0, 0.1, 1.0, None, 1.5, 1e30, 3, 0.1, -0.0], pa.float32()),
    "int8": pa.array([1, -1, None, 3, 4, 5, 6, 7, 8, 9], pa.int8()),
    "uint64": pa.array([2**64 - 1, 1, None, 3, 4, 5, 6, 7, 8, 9], pa.uint64()),
    "decimal": pa.array([*map(decimal.Decimal, ["1.10", "0.00", "-1.00", "2.50"]), None] * 2, pa.decimal128(10, 2)),
    "date": pa.array([dt.date(2026, 1, day) for day in range(1, 10)] + [None]),
    "seconds": pa.array([0, 1, 2, 3, 4, 5, 6, 7, 8, None], pa.timestamp("s")),
    "micros": pa.array([0, 1, 2, 3, 4, 5, 6, 7, 8, None], pa.timestamp("us")),
    "nanos": pa.array([0, 1, 2, 3, 4, 5, 6, 7, 8, None], pa.timestamp("ns")),
    "utc": pa.array(
        [dt.datetime(2026, 3, 29, hour, tzinfo=UTC) for hour in range(9)] + [None], pa.timestamp("us", "UTC")
    ),
    "berlin": pa.array([0, 1, 2, 3, 4, 5, 6, 7, 8, None], pa.timestamp("ms", "Europe/Berlin")),
    "time": pa.array([1, 2, 3, 4, 5, 6, 7, 8, 9, None], pa.time64("us")),
}


def document_of(names, source, values=(), **changes):
    """Return a job whose quasi-identifiers keep their values, or become `*`; their hierarchies have `values`."""
    with Path(f"{source}.hierarchy.csv".replace("*", "")).open("w", newline="", encoding="utf-8") as file:
        texts = sorted({"", "a", "b", "c", "x", "y", "0", "1", "2", "3", "4", *values} - {None})
        csv.writer(file, delimiter=";").writerows((text, "*") for text in texts)
    attributes = {name: {"role": "quasi-identifying", "hierarchy": file.name} for name in names}
    return {
        "name": "contract",
        "source": {"path": str(source)},
        "unit": "record",
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.6,
        "allow_empty_information": True,
        **changes,
    }


def texts_of(column):
    """Return the values as the engine writes them."""
    return as_text(column, "q").to_pylist()


@pytest.mark.parametrize(
    ("kind", "stored"),
    only(
        itertools.product(TYPES, ["parquet", "memory", "csv"]),
        lambda case: case[1] == "parquet" or case[0] in {"text", "float", "nanos"},
    ),
)
def test_a_column_of_any_type_is_grouped_and_written_alike(tmp_path, kind, stored):
    column = (
        pa.concat_arrays([TYPES[kind]] * 2)
        if kind != "dictionary"
        else pa.concat_arrays([TYPES[kind].dictionary_decode()] * 2).dictionary_encode()
    )
    table = pa.table({"q": column, "other": column, "few": ["x", "y"] * 10})
    path = tmp_path / f"source.{'csv' if stored == 'csv' else 'parquet'}"
    if stored == "csv":
        pa.csv.write_csv(
            table.cast(pa.schema([("q", plain(column)), ("other", plain(column)), ("few", pa.string())])), path
        )
    else:
        pq.write_table(table, path)
    (tmp_path / "q.csv").write_text("never;*\n", encoding="utf-8")
    document = document_of(["q"], path)
    document["attributes"]["q"]["hierarchy"] = str(tmp_path / "q.csv")
    document["attributes"]["q"] |= {"unseen": "root"}
    document["attributes"] |= {"other": {"role": "sensitive", "accept": "unique"}, "few": {"role": "insensitive"}}
    on_spark = kind != "time" or stored == "csv"  # which Spark refuses
    first = agree(document, table if stored == "memory" else None, on_spark=on_spark)
    assert isinstance(first[0], dict), first
    # and as its own value, where every pair of equal records is a class
    column = pq.read_table(path)["q"].combine_chunks() if stored == "parquet" else column
    own = document_of(["q"], path, texts_of(column))
    document["attributes"]["q"] = {**own["attributes"]["q"], "maximum_level": 0}
    first = agree(document, table if stored == "memory" else None, on_spark=on_spark)
    assert isinstance(first[0], dict), first
    assert first[0]["solution"]["suppressed"] == 0
    if stored != "csv":
        released = run(document, table if stored == "memory" else None).table["q"].to_pylist()
        assert Counter(released) == Counter(texts_of(column))


def plain(column):
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


ODD = ["select", 'with "quotes"', "Mixed Case", "ünï", "n", "a.b", "count", "place", "it's", "line\nbreak"]


@pytest.mark.parametrize("stored", ["parquet", "memory"])
def test_columns_of_any_name(tmp_path, stored):
    table = pa.table({name: ["x", "y"] * 6 + [None, str(place)] for place, name in enumerate(ODD)})
    pq.write_table(table, tmp_path / "source.parquet")
    document = document_of(ODD[:5], tmp_path / "source.parquet", suppression_limit=1.0)
    document["attributes"] |= {name: {"role": "insensitive"} for name in ODD[5:]}
    first = agree(document, table if stored == "memory" else None)
    assert first[2].names == ODD


def test_names_that_differ_only_in_case_are_refused_by_duckdb(tmp_path):
    pq.write_table(pa.table({"A": ["x", "y"] * 3, "a": ["x", "y"] * 3}), tmp_path / "source.parquet")
    document = document_of(["A", "a"], tmp_path / "source.parquet")
    assert isinstance(told({**document, "backend": "arrow"})[0], dict)
    kind, text = told({**document, "backend": "duckdb"})
    assert (kind, text[:23]) == ("InvalidData", "columns 'A' and 'a': Du")
    assert told(document)[0]["rows"] == 6


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_names_that_duckdb_does_not_know_are_refused_by_it(tmp_path, name):
    pq.write_table(pa.table({"q": ["x", "y"] * 3, name: ["x", "y"] * 3}), tmp_path / "source.parquet")
    document = document_of(["q"], tmp_path / "source.parquet")
    document["attributes"][name] = {"role": "insensitive"}
    assert isinstance(told({**document, "backend": "arrow"})[0], dict)
    kind, text = told({**document, "backend": "duckdb"})
    assert (kind, text[:34]) == ("InvalidData", f"column {name!r}: DuckDB knows no columns"[:34])
    assert "set backend: arrow" in text


@pytest.mark.parametrize("kind", [pa.timestamp("ns", "UTC"), pa.time64("ns"), pa.duration("us"), pa.float16()])
def test_a_type_that_duckdb_would_change_is_refused_and_auto_takes_arrow(tmp_path, kind):
    values = pa.array([0, 1, 0, 1], pa.int64() if not pa.types.is_float16(kind) else pa.float32())
    pq.write_table(pa.table({"q": ["x"] * 4, "when": values.cast(kind)}), tmp_path / "source.parquet")
    document = document_of(["q"], tmp_path / "source.parquet")
    document["attributes"]["when"] = {"role": "insensitive"}
    kind, text = told({**document, "backend": "duckdb"})
    assert kind == "InvalidData"
    assert "column 'when'" in text
    assert "set backend: arrow" in text
    assert told({**document, "backend": "auto"})[0]["rows"] == 4


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_csv_file_and_a_population_in_another_encoding(tmp_path, encoding):
    rows = "Größe;Ort\n" + "1,8;Köln\n1,9;Lübeck\n" * 4
    (tmp_path / "source.csv").write_text(rows, encoding=encoding)
    (tmp_path / "people.csv").write_text(rows + "1,8;Köln\n" * 5, encoding=encoding)
    document = document_of(["Größe", "Ort"], tmp_path / "source.csv", ["1,8", "1,9", "Köln", "Lübeck"])
    document["source"] |= {"encoding": encoding, "delimiter": ";"}
    document["risk"] = {"population": str(tmp_path / "people.csv")}
    report, _, schema, rows = agree(document)
    assert (schema.names, sum(rows.values())) == (["Größe", "Ort"], 8)
    assert set(rows) == {repr({"Größe": "1,8", "Ort": "Köln"}), repr({"Größe": "1,9", "Ort": "Lübeck"})}
    # a class of four records stands for nine people, the other one for four
    assert (report["risk"]["journalist"], report["risk"]["marketer"]) == (1 / 4, (4 / 9 + 1) / 8)


@pytest.mark.parametrize("stored", ["parquet", "csv"])
def test_an_empty_table(tmp_path, stored):
    path = tmp_path / f"source.{stored}"
    table = pa.table({"q": pa.array([], pa.string())})
    pq.write_table(table, path) if stored == "parquet" else path.write_text("q\n")
    assert agree(document_of(["q"], path))[0] == "InvalidData"


def test_missing_values_that_are_refused_are_counted_alike(tmp_path):
    table = pa.table({"q": ["a", None, "?", "a"] * 2, "s": ["u", None, "?", "v"] * 2, "i": ["x", None, "y", "y"] * 2})
    pq.write_table(table, tmp_path / "source.parquet")
    document = document_of(["q"], tmp_path / "source.parquet")
    document["attributes"]["q"] |= {"nulls": "error", "missing": ["?"]}
    document["attributes"] |= {
        "s": {"role": "sensitive", "nulls": "error", "missing": ["?"]},
        "i": {"role": "insensitive", "nulls": "error"},
    }
    _, text = agree(document)
    assert "'q': missing values: 4, column 's': missing values: 4, column 'i': missing values: 2" in text


def test_values_without_an_entry_are_counted_alike(tmp_path):
    pq.write_table(pa.table({"q": ["a", "b", "new", "newer", "new"]}), tmp_path / "source.parquet")
    (tmp_path / "q.csv").write_text("a;*\nb;*\n")
    document = document_of(["q"], tmp_path / "source.parquet")
    document["attributes"]["q"]["hierarchy"] = str(tmp_path / "q.csv")
    assert "its hierarchy has no entry for 2 of the distinct values, in 3 of the records" in agree(document)[1]


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_sensitive_values_and_suppressed_records(tmp_path, suppressed):
    """With l-diversity, values without an entry and a class of suppressed records."""
    rows = [(str(age % 40), f"z{age % 3}", f"d{age % 7}", age) for age in range(400)] + [("99", "z9", "d0", -1)] * 3
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip(["age", "zip", "s", "cost"], columns, strict=True)))
    pq.write_table(table, tmp_path / "source.parquet")
    (tmp_path / "zip.csv").write_text("z0;Z;*\nz1;Z;*\nz2;Y;*\n")
    document = document_of(["age", "zip"], tmp_path / "source.parquet", suppression_limit=0.3)
    document["attributes"]["age"]["hierarchy"] = {"builder": "interval", "widths": [10, 20]}
    document["attributes"]["zip"] |= {"hierarchy": str(tmp_path / "zip.csv"), "unseen": "suppress"}
    document["attributes"] |= {"s": {"role": "sensitive"}, "cost": {"role": "insensitive", "accept": "unique"}}
    document["privacy"] = [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2},
        {"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.6},
    ]
    document["output"] = {"path": str(tmp_path / "release"), "suppressed": suppressed}
    report = agree(document)[0]
    assert report["solution"]["suppressed"] >= 3
    assert {path.name for path in tmp_path.iterdir()} == {
        "release",
        "source.parquet",
        "source.parquet.hierarchy.csv",
        "zip.csv",
    }
    names = sorted(path.name for path in (tmp_path / "release").iterdir())
    assert names == FILES
