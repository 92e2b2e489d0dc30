"""Explicit groups: one mapping per level, each value and label in one group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob

MARITAL = {"alone": ["single", "widowed", "divorced"], "together": ["married"]}
TEXT = st.text(min_size=1, max_size=4).filter(lambda text: text != "*")


def test_one_level(build, rows_of):
    assert rows_of(build(builder="grouping", groups=[MARITAL]), ["single", "unknown"]) == [
        ("single", "alone", "*"),
        ("widowed", "alone", "*"),
        ("divorced", "alone", "*"),
        ("married", "together", "*"),
    ]


def test_levels_group_the_labels_below(build, rows_of):
    groups = [{"north": ["DK", "SE"], "south": ["IT"], "east": ["PL"]}, {"EU 15": ["north", "south"], "new": ["east"]}]
    assert rows_of(build(builder="grouping", groups=groups), []) == [
        ("DK", "north", "EU 15", "*"),
        ("SE", "north", "EU 15", "*"),
        ("IT", "south", "EU 15", "*"),
        ("PL", "east", "new", "*"),
    ]


def test_other_collects_values_of_the_data_and_stays_itself(build, rows_of):
    groups = [{"north": ["DK"], "south": ["IT"]}, {"Europe": ["north", "south"]}]
    builder = build(builder="grouping", groups=groups, other="elsewhere")
    assert rows_of(builder, ["FJ", "IT", "", "*"]) == [
        ("DK", "north", "Europe", "*"),
        ("IT", "south", "Europe", "*"),
        ("FJ", "elsewhere", "elsewhere", "*"),
        ("", "elsewhere", "elsewhere", "*"),
    ]
    assert builder.is_label("never seen", 0)
    assert not builder.is_label("never seen", 1)
    assert not builder.is_label("*", 0)


def test_other_may_be_grouped_above(build, rows_of):
    groups = [{"north": ["DK"]}, {"all": ["north", "elsewhere"]}, {"world": ["all"]}]
    builder = build(builder="grouping", groups=groups, other="elsewhere")
    assert rows_of(builder, ["FJ"])[-1] == ("FJ", "elsewhere", "all", "world", "*")
    assert [builder.is_label("elsewhere", level) for level in range(1, 5)] == [True, False, False, False]


def test_without_other_only_listed_values_are_labels(build):
    builder = build(builder="grouping", groups=[MARITAL])
    assert [builder.is_label("single", level) for level in range(3)] == [True, False, False]
    assert [builder.is_label("alone", level) for level in range(3)] == [False, True, False]
    assert [builder.is_label("*", level) for level in range(3)] == [False, False, True]
    assert not any(builder.is_label("unknown", level) for level in range(3))


@given(
    values=st.lists(TEXT, min_size=1, max_size=12, unique=True),
    cut=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    unlisted=st.lists(TEXT, unique=True, max_size=5),
    other=st.none() | st.just("other"),
    probe=TEXT,
)
def test_labels_are_exactly_those_of_the_rows(build, rows_of, values, cut, unlisted, other, probe):
    first: dict[str, list[str]] = {}
    for value, group in zip(values, cut, strict=False):
        first.setdefault(f"group {group}", []).append(value)
    second = {
        "low": [name for name in first if name < "group 2"],
        "high": [name for name in first if name >= "group 2"],
    }
    second = {label: members for label, members in second.items() if members}
    builder = build(builder="grouping", groups=[first, second], **({"other": other} if other else {}))
    rows = rows_of(builder, [*values, *unlisted])
    assert {row[0] for row in rows} == set(values) | (set(unlisted) if other else set())
    assert all(row[0] in first.get(row[1], []) or (row[1] == other and row[0] not in values) for row in rows)
    assert all(row[1] in second.get(row[2], []) or row[1] == row[2] == other for row in rows)
    for level in (1, 2):
        possible = {row[level] for row in builder.rows(["value without a group"])}
        texts = [probe, *values, *first, *second, "other", "*", ""]
        assert [text for text in texts if builder.is_label(text, level)] == [text for text in texts if text in possible]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"groups": []}, r"groups.*at least 1"),
        ({"groups": [{}]}, r"groups\.0.*at least 1"),
        ({"groups": [{"alone": []}]}, r"groups\.0\.alone.*at least 1"),
        ({"groups": [{"": ["x"]}]}, r"groups\.0.*a label must not be empty"),
        ({"groups": [{"*": ["x"]}]}, r"groups\.0.*'\*' is reserved for the highest level"),
        ({"groups": [{"a": ["*"]}]}, r"groups\.0\.a\.0: '\*' is reserved"),
        ({"groups": [{"a": [1]}]}, r"groups\.0\.a\.0: must be text: put it in quotes"),
        ({"groups": [{"a": [False]}]}, r"groups\.0\.a\.0: must be text: put it in quotes"),
        ({"groups": [{1: ["x"]}]}, r"groups\.0\..*must be text: put it in quotes"),
        ({"groups": [{"a": ["x"]}], "other": "*"}, r"other: '\*' is reserved"),
        (
            {"groups": [{"a": ["x"]}, {"b": ["a", "x"]}]},
            r"groups\.1\.b\.1: is no label of the level below; these are 'a'",
        ),
        (
            {"groups": [{"a": ["x"], "b": ["y"], "c": ["z"]}, {"d": ["a"]}]},
            r"groups\.1: labels of the level below that are in no group: 'b', 'c'; add them",
        ),
    ],
)
def test_a_bad_job_is_refused_by_key(build, keys, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="grouping", **keys)


@pytest.mark.parametrize("groups", [{"a": ["secret", "x"], "b": ["y", "secret"]}, {"b": ["x", "secret", "secret"]}])
def test_a_value_in_two_groups_is_told_by_its_place(build, groups):
    with pytest.raises(InvalidJob, match=r"groups\.0\.b\.[12]: is in the group '[ab]' already") as caught:
        build(builder="grouping", groups=[groups])
    assert "secret" not in str(caught.value)
