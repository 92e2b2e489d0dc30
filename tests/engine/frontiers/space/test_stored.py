"""Policies as a report stores them: every bit string is read again as the groups that it means."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidJob, frontier_policies
from engine.frontiers.space.domain import policy_space
from engine.frontiers.space.policy import Policy
from engine.frontiers.space.stored import policy_reader, read_bits, read_policies, stored_bits, stored_space
from engine.hierarchy.hierarchy import Hierarchy
from tests.engine.frontiers.space.test_policy import policies, space


@given(st.lists(policies(missing=True), min_size=1, max_size=4), policies(missing=False))
def test_every_policy_is_read_again_from_json(of_one_space, other):
    for found in (of_one_space, [other]):
        entries = [{"bits": stored_bits(policy.bits)} for policy in found]
        stored = {"domains": stored_space(found[0].space), "frontier": entries}
        assert frontier_policies(json.loads(json.dumps(stored))) == [policy.document() for policy in found]


@given(st.lists(st.booleans(), max_size=40))
def test_the_digits_are_the_bits_in_their_order(bits):
    """As docs/frontier.md says, for programs that do not use this one."""
    text = stored_bits(np.array(bits, np.bool_))
    digits = "".join(f"{int(digit, 16):04b}" for digit in text)
    assert digits == "".join("01"[bit] for bit in bits).ljust(-(-len(bits) // 8) * 8, "0")
    assert read_bits(text, len(bits)).tolist() == bits


def plain_groups(domain, bits):
    """Return the values of each group, by the words of docs/frontier.md alone."""
    counts = list(bits)
    for bit, parent in enumerate(domain["parents"]):
        counts[bit] = counts[bit] and (parent < 0 or counts[parent])
    groups = [[domain["values"][0]]]
    for place, value in enumerate(domain["values"][1:]):
        apart = (
            counts[place]
            if domain["ordered"]
            else domain["separators"][place] < 0 or counts[domain["separators"][place]]
        )
        if apart:
            groups.append([value])
        else:
            groups[-1].append(value)
    return groups


@given(policies(missing=False))
def test_the_documented_function_gives_the_same_groups(policy):
    digits = "".join(f"{int(digit, 16):04b}" for digit in stored_bits(policy.bits))
    start, found = 0, []
    for domain in stored_space(policy.space):
        bits = len(domain["values"]) - 1 if domain["ordered"] else len(domain["parents"])
        found.append(plain_groups(domain, [digit == "1" for digit in digits[start : start + bits]]))
        start += bits
    expected = []
    for domain, groups in zip(policy.space.domains, policy.space.groups(policy.bits), strict=True):
        numbers = groups.tolist()
        expected.append(
            [[domain.labels[i] for i, own in enumerate(numbers) if own == group] for group in range(max(numbers) + 1)]
        )
    assert found == expected


def test_a_column_of_one_value_has_no_bit():
    made = policy_space([Hierarchy("age", [("7", "*")])], ["age"], {"age": "integer"})
    report = {"domains": stored_space(made), "frontier": [{"bits": stored_bits(Policy(made, made.top).bits)}]}
    assert frontier_policies(report) == [{"age": [{"value": "7"}]}]


def test_a_report_of_an_earlier_version_has_the_groups_in_each_entry():
    policy = {"age": [{"value": "7"}]}
    assert policy_reader({"frontier": []})({"policy": policy}) == policy


@pytest.mark.parametrize("size", [8, 10_000])
def test_bits_of_another_space_are_refused(size):
    made = space()
    text = stored_bits(np.zeros(size, np.bool_))
    with pytest.raises(ValueError, match=f"must be {made.size}"):
        policy_reader({"domains": stored_space(made)})({"bits": text if size > 8 else ""})


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("domains", 0, "attribute"), None),
        (("domains", 0, "names", 0), 1),
        (("domains", 0, "parents", 0), 2**63),
        (("domains", 0, "separators", 0), 10**400),
        (("domains",), None),
        (("frontier",), 7),
    ],
)
def test_a_file_that_is_no_report_of_a_frontier_is_refused(tmp_path, place, value):
    rows = (("a", "A", "*"), ("b", "A", "*"), ("c", "C", "*"))
    of_space = policy_space([Hierarchy("q", rows)], ["q"], {})
    report = {"name": "n", "domains": stored_space(of_space), "frontier": []}
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps(report))
    assert read_policies(path, "file") == ("n", [])
    *above, key = place
    part = report
    for step in above:
        part = part[step]
    part[key] = value
    path.write_text(json.dumps(report))
    with pytest.raises(InvalidJob, match="file is no report of a frontier; write one"):
        read_policies(path, "file")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"frontier": [], "frontier": []}', '{"frontier": [NaN]}'])
def test_json_that_can_be_read_in_two_ways_is_no_report_of_a_frontier(tmp_path, text):
    (tmp_path / "frontier.json").write_text(text)
    with pytest.raises(InvalidJob, match="file is no report of a frontier; write one"):
        read_policies(tmp_path / "frontier.json", "file")
