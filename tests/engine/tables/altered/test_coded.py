"""Coded numbers: three implementations that share no code agree with the definition; types and errors."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.expectations.transformed import coding_settings, with_coded_numbers
from engine import InvalidData, load_job
from engine.job.counting import with_coded_numbers as engine_coded
from engine.tables.sources.source import ArrowTable
from engine.verification.records.coded import CodedSource
from tests.profiles import examples
from tests.reference import transformed as reference

STEPS = st.one_of(st.none(), st.sampled_from([1, 5, 10, 1000]))
FINE_STEPS = st.one_of(STEPS, st.sampled_from([0.1, 0.25, 0.05, 2.5]))


def job(coding, order=None, missing=()):
    column = {"role": "sensitive", "coding": coding, "missing": list(missing)}
    return load_job(
        {
            "name": "coded",
            "attributes": {
                "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
                "cost": column if order is None else {**column, "order": order},
            },
            "privacy": [{"model": "k-anonymity", "k": 2}],
        }
    )


def codings(steps, ends):
    made = st.fixed_dictionaries({"bottom": st.none() | ends, "top": st.none() | ends, "round_to": steps})
    return made.filter(
        lambda one: (
            any(value is not None for value in one.values())
            and (one["bottom"] is None or one["top"] is None or one["bottom"] < one["top"])
        )
    )


def all_three(this, table):
    source = ArrowTable(table)
    found = []
    for coded in (engine_coded(this, source), CodedSource(this, source)):
        columns = [batch.column(0) for batch in coded.batches(["cost"])]
        found.append(pa.chunked_array(columns, coded.schema.field("cost").type).combine_chunks())
    found.append(with_coded_numbers(table, coding_settings(this))["cost"].combine_chunks())
    # as text 0.0 and -0.0 are two values
    assert found[0].cast(pa.string()).equals(found[1].cast(pa.string()))
    assert found[0].cast(pa.string()).equals(found[2].cast(pa.string()))
    assert found[0].type == found[1].type == found[2].type
    return found[0]


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.none() | st.integers(-3000, 3000), min_size=1), codings(STEPS, st.integers(-2000, 2000)))
def test_whole_numbers(numbers, coding):
    made = all_three(job(coding), pa.table({"cost": pa.array(numbers, pa.int32())}))
    assert made.type == pa.int64()
    assert made.to_pylist() == [None if one is None else int(reference.coded(str(one), **coding)) for one in numbers]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.05, 0.15, 0.25, 2.5, -0.0, 7.5]), min_size=1),
    codings(FINE_STEPS, st.floats(-100, 100)),
)
def test_doubles_are_rounded_as_they_are_written(numbers, coding):
    made = all_three(job(coding), pa.table({"cost": pa.array(numbers, pa.float64())}))
    written = pa.array(numbers, pa.float64()).cast(pa.string()).to_pylist()
    assert made.to_pylist() == [float(reference.coded(text, **coding)) for text in written]


@pytest.mark.parametrize("step", [1e-300, 3e-7, 0.1, 7, 1e15, 1e300])
def test_steps_and_numbers_of_any_size(step):
    numbers = [0.0, -0.0, 1e-310, 0.05, 0.35, 1e7 + 0.05, -3.5, 5e14, 123456789.123, 1e16, None]
    made = all_three(job({"round_to": step}), pa.table({"cost": pa.array(numbers, pa.float64())}))
    written = pa.array(numbers, pa.float64()).cast(pa.string()).to_pylist()
    expected = [None if text is None else float(reference.coded(text, round_to=step)) for text in written]
    assert made.to_pylist() == expected


@pytest.mark.parametrize("step", [3, 1 << 61, (1 << 63) - 1])
def test_the_largest_whole_numbers(step):
    numbers = [-(1 << 61), -1, 0, 1, (1 << 61) + 5]
    made = all_three(job({"round_to": step}), pa.table({"cost": pa.array(numbers, pa.int64())}))
    assert made.to_pylist() == [int(reference.coded(str(one), round_to=step)) for one in numbers]


@pytest.mark.parametrize(("end", "number"), [("top", 1.0), ("bottom", -1.0)])
def test_an_end_that_is_minus_zero_is_zero(end, number):
    made = all_three(job({end: -0.0}), pa.table({"cost": pa.array([number], pa.float64())}))
    assert made.cast(pa.string()).to_pylist() == ["0"]


def test_fifteen_hundredths_are_in_the_middle():
    """By doubles they are not: 0.15 / 0.1 is 1.4999999999999998."""
    made = all_three(job({"round_to": 0.1}), pa.table({"cost": [0.15, 0.25, 0.35]}))
    assert made.to_pylist() == [0.2, 0.2, 0.4]


def test_decimals_keep_their_type():
    kind = pa.decimal128(10, 2)
    made = all_three(
        job({"round_to": 0.5, "top": 20}), pa.table({"cost": pa.array([Decimal("1.25"), Decimal(99)], kind)})
    )
    assert made.type == kind
    assert made.to_pylist() == [Decimal("1.00"), Decimal("20.00")]


@pytest.mark.parametrize(("order", "kind"), [("integer", pa.int64()), ("decimal", pa.float64())])
def test_texts_become_numbers(order, kind):
    made = all_three(job({"top": 50}, order, missing=["", "?"]), pa.table({"cost": ["7", "", "60", "?", None]}))
    assert made.type == kind
    assert made.to_pylist() == [7, None, 50, None, None]


@pytest.mark.parametrize(
    ("coding", "order", "values", "words"),
    [
        ({"top": 50}, None, pa.array(["7"]), "order: integer or order: decimal"),
        ({"top": 50}, None, pa.array([True]), "convert it in the source query"),
        ({"top": 50.5}, None, pa.array([7]), "coding.top is 50.5; give a whole number"),
        ({"round_to": 0.001}, None, pa.array([Decimal("1.25")]), "with as many digits at most"),
        ({"top": 50}, "integer", pa.array(["7", "secret", "7.5"]), "in 2 of its records; correct"),
        ({"top": 50}, "integer", pa.array(["1_0"]), "in 1 of its records; correct"),
        ({"top": 50}, None, pa.array([float("nan")]), "in 1 of its records; correct"),
        ({"top": 50}, "integer", pa.array([str(1 << 63)]), "in 1 of its records; correct"),
    ],
)
def test_what_is_no_number_is_an_error_without_a_value(coding, order, values, words):
    with pytest.raises(InvalidData) as problem:
        list(engine_coded(job(coding, order), ArrowTable(pa.table({"cost": values}))).batches(["cost"]))
    assert words in str(problem.value)
    assert "secret" not in str(problem.value)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(20, 0)])
@pytest.mark.parametrize(("bottom", "top"), [(3, 92), (None, 92), (3, None), (0, 90), (-3, 88)])
def test_an_end_that_is_no_multiple_of_the_step_stays(kind, bottom, top):
    numbers = list(range(-10, 110))
    coding = {"round_to": 5, **{key: end for key, end in (("bottom", bottom), ("top", top)) if end is not None}}
    table = pa.table({"cost": pa.array(numbers).cast(kind)})
    once = all_three(job(coding), table)
    assert all_three(job(coding), pa.table({"cost": once})).equals(once)
    assert [int(one) for one in once.to_pylist()] == [int(reference.coded(str(one), **coding)) for one in numbers]
    assert {one for one in (bottom, top) if one is not None} <= {int(one) for one in once.to_pylist()}


def test_a_coded_number_is_coded_already():
    table = pa.table({"cost": pa.array([-3.3, 0.15, 7.7])})
    this = job({"round_to": 0.1, "top": 5, "bottom": 0})
    once = all_three(this, table)
    assert all_three(this, pa.table({"cost": once})).equals(once)
    assert Fraction(str(once[1].as_py())) == Fraction(1, 5)


def test_a_number_at_an_end_stays_there_if_a_step_is_wider_than_the_ends():
    made = all_three(job({"bottom": 0.0, "top": 0.5, "round_to": 1}), pa.table({"cost": [0.5, 0.3, 0.0, 0.7]}))
    assert made.to_pylist() == [0.5, 0.0, 0.0, 0.5]
