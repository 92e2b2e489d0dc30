"""Order: neighbouring values joined level by level."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob

SEVERITY = ["none", "mild", "moderate", "severe", "critical"]
TEXT = st.text(min_size=1, max_size=4).filter(lambda text: text != "*" and " " not in text)


def test_neighbours_are_joined_and_the_last_group_may_be_smaller(build, rows_of):
    assert rows_of(build(builder="order", values=SEVERITY, fanouts=[2, 2]), []) == [
        ("none", "none to mild", "none to severe", "*"),
        ("mild", "none to mild", "none to severe", "*"),
        ("moderate", "moderate to severe", "none to severe", "*"),
        ("severe", "moderate to severe", "none to severe", "*"),
        ("critical", "critical", "critical", "*"),
    ]


def test_groups_may_have_names_at_any_level(build, rows_of):
    keys = {"values": SEVERITY, "fanouts": [2, 2]}
    rows = rows_of(build(builder="order", **keys, names=[[], ["walks", "lies"]]), [])
    assert [row[1:3] for row in rows[2:]] == [("moderate to severe", "walks")] * 2 + [("critical", "lies")]
    rows = rows_of(build(builder="order", **keys, names=[["low", "high", "top"]]), [])
    assert [row[1:3] for row in rows[2:]] == [("high", "none to severe")] * 2 + [("top", "critical")]


def test_rows_do_not_depend_on_the_data(build):
    builder = build(builder="order", values=SEVERITY, fanouts=[3])
    assert builder.rows(["mild", "unknown"]) == builder.rows([])
    assert not any(builder.is_label("unknown", level) for level in range(3))


def test_labels_belong_to_their_level(build):
    builder = build(builder="order", values=SEVERITY, fanouts=[2, 2], names=[[], ["walks", "lies"]])
    labels = ("none", "critical", "none to mild", "walks", "*", "none to severe", "mild to none", "")
    assert {label: [level for level in range(4) if builder.is_label(label, level)] for label in labels} == {
        "none": [0],
        "critical": [0, 1],
        "none to mild": [1],
        "walks": [2],
        "*": [3],
        "none to severe": [],
        "mild to none": [],
        "": [],
    }


@given(
    values=st.lists(TEXT, min_size=2, max_size=30, unique=True),
    fanouts=st.lists(st.integers(2, 5), min_size=1, max_size=3),
    probe=TEXT,
)
def test_groups_are_runs_of_the_order(build, rows_of, values, fanouts, probe):
    size, used = 1, []
    for fanout in fanouts:
        if size < len(values):
            used.append(fanout)
        size *= fanout
    builder = build(builder="order", values=values, fanouts=used)
    rows = rows_of(builder, [])
    assert [row[0] for row in rows] == values
    size = 1
    for level, fanout in enumerate(used, start=1):
        size *= fanout
        labels = [row[level] for row in rows]
        runs = [values[i : i + size] for i in range(0, len(values), size)]
        assert labels == [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs for _ in run]
        texts = [probe, *values, *labels, "*"]
        assert [text for text in texts if builder.is_label(text, level)] == [text for text in texts if text in labels]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"fanouts": [2]}, r"values: this key is required"),
        ({"values": SEVERITY}, r"fanouts: this key is required"),
        ({"values": SEVERITY, "fanouts": []}, r"fanouts.*at least 1"),
        ({"values": SEVERITY, "fanouts": [1]}, r"fanouts\.0.*at least 2"),
        ({"values": ["x"], "fanouts": [2]}, r"values.*at least 2"),
        ({"values": [1, 2], "fanouts": [2]}, r"values\.0: must be text: put it in quotes"),
        ({"values": ["x", "*"], "fanouts": [2]}, r"values\.1: '\*' is reserved for the highest level"),
        ({"values": ["x", ""], "fanouts": [2]}, r"values\.1: a label must not be empty"),
        ({"values": SEVERITY, "fanouts": [5, 2]}, r"fanouts\.1: level 1 is one group already; leave out this fanout"),
        (
            {"values": SEVERITY, "fanouts": [2], "names": [["low", "high"]]},
            r"names\.0: its number of names is 2, and that of the groups of level 1 is 3; name every group, or",
        ),
        (
            {"values": SEVERITY, "fanouts": [3], "names": [[], ["all"]]},
            r"names: its number of lists is 2, at most that of fanouts, 1",
        ),
        (
            {"values": SEVERITY, "fanouts": [3], "names": [["low", "low"]]},
            r"two groups of level 1 have the same label; give them different names in names\.0",
        ),
        (
            {"values": ["a", "b to c", "a to b", "c"], "fanouts": [2]},
            r"two groups of level 1 have the same label; give them different names in names\.0",
        ),
        ({"values": SEVERITY, "fanouts": [3], "names": [["low", "*"]]}, r"names\.0\.1: '\*' is reserved"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, keys, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="order", **keys)


def test_a_value_in_two_places_is_told_by_its_place(build):
    with pytest.raises(InvalidJob, match=r"values\.3: is values\.1 again") as caught:
        build(builder="order", values=["a", "secret", "b", "secret"], fanouts=[2])
    assert "secret" not in str(caught.value)
