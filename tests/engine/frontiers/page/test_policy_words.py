"""A policy in words: what a custodian reads beside the chart."""

from __future__ import annotations

import pytest

from engine.frontiers.page.policy_words import LONGEST, group_text, short_words


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ({"value": "17"}, "17"),
        ({"value": None}, "(missing)"),
        ({"from": "17", "to": "24"}, "17-24"),
        ({"from": "0.5", "to": "10"}, "0.5-10"),
        ({"from": "-5", "to": "5"}, "-5 to 5"),
        ({"from": "2025-01-03", "to": "2025-02-01"}, "2025-01-03 to 2025-02-01"),
        ({"from": "90", "to": None}, "90 to (missing)"),
        ({"node": "Tennessee"}, "Tennessee"),
        ({"node": None}, "(missing)"),
        ({"node": "Other", "values": ["a", None]}, "Other (a, (missing))"),
    ],
)
def test_a_group(group, text):
    assert group_text(group) == text


def run(first, last):
    return {"from": str(first), "to": str(last)}


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([], "not in this policy"),
        ([{"value": "f"}], "1 value"),
        ([{"value": "f"}, {"value": "m"}], "2 values, each on its own"),
        ([run(17, 90)], "all in one group, 17-90"),
        ([{"node": "any race"}], "all in one group, any race"),
        ([run(17, 24), {"value": "25"}, run(26, 90)], "3 groups, 17-24 … 26-90"),
        ([run(17, 24), run(25, 80), run(81, 90)], "3 groups, 17-24 … 81-90; widest 25-80"),
        ([run(17, 24), run(25, 32), run(33, 40)], "3 groups, 17-24 … 33-40"),
        ([{"node": "North"}, {"value": "Hawaii"}], "2 groups, North … Hawaii"),
    ],
)
def test_what_a_policy_does_to_an_attribute(groups, words):
    assert short_words(groups) == words


def test_long_labels_do_not_make_long_words():
    groups = [{"node": "x" * 500}, {"node": "y" * 500}]
    assert len(short_words(groups)) < 2 * LONGEST + 20
    assert group_text(groups[0]) == "x" * 500
