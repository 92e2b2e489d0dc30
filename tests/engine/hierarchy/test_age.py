"""Ages: Safe Harbor's category of 90 or older, and bands that never reach across it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob


@pytest.mark.parametrize(
    ("age", "labels"),
    [
        ("0", ("0", "0-4", "0-9", "0-19", "*")),
        ("37", ("37", "35-39", "30-39", "20-39", "*")),
        ("89", ("89", "85-89", "80-89", "80-89", "*")),
        ("90", ("90+", "90+", "90+", "90+", "*")),
        ("104", ("90+", "90+", "90+", "90+", "*")),
    ],
)
def test_default_levels(build, rows_of, age, labels):
    rows = {row[0]: row for row in rows_of(build(builder="age"), [])}
    assert rows[age] == (age, *labels)


def test_the_domain_is_every_age_whatever_the_data_holds(build):
    rows = build(builder="age").rows(["3", "130", "unknown"])
    assert [row[0] for row in rows] == [str(age) for age in range(121)]


def test_level_one_tells_no_age_over_89_and_every_age_up_to_89(build):
    """45 CFR 164.514(b)(2)(i)(C)."""
    builder = build(builder="age")
    assert [age for age in range(200) if builder.is_label(str(age), 1)] == list(range(90))


def test_without_top_code_there_is_no_such_level(build, rows_of):
    builder = build(builder="age", top_code="none", widths=[20], maximum=99)
    assert builder.level_count == 3
    assert rows_of(builder, [])[95] == ("95", "80-99", "*")


@given(
    maximum=st.integers(1, 150),
    top=st.integers(1, 150) | st.none(),
    first=st.integers(2, 12),
    factors=st.lists(st.integers(2, 4), max_size=2),
)
def test_bands_hold_their_age_and_stop_below_the_top_code(build, rows_of, maximum, top, first, factors):
    top = None if top is None else min(top, maximum)
    widths = [first]
    for factor in factors:
        widths.append(widths[-1] * factor)
    builder = build(builder="age", maximum=maximum, top_code=top or "none", widths=widths)
    rows = rows_of(builder, [])
    assert len(rows) == maximum + 1
    for age, *labels, _ in rows:
        for label, width in zip(labels[-len(widths) :], widths, strict=True):
            if top is not None and int(age) >= top:
                assert label == f"{top}+"
                continue
            low, high = (int(age), int(age)) if label == age else map(int, label.split("-"))
            assert low <= int(age) <= high
            assert low % width == 0
            assert high + 1 == (low + width if top is None else min(low + width, top))


@given(text=st.text(max_size=7) | st.from_regex(r"[0-9]{0,3}[-+]?[0-9]{0,3}", fullmatch=True), level=st.integers(0, 5))
def test_labels_are_exactly_those_of_the_rows(build, text, level):
    builder = build(builder="age")
    assert builder.is_label(text, level) == (text in {row[level] for row in builder.rows([])})


def test_a_band_that_the_top_code_cuts_to_one_age_is_that_age(build, rows_of):
    builder = build(builder="age", top_code=85, widths=[7, 21])
    rows = {row[0]: row for row in rows_of(builder, [])}
    assert rows["84"] == ("84", "84", "84", "84", "*")
    assert rows["83"] == ("83", "83", "77-83", "63-83", "*")
    assert builder.is_label("84", 2)
    assert not builder.is_label("84-84", 2)
    assert builder.extent("84", 2) == builder.extent("84", 0)


def test_labels_are_told_apart_by_level(build):
    builder = build(builder="age")
    assert not any(builder.is_label("37", level) for level in (2, 3, 4, 5))
    assert not any(builder.is_label(label, 3) for label in ("35-39", "85-94", "30-40", "037", "90-94", "*", ""))
    assert not builder.is_label("90+", 0)
    assert not builder.is_label("121", 0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"maximum": 0}, r"maximum.*at least 1"),
        ({"maximum": 151}, r"maximum.*at most 150"),
        ({"maximum": 80}, r"top_code is 90; it must be none, or at most maximum, 80"),
        ({"top_code": 0}, r"top_code.*at least 1"),
        ({"top_code": None}, r"top_code"),
        ({"widths": [5, 7]}, r"widths\.1 is 7; it must be a multiple of widths\.0, 5"),
        ({"widths": [1]}, r"widths\.0.*at least 2"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, keys, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="age", **keys)
