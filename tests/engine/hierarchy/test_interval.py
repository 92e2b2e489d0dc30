"""Intervals: exact decimal arithmetic, half open, nested, cut at the bounds."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.hierarchy.builders.interval import Interval

INTEGERS = st.integers(-(10**6), 10**6)
DECIMALS = st.decimals(min_value=-(10**6), max_value=10**6, allow_nan=False, allow_infinity=False, places=4)


def ends(label: str) -> tuple[Fraction, Fraction]:
    """Read `[a, b[` with the exact numbers of another module than the builder uses."""
    start, end = label.removeprefix("[").removesuffix("[").split(", ")
    return Fraction(start), Fraction(end)


def test_values_of_the_data_are_the_leaves_without_two_bounds(build, rows_of):
    builder = build(builder="interval", widths=[5, 10, 20])
    assert rows_of(builder, ["23", "-1", "20"]) == [
        ("23", "[20, 25[", "[20, 30[", "[20, 40[", "*"),
        ("-1", "[-5, 0[", "[-10, 0[", "[-20, 0[", "*"),
        ("20", "[20, 25[", "[20, 30[", "[20, 40[", "*"),
    ]


def test_every_integer_between_two_bounds_is_a_leaf(build, rows_of):
    """The upper bound is outside, and intervals that reach over a bound are cut there."""
    builder = build(builder="interval", widths=[5, 10], lower=18, upper=27)
    rows = rows_of(builder, ["20", "17", "27"])
    assert [row[0] for row in rows] == [str(age) for age in range(18, 27)]
    assert rows[0] == ("18", "[18, 20[", "[18, 20[", "*")
    assert rows[-1] == ("26", "[25, 27[", "[20, 27[", "*")


def test_open_ends_take_what_lies_outside(build, rows_of):
    builder = build(builder="interval", widths=[50], lower=10, upper=100, open_ended=True)
    rows = {row[0]: row for row in rows_of(builder, ["9", "100", "-400"])}
    assert len(rows) == 90 + 3
    assert rows["9"] == ("9", "< 10", "*")
    assert rows["-400"] == ("-400", "< 10", "*")
    assert rows["100"] == ("100", ">= 100", "*")
    assert rows["10"] == ("10", "[10, 50[", "*")


def test_one_open_end_leaves_the_other_side_unbounded(build, rows_of):
    builder = build(builder="interval", widths=[10], upper=90, open_ended=True)
    assert rows_of(builder, ["-12", "95"]) == [("-12", "[-20, -10[", "*"), ("95", ">= 90", "*")]
    assert not builder.is_label("< 0", 1)


def test_decimals_are_exact_at_a_border(build, rows_of):
    """0.3 lies in [0.3, 0.4[; in binary floating point 0.3 // 0.1 is 2."""
    builder = build(builder="interval", type="decimal", widths=[0.1, 0.5])
    assert rows_of(builder, ["0.3", "0.30", "3e-1", "-0.05"]) == [
        ("0.3", "[0.3, 0.4[", "[0, 0.5[", "*"),
        ("0.30", "[0.3, 0.4[", "[0, 0.5[", "*"),
        ("3e-1", "[0.3, 0.4[", "[0, 0.5[", "*"),
        ("-0.05", "[-0.1, 0[", "[-0.5, 0[", "*"),
    ]


def test_digits_beyond_any_float_still_decide(build, rows_of):
    builder = build(builder="interval", type="decimal", widths=["0.0000000001"])
    below, at = "99999999999999999999.99999999999999999999", "100000000000000000000"
    labels = [row[1] for row in rows_of(builder, [below, at])]
    assert ends(labels[0])[1] == ends(labels[1])[0] == 10**20


def test_origin_moves_the_grid(build, rows_of):
    builder = build(builder="interval", widths=[10], origin=3)
    assert rows_of(builder, ["2", "3", "13"]) == [("2", "[-7, 3[", "*"), ("3", "[3, 13[", "*"), ("13", "[13, 23[", "*")]


def test_a_negative_zero_is_written_as_zero():
    """As it is after the job was written to the release and read again."""
    builder = Interval(widths=(5,), lower=Decimal("-0.0"), open_ended=True)
    assert builder.rows(["-1"]) == [("-1", "< 0", "*")]


@given(values=st.lists(DECIMALS, unique=True), origin=st.integers(-9, 9), factor=st.integers(2, 7))
def test_an_interval_holds_its_value_and_has_its_width(build, rows_of, values, origin, factor):
    builder = build(builder="interval", type="decimal", widths=["0.25", str(factor / 4)], origin=origin)
    for value, *labels, _ in rows_of(builder, list(map(str, values))):
        for label, width in zip(labels, (Fraction(1, 4), Fraction(factor, 4)), strict=True):
            start, end = ends(label)
            assert start <= Fraction(value) < end
            assert end - start == width
            assert (start - origin) % width == 0


@given(values=st.lists(INTEGERS, unique=True), lower=st.integers(-50, 50), size=st.integers(1, 80), ended=st.booleans())
def test_labels_of_a_bounded_domain_are_exactly_those_of_its_rows(build, rows_of, values, lower, size, ended):
    upper = lower + size
    builder = build(builder="interval", widths=[4, 12], lower=lower, upper=upper, open_ended=ended)
    rows = rows_of(builder, [*map(str, values), str(lower - 1), str(upper)])
    inside = [row for row in rows if lower <= int(row[0]) < upper]
    assert len(inside) == size
    assert (len(rows) > size) == ended
    every = {f"[{a}, {b}[" for a in range(lower - 13, upper + 13) for b in range(a, a + 13)}
    for level in (1, 2):
        given_by_rows = {row[level] for row in rows}
        assert {label for label in every if builder.is_label(label, level)} == given_by_rows & every


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 5",
        "5 ",
        "5\n",
        "+5",
        "05",
        "-0",
        "5.0",
        "1e1",
        "1_000",
        "five",
        "nan",
        "inf",
        "\u0665",
        "0x10",
        "*",
        "9" * 41,
    ],
)
def test_what_is_no_integer_has_no_row(build, text):
    builder = build(builder="interval", widths=[5])
    assert builder.rows([text]) == []
    assert not builder.is_label(text, 0)


@pytest.mark.parametrize(
    "text", ["", ".", "1e", "1e999999999", "1_0.0", "NaN", "-Infinity", "1,5", " 1.5", "1.5\n", "\u0665"]
)
def test_what_is_no_decimal_has_no_row(build, text):
    builder = build(builder="interval", type="decimal", widths=[5])
    assert builder.rows([text]) == []
    assert not builder.is_label(text, 0)


@pytest.mark.parametrize(
    "label",
    [
        "23",
        "[20, 24[",
        "[21, 26[",
        "[20, 25]",
        "[20,25[",
        "[20.0, 25[",
        "[020, 25[",
        "[25, 20[",
        "[20, 25[ ",
        "[-0, 5[",
        "*",
        "< 0",
        ">= 5",
        "[, [",
        "[1e1, 15[",
        "",
    ],
)
def test_garbage_is_no_label(build, label):
    assert not build(builder="interval", widths=[5]).is_label(label, 1)


def test_labels_of_one_level_are_no_labels_of_another(build):
    builder = build(builder="interval", widths=[5, 10])
    assert [builder.is_label("[20, 25[", level) for level in range(4)] == [False, True, False, False]
    assert [builder.is_label("[20, 30[", level) for level in range(4)] == [False, False, True, False]
    assert [builder.is_label("*", level) for level in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"widths": []}, r"widths.*at least 1"),
        ({"widths": [0]}, r"widths\.0.*above 0"),
        ({"widths": [5, 12]}, r"widths\.1 is 12; it must be a multiple of widths\.0, 5"),
        ({"widths": [5, 5]}, r"widths\.1 is 5; .* larger, such as 10"),
        ({"widths": [2.5]}, r"widths\.0 is 2\.5; it must be a whole number, or set type: decimal"),
        ({"widths": [True]}, r"widths\.0: must be a number"),
        ({"widths": [5], "lower": 0.5}, r"lower is 0\.5; it must be a whole number"),
        ({"widths": [5], "lower": 9, "upper": 9}, r"upper is 9; it must be above lower, 9"),
        ({"widths": [5], "open_ended": True}, r"open_ended: needs lower, upper or both"),
        ({"widths": [5], "lower": 0, "upper": 100_001}, r"100001 integers, at most 100000 are allowed; narrow"),
        ({"widths": [5], "width": 5}, r"unknown key 'width', did you mean 'widths'"),
        ({"widths": ["1e16"]}, r"widths\.0"),
        ({"widths": [float("inf")]}, r"widths\.0"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, keys, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="interval", **keys)


def test_the_domain_limit_itself_is_allowed(build):
    assert len(build(builder="interval", widths=[1000], lower=0, upper=100_000).rows([])) == 100_000
