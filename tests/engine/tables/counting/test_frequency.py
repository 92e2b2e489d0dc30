"""The frequency table against a Counter over records and people of the population."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine.tables.sources.source
from engine.hierarchy.hierarchy import Hierarchy
from engine.tables.counting.distinct_tuples import frequency_table
from engine.tables.counting.present_classes import PresentClasses
from engine.tables.sources.source import open_data
from tests.engine import build
from tests.engine.build import Listed, encoded
from tests.engine.strategies import any_problems
from tests.reference.lattice import grouped, key_of, population_of, readings
from tests.reference.tuples import classes, frequencies

QUICK = settings(deadline=None)
ROWS = {
    "x": (("a", "A", "*"), ("b", "A", "*"), ("c", "C", "*")),
    "y": (("a", "P", "*"), ("b", "Q", "*"), ("c", "Q", "*")),
}
VALUE = st.sampled_from(["a", "b", "c", None])
SENSITIVE = st.sampled_from(["u", "v", "", None])
RECORDS = st.lists(st.tuples(st.tuples(VALUE, VALUE), SENSITIVE), min_size=1, max_size=60)


def label(name, value, level):
    """Return the label of a value: a missing one stays missing below the root."""
    if value is None:
        return "*" if level == 2 else None
    return next(row[level] for row in ROWS[name] if row[0] == value)


def counted(records, size=1 << 17):
    schema = pa.schema([("x", pa.string()), ("y", pa.string()), ("s", pa.string())])
    columns = {"x": [v[0] for v, _ in records], "y": [v[1] for v, _ in records], "s": [s for _, s in records]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", size)
        builders = {name: Listed(entries=entries) for name, entries in ROWS.items()}
        return encoded(open_data(pa.table(columns, schema=schema)), builders, ["s"])[1]


def tuples(table):
    """Return the rows of a frequency table as values."""
    return [
        tuple(hierarchy.labels[0][code] for hierarchy, code in zip(table.hierarchies, codes, strict=True))
        for codes in table.codes.T.tolist()
    ]


@QUICK
@given(RECORDS, st.integers(1, 9))
def test_it_counts_what_a_counter_counts(records, size):
    table = counted(records, size)
    counts, histograms = frequencies(records)
    rows = tuples(table)
    assert len(rows) == len(set(rows))
    assert dict(zip(rows, table.counts.tolist(), strict=True)) == counts
    assert table.records == len(records)
    histogram = table.sensitive["s"]
    for r, row in enumerate(rows):
        part = slice(histogram.offsets[r], histogram.offsets[r + 1])
        found = zip(histogram.values[part].tolist(), histogram.counts[part].tolist(), strict=True)
        assert {histogram.labels[value]: count for value, count in found} == histograms[row]


@QUICK
@given(RECORDS, st.integers(1, 9))
def test_rows_are_in_the_order_of_their_codes_and_do_not_depend_on_the_order_of_records(records, size):
    table, backwards = counted(records, size), counted(records[::-1])
    rows = table.codes.T.tolist()
    assert rows == sorted(rows)
    assert table.codes.flags.c_contiguous
    assert rows == backwards.codes.T.tolist()
    assert table.counts.tolist() == backwards.counts.tolist()


@QUICK
@given(RECORDS, st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_a_partition_holds_the_classes_of_the_transformation(records, levels):
    table = counted(records)
    found = table.partition(levels)
    expected = classes(
        records, lambda v: tuple(label(name, x, level) for name, x, level in zip("xy", v, levels, strict=True))
    )
    keys = {}
    for row, gid in zip(tuples(table), found.gid.tolist(), strict=True):
        keys.setdefault(gid, set()).add(
            tuple(label(n, x, level) for n, x, level in zip("xy", row, levels, strict=True))
        )
    assert sorted(map(len, keys.values())) == [1] * len(expected)
    distinct = found.distinct("s")
    for gid, (key,) in keys.items():
        assert found.counts[gid] == len(expected[key])
        assert distinct[gid] == len(set(expected[key]))
    assert found.size == len(expected)


def test_more_combinations_than_fit_into_an_integer():
    leaves, attributes = 200, 9
    assert leaves**attributes > 1 << 63
    hierarchies = [Hierarchy(f"q{a}", [(str(i), "*") for i in range(leaves)]) for a in range(attributes)]
    rng = np.random.default_rng(5)
    codes = np.unique(rng.integers(0, leaves, (500, attributes), np.int32), axis=0)
    shuffled = rng.permutation(codes)
    counts = np.arange(1, len(codes) + 1)
    names = [f"q{a}" for a in range(attributes)]
    table = frequency_table(names, hierarchies, {}, shuffled, counts)
    assert table.codes.T.tolist() == codes.tolist()
    expected = dict(zip(map(tuple, shuffled.tolist()), counts.tolist(), strict=True))
    assert [expected[tuple(row)] for row in codes.tolist()] == table.counts.tolist()


def test_joint_tuples_with_the_same_quasi_identifiers_become_one_row():
    hierarchies = [Hierarchy("x", [("a", "*"), ("b", "*")])]
    joint = list(itertools.product([1, 0], [2, 0, 1]))
    table = frequency_table(
        ["x"], hierarchies, {"s": ("u", "v", None)}, np.array(joint, np.int32), np.array([1, 2, 4, 8, 16, 32])
    )
    assert table.codes.tolist() == [[0, 1]]
    assert table.counts.tolist() == [8 + 16 + 32, 1 + 2 + 4]
    histogram = table.sensitive["s"]
    assert histogram.offsets.tolist() == [0, 3, 6]
    assert histogram.values.tolist() == [0, 1, 2, 0, 1, 2]
    assert histogram.counts.tolist() == [16, 32, 8, 2, 4, 1]


@QUICK
@given(any_problems())
def test_people_first_records_and_refused_rows_of_any_problem(problem):
    table, read = build.counted(problem), readings(problem)
    rows = build.leaves(table)
    assert len(rows) == len(set(rows))
    assert table.records == read.n
    assert (
        dict(zip(rows, table.counts.tolist(), strict=True)).items()
        >= Counter(leaves for leaves, _ in [*read.records, *read.refused]).items()
    )
    refused = [False] * len(rows) if table.refused is None else table.refused.tolist()
    assert (table.refused is None) == (not any(refused))
    assert {leaves for leaves, _ in read.refused} <= set(itertools.compress(rows, refused))
    assert not {leaves for leaves, _ in read.records} & set(itertools.compress(rows, refused))
    if read.people is None:
        assert table.population is None
    else:
        people = Counter(read.people)
        judged = [row for row in range(len(rows)) if not refused[row]]
        assert {rows[row]: table.population[row] for row in judged if table.population[row]} == people
    # ranks compare as the positions of the first records do, whatever stands between them in the source
    order = list(dict.fromkeys(leaves for leaves, _ in read.records))
    ranked = sorted((first, row) for row, first in enumerate(table.first.tolist()) if table.counts[row])
    assert [rows[row] for _, row in ranked if not refused[row]] == order


@QUICK
@given(any_problems(), st.data())
def test_classes_of_any_problem(problem, data):
    table, read = build.counted(problem), readings(problem)
    levels = tuple(data.draw(st.integers(0, len(h[0]) - 1)) for h in problem["hierarchies"])
    found, expected = table.partition(levels), grouped(read.records, read.hierarchies, levels)
    people = population_of(read, levels)
    keys = {
        gid: key_of(leaves, read.hierarchies, levels)
        for leaves, gid in zip(build.leaves(table), found.gid.tolist(), strict=True)
    }
    present = {gid: key for gid, key in keys.items() if not found.refused[gid] and found.counts[gid]}
    assert sorted(present.values(), key=repr) == sorted(expected, key=repr)
    for gid, key in present.items():
        assert found.counts[gid] == len(expected[key])
        if read.people is not None:
            assert found.population[gid] == people[key]
    if read.people is not None:
        empty = {keys[gid] for gid in keys if not found.refused[gid] and not found.counts[gid]}
        assert empty == set(people) - set(expected)
    ordered = sorted(present, key=lambda gid: found.first[gid])
    assert [present[gid] for gid in ordered] == list(expected)
    # what models are given: the same without the people who are alone
    judged = PresentClasses.of(found)
    assert judged.counts.tolist() == found.counts[found.counts > 0].tolist()
    of_z = judged.histogram("z")
    for place, gid in enumerate(np.flatnonzero(judged.there).tolist()):
        part = slice(of_z.offsets[place], of_z.offsets[place + 1])
        values = {of_z.labels[v]: n for v, n in zip(of_z.values[part], of_z.counts[part].tolist(), strict=True)}
        assert judged.distinct("z")[place] == len(values)
        if gid in present:
            assert values == Counter(s["z"] for _, s in expected[present[gid]])


@QUICK
@given(any_problems())
def test_batches_keep_the_order_of_the_source(problem):
    whole = build.counted(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.tables.sources.source, "BATCH_ROWS", 2)
        parts = build.counted(problem)
    assert whole.codes.tolist() == parts.codes.tolist()
    assert whole.counts.tolist() == parts.counts.tolist()
    assert np.argsort(whole.first, kind="stable").tolist() == np.argsort(parts.first, kind="stable").tolist()
    if whole.population is not None:
        assert whole.population.tolist() == parts.population.tolist()
