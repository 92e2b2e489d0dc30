"""The output against levels and suppression applied record by record in plain Python."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import engine.tables.sources.source
from engine import InvalidData, NoSolution, load_job, run
from engine.tables.release.transform import accounted
from engine.tables.sources.source import open_data, open_path
from tests.engine import build
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import key_of, readings, suppressed_classes
from tests.reference.privacy import failing
from tests.reference.tuples import UNSEEN, read_tuple
from tests.reference.utility import generalize

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(150))
PERSON = "Jane-Roe-4711"


def expected_rows(problem, levels):
    """Return the records as they must come out, and whether each is suppressed."""
    keys = [
        tuple(generalize(h, v, x) for h, v, x in zip(problem["hierarchies"], values, levels, strict=True))
        for values, _ in problem["records"]
    ]
    classes = {key: [s for other, (_, s) in zip(keys, problem["records"], strict=True) if other == key] for key in keys}
    bad = failing(classes, problem["models"])
    return [(("*",) * len(key) if key in bad else key, key in bad) for key in keys]


def rows_of(table, *names):
    """Return some columns of a table as rows."""
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


@SLOW_START
@given(problems(), st.booleans(), st.integers(1, 7))
def test_every_record_is_generalized_or_suppressed(problem, drop, size):
    names = build.names(problem)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        output = {"path": f"{folder}/release", "suppressed": "drop" if drop else "star"}
        job = build.job(problem, Path(folder), output=output)
        try:
            result = run(job, table=build.table(problem))
        except NoSolution:
            assume(False)
        table, solution = result.table, result.report["solution"]
    expected = expected_rows(problem, [solution["levels"][name] for name in names])
    form = result.report["suppressed_class"]["form"]
    assert not drop or form != "star"
    kept = [
        (*values, sensitive["s"])
        for (values, suppressed), (_, sensitive) in zip(expected, problem["records"], strict=True)
        if not (form == "drop" and suppressed)
    ]
    assert Counter(rows_of(table, *names, "s")) == Counter(kept)
    assert solution["suppressed"] == sum(suppressed for _, suppressed in expected)


def written(problem, read, levels):
    """Return the quasi-identifiers of the released records as they must come out, and which are suppressed."""
    bad = suppressed_classes(problem, read, levels)
    rows = []
    for values, _ in problem["records"]:
        leaves = read_tuple(values, problem["hierarchies"], problem["missing"])
        key = key_of(leaves, read.hierarchies, levels)
        refused = any(leaf is UNSEEN and way == "suppress" for leaf, way in zip(leaves, problem["unseen"], strict=True))
        gone = refused or key in bad
        rows.append((("*",) * len(key) if gone else key, gone))
    return rows


@SLOW_START
@given(any_problems(), st.integers(1, 7))
def test_every_released_record_of_any_problem(problem, size):
    # a job must name the subset of its source, and no model twice
    models = [model for number, model in enumerate(problem["models"]) if model not in problem["models"][:number]]
    assume(problem["people"] != "subset" or any("subset" in model for model in models))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        job = build.job({**problem, "models": models}, Path(folder))
        source = build.source(problem)
        try:
            result = run(job, table=source if problem["people"] else source.drop_columns(["id"]))
            _ = result.table
        except NoSolution:
            assume(False)
    names, solution, outcome = build.names(problem), result.report["solution"], result.report["suppressed_class"]
    expected = written(problem, readings(problem), tuple(solution["levels"][name] for name in names))
    assert result.report["rows"] == len(expected)
    assert solution["suppressed"] == sum(gone for _, gone in expected)
    if outcome["joined"]:
        # which classes join is decided elsewhere
        return
    released = [
        (*row, sensitive["s"])
        for (row, gone), (_, sensitive) in zip(expected, problem["records"], strict=True)
        if not (gone and outcome["form"] == "drop")
    ]
    assert Counter(rows_of(result.table, *names, "s")) == Counter(released)


AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}}


ZIP = {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 1}}


def job_of(folder, others, **changes):
    return load_job(
        {
            "name": "people",
            "unit": "record",
            "attributes": {
                "first": {"role": "insensitive"},
                "age": AGE,
                "person_id": {"role": "identifying"},
                **{name: {"role": "insensitive"} for name in others},
            },
            "privacy": [{"model": "k-anonymity", "k": 2}],
            "suppression_limit": 0.5,
            "allow_empty_information": True,
            "output": {"path": str(folder / "release")},
            **changes,
        }
    )


OTHERS = {
    "whole": pa.array([1, None, 3], pa.int8()),
    "flag": pa.array([True, None, False]),
    "when": pa.array([1_772_323_200_000_000, None, 0], pa.timestamp("us", "UTC")),
    "large": pa.array(["a", None, "c"], pa.large_string()),
    "visits": pa.array([[1], None, []], pa.list_(pa.int32())),
    "bytes": pa.array([b"\xff", None, b""]),
}


def people(**columns):
    return pa.table(
        {
            **columns,
            "person_id": [PERSON, PERSON, PERSON],
            "age": pa.array([23, 25, 71], pa.int16()),
            "first": ["x", "y", "z"],
        }
    )


def with_another(table):
    """Add the last record under another age: two that are suppressed are enough for a class of their own."""
    last = table.slice(table.num_rows - 1)
    age = table.schema.get_field_index("age")
    return pa.concat_tables([table, last.set_column(age, table.schema.field(age), pa.array([45], pa.int16()))])


def test_columns_come_in_the_order_of_the_job_with_the_types_of_the_source(tmp_path):
    table = with_another(people(**OTHERS))
    result = run(job_of(tmp_path, OTHERS), table=table)
    assert result.table.column_names == ["first", "age", *OTHERS]
    assert result.table["age"].to_pylist() == ["*", "*", "[20, 30[", "[20, 30["]
    assert result.table["age"].type == pa.string()
    assert {name: result.table[name].type for name in OTHERS} == {name: column.type for name, column in OTHERS.items()}
    names = ["first", *OTHERS]
    assert sorted(map(repr, rows_of(result.table, *names))) == sorted(map(repr, rows_of(table, *names)))


VIEWS = {
    "text": (pa.array(["a", None, "c"], pa.string_view()), pa.string()),
    "bytes": (pa.array([b"\xff", None, b""], pa.binary_view()), pa.binary()),
    "inside": (pa.array([["a"], None, []], pa.list_(pa.string_view())), pa.list_(pa.string())),
    "codes": (
        pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), pa.array(["a", "c"], pa.string_view())),
        pa.string(),
    ),
}


def test_views_are_released_as_what_they_show(tmp_path):
    """As Polars and DuckDB hand over texts."""
    views = {name: column for name, (column, _) in VIEWS.items()}
    table = with_another(people(**views))
    table = table.set_column(table.schema.get_field_index("first"), "first", pa.array([*"xyzz"], pa.string_view()))
    result = run(job_of(tmp_path, views), table=table)
    assert {name: result.table[name].type for name in VIEWS} == {name: kind for name, (_, kind) in VIEWS.items()}
    names = ["first", *VIEWS]
    assert sorted(map(repr, rows_of(result.table, *names))) == sorted(map(repr, rows_of(table, *names)))


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_schema_does_not_depend_on_the_chosen_level(tmp_path, level):
    age = {**AGE, "minimum_level": level, "maximum_level": level}
    attributes = {"age": age, "first": {"role": "insensitive"}}
    job = job_of(tmp_path, [], attributes=attributes, suppression_limit=1.0)
    table = run(job, table=people().drop_columns(["person_id"])).table
    assert table.schema == pa.schema([("age", pa.string()), ("first", pa.string())])


def test_metadata_of_the_source_does_not_get_out(tmp_path):
    inner = pa.field("x", pa.string(), metadata={"note": PERSON})
    visits = pa.array([{"x": "a"}, None, {"x": "c"}], pa.struct([inner]))
    source = people(visits=visits).replace_schema_metadata({"pandas": PERSON, "query": PERSON})
    source = source.set_column(2, pa.field("age", pa.int16(), metadata={"comment": PERSON}), source["age"])
    job = job_of(tmp_path, ["visits"])
    result = run(job, table=source)
    assert set(result.table.schema.metadata) == {b"description", b"job", b"date", b"citation"}
    for path in (tmp_path / "release").iterdir():
        assert PERSON.encode() not in path.read_bytes(), path.name


@pytest.mark.parametrize("source", ["memory", "parquet"])
@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_a_dictionary_does_not_bring_values_along_that_no_released_record_has(tmp_path, source, suppressed):
    # categories of records that are not in this table, and the value of the record that is dropped
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), ["a", "b", f"{PERSON}-3", f"{PERSON}-x"])
    nested = pa.array([["a"], ["b"], ["c"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))
    table = people(words=words, nested=nested).drop_columns(["person_id"])
    table = with_another(table)
    output = {"path": str(tmp_path / "release"), "suppressed": suppressed}
    job = job_of(tmp_path, ["words", "nested"], output=output)
    if source == "parquet":
        pq.write_table(table, tmp_path / "people.parquet")
        job = job.with_source(tmp_path / "people.parquet")
        result = run(job)
    else:
        result = run(job, table=table)
    assert result.report["solution"]["suppressed"] == 2
    content = (tmp_path / "release" / "data.parquet").read_bytes()
    assert f"{PERSON}-x".encode() not in content
    assert (f"{PERSON}-3".encode() in content) == (suppressed == "star")
    assert result.table["words"].type == pa.string()
    third = [(f"{PERSON}-3", ["c"])] * 2 if suppressed == "star" else []
    assert sorted(rows_of(result.table, "words", "nested")) == [*third, ("a", ["a"]), ("b", ["b"])]


def test_a_dictionary_does_not_bring_them_along_in_memory_either():
    words = pa.DictionaryArray.from_arrays([0, 0, 0], ["a", PERSON])
    document = job_of(Path(), ["words"]).document()
    del document["output"]
    table = run(document, table=people(words=words)).table
    assert not pa.types.is_dictionary(table["words"].type)


def test_a_type_that_parquet_does_not_know_is_refused_and_leaves_nothing(tmp_path):
    column = pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval())
    with pytest.raises(InvalidData, match="'gap': has the type month_day_nano_interval, and Parquet"):
        run(job_of(tmp_path, ["gap"]), table=people(gap=column))
    assert list(tmp_path.iterdir()) == []


def test_missing_values_stay_missing_below_the_root():
    document = job_of(Path(), []).document()
    del document["output"]
    document["attributes"]["age"] = {**AGE, "minimum_level": 1, "maximum_level": 1}
    table = pa.table({"age": [23, 25, None, None], "first": ["x"] * 4})
    assert run(document, table=table).table["age"].to_pylist() == ["[20, 30[", "[20, 30[", None, None]
    document["attributes"]["age"] = {**AGE, "minimum_level": 2}
    assert run(document, table=table).table["age"].to_pylist() == ["*"] * 4


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_records_with_a_refused_value_go_and_the_class_with_the_same_labels_stays(tmp_path, suppressed):
    (tmp_path / "age.csv").write_text("23;*\n25;*\n")
    age = {"role": "quasi-identifying", "hierarchy": str(tmp_path / "age.csv"), "unseen": "suppress"}
    document = {
        "name": "people",
        "attributes": {"age": {**age, "missing": ["?"]}, "zip": ZIP, "first": {"role": "insensitive"}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.5,
        "output": {"path": str(tmp_path / "release"), "suppressed": suppressed},
    }
    ages = ["23", "25", "71", "?", None, "72"]
    table = pa.table({"age": ages, "zip": ["1"] * 6, "first": ["u", "v", "w", "x", "y", "z"]})
    result = run(document, table=table)
    assert result.report["solution"]["levels"] == {"age": 1, "zip": 0}
    assert result.report["solution"]["suppressed"] == 2
    kept = [("*", "1", "u"), ("*", "1", "v"), ("*", "1", "x"), ("*", "1", "y")]
    gone = [] if suppressed == "drop" else [("*", "*", "w"), ("*", "*", "z")]
    assert sorted(rows_of(result.table, "age", "zip", "first")) == sorted(kept + gone)


def test_values_that_become_the_root_have_its_label_at_every_level(tmp_path):
    (tmp_path / "age.csv").write_text("23;20s;*\n25;20s;*\n")
    age = {"role": "quasi-identifying", "hierarchy": str(tmp_path / "age.csv"), "unseen": "root", "maximum_level": 1}
    document = {
        "name": "people",
        "attributes": {"age": age, "first": {"role": "insensitive"}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    table = pa.table({"age": ["23", "25", PERSON, "71"], "first": ["u", "v", "w", "x"]})
    released = rows_of(run(document, table=table).table, "first", "age")
    assert sorted(released) == [("u", "20s"), ("v", "20s"), ("w", "*"), ("x", "*")]


class Changing:
    """A source that is another one at its second reading."""

    def __init__(self, first, second):
        self._tables = [open_data(first), open_data(second)]
        self.schema = first.schema

    def batches(self, columns):
        """See `Table`."""
        return self._tables.pop(0).batches(columns)


def altered(change):
    rows = PEOPLE.to_pylist()
    change(rows)
    return pa.Table.from_pylist(rows, schema=PEOPLE.schema)


PEOPLE = pa.table(
    {"age": [23, 25, 34, 36, 71], "zip": ["1", "1", "2", "2", "1"], "diagnosis": ["u", "v", "u", "v", "u"]}
)
CHANGING = {
    "name": "people",
    "attributes": {
        "age": {**AGE, "maximum_level": 1},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 1}, "maximum_level": 0},
        "diagnosis": {"role": "sensitive"},
    },
    "privacy": [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
    ],
    "suppression_limit": 0.5,
}


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop(),
        lambda rows: rows.append(dict(rows[0])),
        lambda rows: rows[0].update(age=99),
        lambda rows: rows[0].update(zip="2"),
        lambda rows: rows[0].update(zip=None),
        lambda rows: rows[4].update(age=25),
        lambda rows: rows[1].update(diagnosis="u"),
        lambda rows: rows.clear(),
    ],
    ids=["one less", "one more", "new value", "new tuple", "new null", "other class", "other diagnosis", "empty"],
)
def test_a_source_that_changes_between_the_readings_is_refused_and_leaves_nothing(tmp_path, monkeypatch, change):
    job = load_job({**CHANGING, "output": {"path": str(tmp_path / "release")}})
    monkeypatch.setattr("engine.pipeline.run.open_source", lambda _, table: table)
    with pytest.raises(engine.EngineError) as problem:
        run(job, Changing(PEOPLE, altered(change)))
    assert type(problem.value).__name__ in {"InvalidData", "VerificationFailed"}
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_stays_the_same_is_released(tmp_path, monkeypatch):
    job = load_job({**CHANGING, "output": {"path": str(tmp_path / "release")}})
    monkeypatch.setattr("engine.pipeline.run.open_source", lambda _, table: table)
    result = run(job, Changing(PEOPLE, altered(lambda rows: rows.reverse())))
    assert Counter(result.table["age"].to_pylist()) == {"[20, 30[": 2, "[30, 40[": 2}


def test_the_balance_of_rows():
    assert accounted(5, 2, 5, drop=False) == {"source": 5, "suppressed": 2, "output": 5}
    assert accounted(5, 2, 3, drop=True) == {"source": 5, "suppressed": 2, "output": 3}
    for rows, drop in [(4, False), (6, False), (5, True), (2, True)]:
        with pytest.raises(InvalidData, match="the source changed while it was read"):
            accounted(5, 2, rows, drop=drop)


def test_csv_and_parquet_sources_give_the_same_output(tmp_path):
    texts = pa.table({"age": ["23", "25", "71"], "first": ["x", "y", "z"]})
    pq.write_table(texts, tmp_path / "p.parquet")
    (tmp_path / "p.csv").write_text("first,age\nx,23\ny,25\nz,71\n")
    job = job_of(tmp_path, [])
    tables = [run(job.with_source(tmp_path / name), output=tmp_path / "r").table for name in ("p.csv", "p.parquet")]
    assert tables[0].schema == tables[1].schema
    assert sorted(rows_of(tables[0], "age", "first")) == sorted(rows_of(tables[1], "age", "first"))
    assert open_path(tmp_path / "p.csv").schema.names == ["first", "age"]
