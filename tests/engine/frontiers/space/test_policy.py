"""Policies as bits and as documents: what is written is read again, and nothing else is read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidJob
from engine.frontiers.space.domain import policy_space
from engine.frontiers.space.policy import Policy
from engine.hierarchy.hierarchy import Hierarchy
from engine.job.policy_file import policy_text, read_policy
from engine.job.yaml_text import read_yaml
from tests.reference.policy_documents import group_of

# two nodes are called Other, and one of them is beside a leaf of that name
ROWS = [
    ("a", "vowel", "Latin", "*"),
    ("e", "vowel", "Latin", "*"),
    ("b", "Other", "Latin", "*"),
    ("c", "Other", "Latin", "*"),
    ("x", "x", "Other", "*"),
    ("y", "y", "Other", "*"),
    ("Other", "alone", "Greek", "*"),
    ("ж", "alone", "Greek", "*"),
]
NUMBERS = ["2", "10", "-1", "4711", "33"]


def space(numbers=NUMBERS, *, missing=False):
    """Return the space of an ordered domain and of a tree."""
    ordered = Hierarchy("age", [(value, "*") for value in numbers], with_null=missing)
    return policy_space(
        [ordered, Hierarchy("letter", ROWS, with_null=missing)], ["age", "letter"], {"age": "integer", "letter": None}
    )


@st.composite
def policies(draw, missing=None):
    made = space(missing=draw(st.booleans()) if missing is None else missing)
    bits = draw(st.lists(st.booleans(), min_size=made.size, max_size=made.size))
    return Policy(made, np.array(bits))


@given(policies())
def test_what_is_written_is_read_again(policy):
    assert Policy.read(policy.space, policy.document()) == policy


@settings(deadline=None)
@given(policies())
def test_a_file_holds_the_same_policy_in_the_same_bytes(tmp_path_factory, policy):
    path = tmp_path_factory.mktemp("policies") / "policy.yaml"
    text = policy_text("night", policy.document())
    path.write_text(text, encoding="utf-8")
    read = read_policy(path)
    assert Policy.read(policy.space, read) == policy
    assert policy_text("night", read) == text


@given(policies())
def test_the_document_means_what_the_bits_mean(policy):
    rows = {"age": [(value, "*") for value in NUMBERS], "letter": ROWS}
    document = policy.document()
    for domain, groups in zip(policy.space.domains, policy.space.groups(policy.bits), strict=True):
        key = int if domain.ordered else None
        name = domain.attribute
        places = [group_of(value, document[name], rows[name], key) for value in domain.labels]
        assert places == groups.tolist()


@given(policies(missing=False), policies(missing=False))
def test_a_policy_is_below_another_one_whose_groups_hold_its_own(one, other):
    def finer(p, q):
        return all(
            b[i] == b[j]
            for a, b in zip(p.space.groups(p.bits), q.space.groups(q.bits), strict=True)
            for i, j in itertools.combinations(range(len(a)), 2)
            if a[i] == a[j]
        )

    assert (one <= other) == finer(one, other)
    assert (one == other) == (finer(one, other) and finer(other, one))
    assert (one < other) == (one <= other and one != other)
    assert (one >= other) == (other <= one)
    assert one != other or hash(one) == hash(other)


@given(policies(missing=False), policies(missing=False))
def test_a_difference_says_which_one_is_finer(one, other):
    for text, own, others in zip(
        one.difference(other).values(),
        one.space.groups(one.bits),
        other.space.groups(other.bits),
        strict=True,
    ):
        pairs = set(zip(own.tolist(), others.tolist(), strict=True))
        finer, coarser = len(pairs) == own[-1] + 1, len(pairs) == others[-1] + 1
        expected = {
            (True, True): "the same",
            (True, False): "finer",
            (False, True): "coarser",
            (False, False): "other groups",
        }
        assert text.split(":")[0] == expected[finer, coarser]
        assert text == "the same" or f"{own[-1] + 1} group" in text


def test_a_document_is_readable():
    policy = Policy(space(), np.array([True, False, False, True, *[False] * 6]))
    assert policy.document()["age"] == [
        {"value": "-1"},
        {"from": "2", "to": "33"},
        {"value": "4711"},
    ]
    assert policy_text("n", {"age": policy.document()["age"]}) == (
        'name: n\npolicy:\n  age:\n    - {value: "-1"}\n    - {from: "2", to: "33"}\n    - {value: "4711"}\n'
    )


TREE = [{"node": "*"}]
LINE = [{"from": "-1", "to": "4711"}]
VALUES = [{"value": row[0]} for row in ROWS]
WRONG = {
    "overlap": ([{"from": "-1", "to": "33"}, {"from": "33", "to": "4711"}], TREE, "'age': groups.1 holds values that"),
    "gap": ([{"from": "-1", "to": "10"}, {"value": "4711"}], TREE, "'age': values that are in no group: 1 of 5"),
    "unknown": ([{"from": "-1", "to": "99"}], TREE, "'age': groups.0 names a value that the column does not have"),
    "number": ([{"from": -1, "to": 4711}], TREE, "'age': groups.0 names a value that"),
    "order": ([{"from": "10", "to": "4711"}, {"from": "-1", "to": "2"}], TREE, "'age': groups.1 comes after"),
    "backwards": ([{"from": "4711", "to": "-1"}], TREE, "'age': groups.0 from comes after to"),
    "node of a line": ([{"node": "*"}], TREE, "'age': groups.0 must be {from, to} or {value}"),
    "run of a tree": (LINE, [{"from": "a", "to": "ж"}], "'letter': groups.0 must be {node} or {value}"),
    "no list": (LINE, "*", "'letter': must be a list of groups"),
    "unknown node": (LINE, [{"node": "Cyrillic"}], "'letter': groups.0 is no node of the hierarchy"),
    "two nodes": (LINE, [{"node": "Other"}], "'letter': groups.0 names 2 nodes of the hierarchy; add values"),
    "overlap of nodes": (LINE, [{"node": "*"}, {"node": "vowel"}], "'letter': groups.1 holds values that"),
    "gap of a tree": (LINE, [{"node": "Latin"}], "'letter': values that are in no group: 4 of 8"),
    "missing column": (
        LINE,
        None,
        "policy: must hold exactly the columns 'age', 'letter'; it lacks 'letter'; others that it has: 0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_policy_is_refused_without_a_value(case):
    line, tree, text = WRONG[case]
    document = {"age": line} if tree is None else {"age": line, "letter": tree}
    with pytest.raises(InvalidJob) as caught:
        Policy.read(space(), document)
    assert text in str(caught.value)
    assert "4711" not in str(caught.value)


def test_groups_that_no_cut_makes_are_refused():
    made = space()
    line = np.zeros(5, np.int32)
    letters = dict.fromkeys(made.domains[1].labels, 0)
    split = np.array([letters[value] if value != "a" else 1 for value in made.domains[1].labels], np.int32)
    with pytest.raises(InvalidJob, match="'letter': its groups are not a cut of the hierarchy"):
        Policy.of_groups(made, [line, split])
    with pytest.raises(InvalidJob, match="'age': its groups are not runs of the values in their order"):
        Policy.of_groups(made, [np.array([0, 1, 0, 0, 0], np.int32), np.zeros(8, np.int32)])


FILES = {
    "no policy": "name: x\n",
    "a list": "- 1\n",
    "groups": "policy: {age: 17}\n",
    "twice": "policy:\n  age: []\n  age: []\n",
    "other keys": "policy: {age: []}\nnotes: x\n",
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_policy_is_refused(tmp_path, case):
    path = tmp_path / "policy.yaml"
    path.write_text(FILES[case])
    with pytest.raises(InvalidJob, match=r"policy file policy\.yaml: "):
        read_policy(path)
    with pytest.raises(InvalidJob, match=r"policy file nowhere\.yaml: cannot be read"):
        read_policy(tmp_path / "nowhere.yaml")


@given(st.lists(st.text(max_size=6), min_size=1, max_size=4, unique=True))
def test_any_text_survives_a_file(values):
    groups = {"a": [{"value": value} for value in values]}
    assert read_yaml(policy_text(values[0], groups)) == {"name": values[0], "policy": groups}
    named = {value: [{"node": value, "values": values}] for value in values}
    assert read_yaml(policy_text("n", named))["policy"] == named
