"""Which records of a source a file lists, against comparing texts row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine.tables.sources.source
from engine import InvalidData, load_job, run
from engine.tables.altered.subset import ReleasedTable, Subset
from engine.tables.sources.csv_form import CsvForm
from engine.tables.sources.source import open_data, open_path
from tests.profiles import examples
from tests.reference.tuples import released

MANY = settings(deadline=None, max_examples=examples(200))
PERSON = "Jane-Roe-4711"
NAMES = ["x", "y", "z"]
CELLS = st.sampled_from(["a", "b", "", None])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=25)


def table(rows, names=NAMES):
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)})


def told(source, subset):
    """Return which records of a source are released, in one reading."""
    matcher = subset.matcher()
    found = [matcher.released(batch) for batch in source.batches(list(subset.columns))]
    matcher.finish()
    return np.concatenate(found).tolist()


def texts(row, columns):
    """Return the texts that are compared: an empty one is a missing value."""
    return tuple(row[NAMES.index(name)] or "" for name in columns)


@MANY
@given(ROWS, st.data(), st.integers(1, 7))
def test_as_many_as_are_listed_the_first_ones_first_in_whatever_batches(rows, data, size):
    columns = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), min_size=1, unique=True))
    # the same text either way: an empty field of a CSV file is a missing value of the source
    listed = [tuple(text or data.draw(st.sampled_from(["", None])) for text in texts(rows[i], columns)) for i in chosen]
    kinds = [texts(row, columns) for row in rows]
    expected = released(kinds, [kinds[i] for i in chosen])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        source = open_data(table(rows))
        subset = Subset(source, open_data(table(listed, columns)), "people.csv")
        assert told(source, subset) == expected
        # every reading of the source tells the same
        assert told(source, subset) == expected
        batches = list(ReleasedTable(source, subset).batches(["z", "x"]))
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert found == [(row[2], row[0]) for row, is_released in zip(rows, expected, strict=True) if is_released]
    assert sum(expected) == len(chosen)


@MANY
@given(ROWS, ROWS, st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
def test_rows_that_no_record_was_are_refused_and_counted(rows, others, columns):
    kinds = [texts(row, columns) for row in rows]
    listed = [texts(row, columns) for row in others]
    rest = len(listed) - sum(released(kinds, listed))
    source = open_data(table(rows))
    subset = Subset(source, open_data(table(listed, columns)), "people.csv")
    if not rest:
        assert sum(told(source, subset)) == len(listed)
        return
    with pytest.raises(InvalidData, match=f"subset people.csv: rows .* the source: {rest} of {len(listed)};"):
        told(source, subset)


@pytest.mark.parametrize(
    ("of_source", "of_file"),
    [
        (pa.array([1, 2, 3]), pa.array(["1", "3"])),
        (pa.array([1.0, 2.5, None]), pa.array(["1", ""])),
        (pa.array([True, False, None]), pa.array(["true", None])),
        (pa.array(["u", "v", "w"]).dictionary_encode(), pa.array(["w", "u"], pa.large_string())),
    ],
    ids=["integer", "double", "boolean", "dictionary"],
)
def test_values_are_compared_as_text(of_source, of_file):
    source = open_data(pa.table({"x": of_source}))
    assert told(source, Subset(source, open_data(pa.table({"x": of_file})), "people.csv")) == [True, False, True]


def refusal(source, listed):
    with pytest.raises(InvalidData) as problem:
        told(source, Subset(source, listed, "people.csv"))
    assert PERSON not in str(problem.value)
    assert "subset people.csv" in str(problem.value)
    return str(problem.value)


def test_error_texts_hold_no_value():
    source = open_data(pa.table({"x": ["a", "b"], "y": ["c", "d"]}))
    text = refusal(source, open_data(pa.table({"x": ["a", PERSON, PERSON]})))
    assert "rows of it that are no records of the source: 2 of 3; make it from the same source" in text
    # a file without a header has a record's values for names
    text = refusal(source, open_data(pa.table({PERSON: ["a"], "x": ["a"]})))
    assert "columns of it that are not in the source: 1 of 2; check its header and the delimiter" in text
    text = refusal(source, open_data(pa.table({"x": pa.array([], pa.string())})))
    assert "has no rows" in text


JOB = {
    "name": "people",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}},
        "person_id": {"role": "identifying"},
        "note": {"role": "insensitive"},
    },
    "suppression_limit": 1.0,
    "allow_empty_information": True,
}
PEOPLE = pa.table(
    {
        "age": [21, 22, 31, 32, 33, 71],
        "person_id": ["p1", "p2", "p3", "p4", "p5", "p6"],
        "note": ["a", "b", "c", "d", "e", "f"],
    }
)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_keys_releases_their_records(tmp_path, kind):
    keys = pa.table({"person_id": ["p5", "p1", "p3"]})
    if kind == "csv":
        (tmp_path / "people.csv").write_text("person_id\np5\np1\np3\n")
    else:
        pq.write_table(keys, tmp_path / "people.parquet")
    model = {"model": "k-map", "k": 2, "subset": str(tmp_path / f"people.{kind}")}
    result = run(load_job({**JOB, "privacy": [model]}), table=PEOPLE)
    assert sorted(result.table["note"].to_pylist()) == ["a", "c", "e"]
    assert result.table["age"].to_pylist() == ["[20, 30[", "[30, 40[", "[30, 40["]
    assert (result.report["rows"], result.report["population_rows"]) == (3, 6)
    # classes of one and two records, of two and three people
    assert result.report["privacy"][0]["observed"] == 2
    assert result.report["solution"]["suppressed"] == 0


def test_the_file_is_delimited_as_the_source_is(tmp_path):
    (tmp_path / "source.csv").write_text("age;person_id;note\n21;p1;a\n22;p2;b\n")
    (tmp_path / "people.csv").write_text("person_id;note\np2;b\n")
    source = {"path": str(tmp_path / "source.csv"), "delimiter": ";"}
    model = {"model": "k-map", "k": 2, "subset": str(tmp_path / "people.csv")}
    result = run(load_job({**JOB, "source": source, "privacy": [model]}))
    assert result.table["note"].to_pylist() == ["b"]
    assert open_path(tmp_path / "people.csv", CsvForm(";")).schema.names == ["person_id", "note"]
