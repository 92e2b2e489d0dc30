"""The class table against counting by hand: whatever the batches, the types and the encoding of the columns."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidData
from engine.tables import class_table as module
from engine.tables.class_table import count_classes
from tests.profiles import examples

TEXT = st.sampled_from(["a", "b", "*", "", "é"]) | st.none()
RECORDS = st.lists(st.tuples(TEXT, TEXT, st.sampled_from([1, 2, 3]) | st.none(), TEXT), max_size=30)
SCHEMA = pa.schema([("p", pa.string()), ("q", pa.large_string()), ("n", pa.int16()), ("s", pa.string())])


def tables_of(records):
    columns = [list(column) for column in zip(*records, strict=True)] or [[] for _ in SCHEMA]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def batches_of(table, cuts, encoded):
    """Cut a table, and give columns of some batches as dictionaries, each batch with its own."""
    bounds = sorted({0, table.num_rows, *(cut % (table.num_rows + 1) for cut in cuts)})
    for number, (start, end) in enumerate(itertools.pairwise(bounds)):
        part = table.slice(start, end - start).combine_chunks()
        if encoded and number % 2 == 0:
            columns = [column.combine_chunks().dictionary_encode() for column in part.columns]
            part = pa.table(columns, names=table.column_names)
        yield from part.to_batches()


def as_counters(table):
    """Return the records of each tuple of labels, and those of each tuple and value."""
    labels = list(zip(*(texts.column().to_pylist() for texts in table.labels.values()), strict=True))
    pairs = {
        name: dict(
            zip(
                zip(found.classes.tolist(), found.values.column().to_pylist(), strict=True),
                found.records.tolist(),
                strict=True,
            )
        )
        for name, found in table.sensitive.items()
    }
    assert all(len(found) == table.sensitive[name].records.size for name, found in pairs.items())
    assert all((np.diff(found.classes) >= 0).all() for found in table.sensitive.values())
    return (
        Counter(dict(zip(labels, table.records.tolist(), strict=True))),
        {
            name: Counter({(labels[group], value): count for (group, value), count in found.items()})
            for name, found in pairs.items()
        },
    )


@settings(deadline=None, max_examples=examples(300))
@given(RECORDS, st.lists(st.integers(0, 30), max_size=4), st.booleans(), st.sampled_from([0, 3, 1 << 20]))
def test_any_batches_give_what_counting_by_hand_gives(records, cuts, encoded, waiting):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WAITING", waiting)
        table = tables_of(records)
        found = count_classes(SCHEMA, batches_of(table, cuts, encoded), ["p", "q"], ["n", "s"])
    classes, pairs = as_counters(found)
    assert len(classes) == found.records.size
    assert classes == Counter((p, q) for p, q, _, _ in records)
    assert pairs == {
        "n": Counter(((p, q), None if n is None else str(n)) for p, q, n, _ in records),
        "s": Counter(((p, q), s) for p, q, _, s in records),
    }
    assert (found.rows, found.schema) == (len(records), SCHEMA)
    assert found.having("*").sum() == (("*", "*") in classes)


@settings(deadline=None, max_examples=examples(100))
@given(RECORDS)
def test_a_row_may_stand_for_many_records(records):
    table = tables_of(records)
    counted = table.group_by(table.column_names).aggregate([([], "count_all")])
    found = count_classes(counted.schema, counted.to_batches(), ["p", "q"], ["n", "s"], counts="count_all")
    assert as_counters(found) == as_counters(count_classes(SCHEMA, table.to_batches(), ["p", "q"], ["n", "s"]))


@settings(deadline=None, max_examples=examples(100))
@given(RECORDS, st.sets(st.sampled_from(["a", "b", ""])))
def test_texts_that_mean_none_and_some_of_the_classes(records, missing):
    found = count_classes(SCHEMA, tables_of(records).to_batches(), ["p", "q"], ["s"])
    wanted = ~found.having("*")
    kept = found.where(wanted)
    there = [record for record in records if record[:2] != ("*", "*")]
    assert as_counters(kept) == as_counters(count_classes(SCHEMA, tables_of(there).to_batches(), ["p", "q"], ["s"]))
    read = kept.sensitive["s"].without(missing)
    expected = Counter(((p, q), None if s in missing else s) for p, q, _, s in there)
    labels = list(zip(*(texts.column().to_pylist() for texts in kept.labels.values()), strict=True))
    pairs = zip(read.classes.tolist(), read.values.column().to_pylist(), strict=True)
    assert (
        Counter(dict(zip([(labels[group], value) for group, value in pairs], read.records.tolist(), strict=True)))
        == expected
    )


def test_more_tuples_than_a_number_can_hold():
    """Twelve columns of a thousand values make 1e36 tuples, of which each record has another."""
    names = [f"q{place}" for place in range(12)]
    columns = [pa.array([str((row * (place + 3)) % 1000) for row in range(1000)]) for place in range(12)]
    table = pa.table([pa.concat_arrays([column, column]) for column in columns], names=names)
    found = count_classes(table.schema, table.to_batches(max_chunksize=700), names, [])
    assert found.records.tolist() == [2] * 1000
    rows = zip(*(found.labels[name].column().to_pylist() for name in names), strict=True)
    assert set(rows) == set(zip(*(column.to_pylist() for column in columns), strict=True))


def test_values_without_a_text_form_are_only_alike_or_not():
    table = pa.table({"q": ["a", "a", "b"], "s": [[1, 2], [1, 2], None]})
    values = count_classes(table.schema, table.to_batches(), ["q"], ["s"]).sensitive["s"]
    assert (values.has_text, values.records.tolist(), values.kind) == (False, [2, 1], pa.list_(pa.int64()))


def test_a_quasi_identifier_without_a_text_form():
    table = pa.table({"q": [[1], [2]]})
    with pytest.raises(InvalidData, match="column 'q': type list has no text form"):
        count_classes(table.schema, table.to_batches(), ["q"], [])
