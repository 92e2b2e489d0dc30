"""Values to codes: every value becomes its own leaf, and what has none is counted and not named."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine.tables.sources.source
from engine import InvalidData
from engine.hierarchy.builders.redaction import Redaction
from engine.tables.altered.subset import Subset
from engine.tables.counting.columns import Columns, QuasiIdentifier, Sensitive
from engine.tables.counting.encode import encode
from engine.tables.sources.source import open_data
from tests.engine.build import Listed, encoded
from tests.reference.tuples import UNSEEN, with_missing
from tests.reference.tuples import read as plain_read
from tests.reference.utility import generalize, share

QUICK = settings(deadline=None)
PERSON = "Jane-Roe-4711"


def flat(*leaves):
    return Listed(entries=tuple((leaf, "*") for leaf in leaves))


def decoded(encoding, table, columns):
    """Return the leaves that batches of a table are coded as."""
    rows = []
    for batch in table.batches(columns):
        columns_of_codes = encoding.leaf_codes(batch)
        assert all(codes.dtype == np.int32 for codes in columns_of_codes)
        rows += [
            tuple(hierarchy.labels[0][code] for hierarchy, code in zip(encoding.hierarchies, row, strict=True))
            for row in np.column_stack(columns_of_codes).tolist()
        ]
    return rows


VALUES = st.sampled_from(["", "a", "b", "A", " a", "ä", "*", None])


@QUICK
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=40), st.integers(1, 7))
def test_every_value_is_coded_as_itself_in_whatever_batches_it_comes(rows, size):
    columns = {"x": [x for x, _ in rows], "y": [y for _, y in rows]}
    schema = pa.schema([("x", pa.string()), ("y", pa.string())])
    builders = {"x": flat("", "a", "b", "A", " a", "ä", "*"), "y": flat("*", "ä", " a", "A", "b", "a", "")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        table = open_data(pa.table(columns, schema=schema))
        encoding, counted = encoded(table, builders, [])
        assert decoded(encoding, table, ["x", "y"]) == rows
    assert counted.records == len(rows)


@pytest.mark.parametrize(
    ("column", "leaves"),
    [
        (pa.array([25, 7, None]), ["25", "7"]),
        (pa.array([25.0, 0.1, None]), ["25", "0.1"]),
        (pa.array([True, False, None]), ["true", "false"]),
        (pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.00"), None]), ["1.50", "2.00"]),
        (pa.array([dt.date(2026, 3, 1), dt.date(1999, 12, 31), None]), ["2026-03-01", "1999-12-31"]),
        (pa.array(["x", "y", None], pa.large_string()), ["x", "y"]),
        (pa.array(["x", "y", None]).dictionary_encode(), ["x", "y"]),
        (pa.DictionaryArray.from_arrays([0, 2, 1], ["x", None, "y"]), ["x", "y"]),
        (pa.DictionaryArray.from_arrays([0, 1, None], pa.array([3, 4])), ["3", "4"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_types(column, leaves):
    table = open_data(pa.table({"x": column}))
    encoding, counted = encoded(table, {"x": flat(*reversed(leaves))}, [])
    assert decoded(encoding, table, ["x"]) == [(leaf,) for leaf in [*leaves, None]]
    assert counted.counts.tolist() == [1, 1, 1]


def test_two_codes_of_one_value_are_one_value():
    column = pa.DictionaryArray.from_arrays([0, 1, 0], ["x", "x"])
    _, counted = encoded(open_data(pa.table({"x": column, "s": column})), {"x": flat("x")}, ["s"])
    assert counted.counts.tolist() == [3]
    assert counted.sensitive["s"].counts.tolist() == [3]


def refusal(*arguments):
    with pytest.raises(InvalidData) as problem:
        encoded(*arguments)
    assert PERSON not in str(problem.value)
    return str(problem.value)


def test_values_without_an_entry_are_counted_over_all_columns_and_not_named():
    table = open_data(
        pa.table(
            {
                "x": ["a", PERSON, PERSON, PERSON + "2", None],
                "y": ["a", "a", "a", "a", PERSON],
                "z": ["a", "a", "b", "b", None],
            }
        )
    )
    text = refusal(table, {"x": flat("a"), "y": flat("a"), "z": flat("a", "b")}, [])
    assert "column 'x': its hierarchy has no entry for 2 of the distinct values, in 3 of the records" in text
    assert "column 'y': its hierarchy has no entry for 1 of the distinct values, in 1 of the records" in text
    assert "'z'" not in text
    assert "takes the values that it lists; airflow-anon check --show-values shows them; add them to the" in text


def test_a_column_none_of_whose_values_has_an_entry_does_not_hide_the_others():
    # a builder without a domain of its own has no row at all then
    table = open_data(pa.table({"x": [PERSON, PERSON, None], "y": [PERSON, "a", "a"]}))
    text = refusal(table, {"x": Redaction(length=5), "y": flat("a")}, [])
    assert "column 'x': its hierarchy has no entry for 1 of the distinct values, in 2 of the records" in text
    assert "column 'y': its hierarchy has no entry for 1 of the distinct values, in 1 of the records" in text


def test_a_column_of_nothing_but_missing_values():
    table = open_data(pa.table({"x": pa.nulls(3)}))
    assert "column 'x': every value is missing" in refusal(table, {"x": Redaction(length=5)}, [])
    _, counted = encoded(table, {"x": flat("a")}, [])
    assert counted.counts.tolist() == [3]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, None]),
        pa.array(["a", None, None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, 1, 1], ["a", None]),
    ],
    ids=["plain", "dictionary", "null in the dictionary"],
)
@pytest.mark.parametrize("name", ["x", "s", "other"])
def test_missing_values_are_refused_in_any_released_column(column, name):
    columns = {"x": ["a", "a", "a"], "s": ["u", "u", "u"], "other": ["v", "v", "v"], name: column}
    text = refusal(open_data(pa.table(columns)), {"x": flat("a")}, ["s"], ["x", "s", "other"])
    assert f"column {name!r}: missing values: 2" in text
    assert "nulls: error" in text
    encoded(open_data(pa.table(columns)), {"x": flat("a")}, ["s"], [other for other in columns if other != name])


def test_missing_values_in_a_column_without_a_text_form_are_refused_too():
    table = open_data(pa.table({"x": ["a", "a"], "visits": [[1], None]}))
    assert "column 'visits': missing values: 1" in refusal(table, {"x": flat("a")}, [], ["visits"])


@pytest.mark.parametrize(
    "data", [pa.table({"x": pa.array([], pa.string())}), pa.table({"x": pa.chunked_array([[], []], pa.string())})]
)
def test_an_empty_table_is_refused(data):
    assert "has no records" in refusal(open_data(data), {"x": flat("a")}, [])


def test_a_value_that_was_not_counted_means_that_the_source_changed():
    encoding, _ = encoded(open_data(pa.table({"x": ["a", "b"]})), {"x": flat("a", "b", "c")}, [])
    with pytest.raises(InvalidData, match="column 'x': the source changed while it was read"):
        encoding.leaf_codes(pa.record_batch({"x": ["a", "c"]}))


def column_of(values):
    return open_data(pa.table({"x": pa.array(values, pa.string())}))


def read(values, builder, missing=(), unseen="error", **settings):
    columns = Columns({"x": QuasiIdentifier(builder, frozenset(missing), unseen)}, **settings)
    return encode(column_of(values), columns)


CELLS = st.lists(st.sampled_from(["a", "b", "?", "", "new", "newer", "*", None]), min_size=1, max_size=30)
TREES = st.sampled_from([
    [("a", "A", "*"), ("b", "B", "*")],
    [("a", "A", "*"), ("b", "*", "*"), ("?", "A", "*")],
    [("*", "*", "*"), ("a", "*", "*"), ("", "E", "*")],
])  # fmt: skip


@QUICK
@given(CELLS, TREES, st.sets(st.sampled_from(["?", "", "a"])), st.sampled_from(["suppress", "root"]), st.integers(1, 4))
def test_missing_texts_and_values_without_an_entry(values, tree, missing, unseen, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        encoding, counted = read(values, Listed(entries=tuple(tree)), missing, unseen)
        batches = list(column_of(values).batches(["x"]))
    leaves = [plain_read(value, tree, missing) for value in values]
    (hierarchy,) = counted.hierarchies
    codes = np.concatenate([encoding.leaf_codes(batch)[0] for batch in batches]).tolist()
    # equal codes are equal leaves, at every level with the label that plain Python gives
    assert len(set(codes)) == len(set(zip(codes, leaves, strict=True))) == len(set(leaves))
    rows = with_missing(tree, leaves)
    for level in range(3):
        labels = [hierarchy.labels[level][hierarchy.codes[level][code]] for code in codes]
        assert labels == [generalize(rows, leaf, level) for leaf in leaves]
    assert hierarchy.domain_size == len(rows)
    found = hierarchy.leaf_rows()
    for code, leaf in zip(codes, leaves, strict=True):
        assert found[:, code].tolist() == [share(rows, leaf, level) * len(rows) for level in range(3)]
    refused = {leaf for leaf in leaves if leaf is UNSEEN and unseen == "suppress"}
    marks = np.zeros(counted.counts.size, np.bool_) if counted.refused is None else counted.refused
    assert counted.counts[marks].sum() == sum(leaf in refused for leaf in leaves)


@QUICK
@given(CELLS.filter(lambda values: {"new", "newer"} & set(values)))
def test_values_without_an_entry_are_refused_unless_the_job_says_otherwise(values):
    builder = Listed(entries=(("a", "*"), ("b", "*"), ("*", "*"), ("", "*")))
    with pytest.raises(InvalidData) as problem:
        read(values, builder, ["?"])
    distinct, records = len({"new", "newer"} & set(values)), sum(value in {"new", "newer"} for value in values)
    assert (
        f"column 'x': its hierarchy has no entry for {distinct} of the distinct values, in {records} of the records"
        in str(problem.value)
    )
    assert "new" not in str(problem.value)


@pytest.mark.parametrize("unseen", ["suppress", "root"])
def test_without_one_root_there_is_nothing_to_become(unseen):
    builder = Listed(entries=(("a", "A"), ("b", "B")))
    read(["a", "b"], builder, (), unseen)
    with pytest.raises(InvalidData, match="column 'x': ends in 2 labels") as problem:
        read(["a", PERSON], builder, (), unseen)
    assert PERSON not in str(problem.value)


@pytest.mark.parametrize("values", [["a", "?", "?"], ["a", None, "?"]])
def test_a_missing_text_is_a_missing_value_where_none_may_be(values):
    # the job says what means missing, and that nothing may be missing
    with pytest.raises(InvalidData, match="column 'x': missing values: 2") as problem:
        read(values, flat("a", "?"), ["?"], refuse_nulls=("x",))
    assert "?" not in str(problem.value)
    read(["a", "?"], flat("a", "?"), (), refuse_nulls=("x",))


def test_people_of_the_population_need_entries_too_and_no_sensitive_values():
    table = open_data(pa.table({"x": ["a", "a"], "s": ["u", "v"]}))
    columns = Columns({"x": QuasiIdentifier(flat("a", "b"))}, {"s": Sensitive()})
    _, counted = encode(table, columns, population=column_of(["a", "b", "b"]))
    assert (counted.counts.tolist(), counted.population.tolist()) == ([2, 0], [1, 2])
    assert counted.sensitive["s"].labels == ("u", "v")
    with pytest.raises(
        InvalidData, match="column 'x': its hierarchy has no entry for 1 of the distinct values, in 3 of the records"
    ) as problem:
        encode(table, columns, population=column_of(["a", PERSON, PERSON, PERSON]))
    assert PERSON not in str(problem.value)


def test_sensitive_values_of_people_who_are_not_released_are_not_looked_at():
    source = open_data(pa.table({"x": ["a", "a", "b"], "s": ["u", PERSON, "v"], "id": ["1", "2", "3"]}))
    listed = Subset(source, open_data(pa.table({"id": ["1", "3"]})), "people.csv")
    columns = Columns({"x": QuasiIdentifier(flat("a", "b"))}, {"s": Sensitive()})
    _, counted = encode(source, columns, subset=listed)
    assert counted.sensitive["s"].labels == ("u", "v")
    assert (counted.counts.tolist(), counted.population.tolist()) == ([1, 1], [2, 1])
