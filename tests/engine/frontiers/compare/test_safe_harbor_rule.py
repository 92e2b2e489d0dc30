"""Safe Harbor in a policy space, against the rule value by value and against all policies of small spaces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidData, InvalidJob
from engine.frontiers.compare.safe_harbor_rule import kinds_of, populated_areas, safe_harbor
from engine.frontiers.space.coarsening import finest_policy
from engine.frontiers.space.domain import policy_space
from engine.hierarchy.builders.age import Age
from engine.hierarchy.builders.date import Date
from engine.hierarchy.builders.redaction import Redaction
from engine.hierarchy.builders.zip import Zip
from engine.hierarchy.hierarchy import Hierarchy
from tests.reference.policies import all_bits, joins_all, safe_harbor_class

AREAS = frozenset({"021", "370", "371"})
ZIPS = ["02139", "02140", "03601", "03602", "05901", "37011", "37099", "37201"]
AGES = ["0", "17", "88", "89", "90", "91", "120"]
DATES = ["2024-12-31", "2025-01-01", "2025-07-01", "2026-03-01"]
SEXES = ["Female", "Male"]


def flat(name, values):
    """Return a hierarchy of values and a root."""
    return Hierarchy(name, [(value, "*") for value in values if value is not None], with_null=None in values)


def ordered_space(zips=ZIPS, ages=AGES, dates=DATES):
    columns = {"zip": zips, "age": ages, "born": dates, "sex": SEXES}
    orders = {"zip": "text", "age": "integer", "born": "date"}
    return policy_space([flat(name, values) for name, values in columns.items()], list(columns), orders)


KINDS = {"zip": "zip", "age": "age", "born": "date"}


def named(domain, groups):
    """Return the groups as lists of values."""
    found = {}
    for label, group in zip(domain.labels, groups.tolist(), strict=True):
        found.setdefault(group, []).append(label)
    return list(found.values())


def test_by_hand():
    # restricted: 036 and 059, which are neighbours, and 372 far from them
    space = ordered_space()
    rule = safe_harbor(space, KINDS, AREAS)
    assert [named(*pair) for pair in zip(space.domains, rule.classes, strict=True)] == [
        [["02139", "02140"], ["03601", "03602", "05901", "37201"], ["37011", "37099"]],
        [["0"], ["17"], ["88"], ["89"], ["90", "91", "120"]],
        [["2024-12-31"], ["2025-01-01", "2025-07-01"], ["2026-03-01"]],
        [["Female"], ["Male"]],
    ]
    assert not rule.is_exact
    groups = space.groups(rule.bits)
    assert named(space.domains[0], groups[0]) == [["02139", "02140"], ZIPS[2:]]
    for own, group in list(zip(rule.classes, groups, strict=True))[1:]:
        assert own.tolist() == group.tolist()


def test_restricted_neighbours_are_one_group():
    rule = safe_harbor(ordered_space(zips=ZIPS[:-1]), KINDS, AREAS)
    assert rule.is_exact


def test_a_zip_hierarchy_has_the_rule_as_a_node():
    hierarchy = Hierarchy("zip", Zip().rows(ZIPS))
    space = policy_space([hierarchy], ["zip"], {})
    areas = frozenset(label for label in hierarchy.labels[2] if label != "000")
    rule = safe_harbor(space, {"zip": "zip"}, areas)
    assert rule.is_exact
    groups = space.groups(rule.bits)[0][space.domains[0].leaf_positions]
    assert joins_all(groups.tolist(), hierarchy.codes[2].tolist())
    assert joins_all(hierarchy.codes[2].tolist(), groups.tolist())
    # 036, 059 and 692 are restricted by the census of 2020
    assert len(set(groups[[2, 3, 4]].tolist())) == 1


def test_zip_plus_four_and_lost_zeros():
    space = policy_space([flat("zip", ["02139-1234", "021390001", "2139", "37011"])], ["zip"], {})
    rule = safe_harbor(space, {"zip": "zip"}, {"021", "370"})
    assert sorted(map(sorted, named(space.domains[0], rule.classes[0]))) == [
        ["02139-1234", "021390001", "2139"],
        ["37011"],
    ]


def test_ages_with_a_fraction_or_a_plus():
    space = policy_space([flat("age", ["89", "89.5", "90+", "104.2"])], ["age"], {})
    rule = safe_harbor(space, {"age": "age"}, ())
    assert named(space.domains[0], rule.classes[0]) == [["89", "89.5"], ["90+", "104.2"]]


@st.composite
def columns(draw):
    """Draw values of each kind, missing ones among them, and areas."""
    digits = st.sampled_from(["021", "022", "370"])
    zips = draw(st.sets(st.none() | st.builds("{}{:02d}".format, digits, st.integers(0, 9)), min_size=1, max_size=7))
    ages = draw(st.sets(st.none() | st.integers(85, 95).map(str), min_size=1, max_size=6))
    dates = draw(st.sets(st.none() | st.dates().map(str), min_size=1, max_size=6))
    areas = draw(st.sets(digits))
    return [
        list(values) if values != {None} else [*values, some]
        for values, some in ((zips, "02100"), (ages, "85"), (dates, "2020-01-01"))
    ], areas


@given(columns())
def test_the_policy_never_tells_apart_what_the_rule_does_not(drawn):
    values, areas = drawn
    space = ordered_space(*values)
    rule = safe_harbor(space, KINDS, areas)
    groups = space.groups(rule.bits)
    for domain, own, group in zip(space.domains, rule.classes, groups, strict=True):
        kind = KINDS.get(domain.attribute, "kept")
        expected = [safe_harbor_class(kind, label, areas) for label in domain.labels]
        assert joins_all(own.tolist(), expected)
        assert joins_all(expected, own.tolist())
        assert joins_all(group.tolist(), expected)
        if domain.attribute in {"age", "sex", "born"}:
            assert joins_all(expected, group.tolist())


@st.composite
def small_spaces(draw):
    """Draw an ordered domain or a tree of a few leaves, and a partition of its positions."""
    leaves = draw(st.integers(1, 6))
    rows = [(str(i), str(draw(st.integers(0, 3)))) for i in range(leaves)]
    parents = {label: draw(st.sampled_from("ab")) for _, label in rows}
    hierarchy = Hierarchy("x", [(leaf, label, parents[label], "*") for leaf, label in rows])
    space = policy_space([hierarchy], ["x"], {"x": draw(st.sampled_from([None, "integer"]))})
    return space, draw(st.lists(st.integers(0, 3), min_size=leaves, max_size=leaves))


@given(small_spaces())
def test_it_is_the_finest_of_all_policies_that_join_every_class(drawn):
    space, classes = drawn
    found = finest_policy(space, [np.array(classes, np.int32)])
    best = space.groups(found)[0].tolist()
    assert (space.closed(found) == found).all()
    assert joins_all(best, classes)
    for bits in all_bits(space.size):
        groups = space.groups(np.array(bits, np.bool_))[0].tolist()
        if joins_all(groups, classes):
            assert joins_all(groups, best)


@given(st.lists(st.tuples(st.sampled_from(ZIPS), st.integers(0, 15_000)), max_size=12))
def test_populated_areas_hold_more_than_20_000_people(people):
    hierarchy = flat("zip", ZIPS)
    space = policy_space([hierarchy], ["zip"], {"zip": "text"})
    codes = np.array([hierarchy.leaf_code(value) for value, _ in people], np.int32)
    found = populated_areas(space.domains[0], codes, np.array([count for _, count in people], np.int64))
    totals = {area: sum(count for value, count in people if value[:3] == area) for area in {z[:3] for z in ZIPS}}
    assert found == {area for area, total in totals.items() if total >= 20_001}


def test_20_000_people_are_too_few():
    space = policy_space([flat("zip", ["02139", "37011"])], ["zip"], {"zip": "text"})
    found = populated_areas(space.domains[0], np.array([0, 1, 1], np.int32), np.array([20_000, 20_000, 1]))
    assert found == {"370"}


def test_builders_tell_the_kind_unless_the_job_does():
    builders = {"z": Zip(), "a": Age(), "d": Date(), "g": Redaction(length=3)}
    assert kinds_of(builders) == {"z": "zip", "a": "age", "d": "date", "g": "kept"}
    assert kinds_of(builders, {"g": "age", "d": "kept"}) == {"z": "zip", "a": "age", "d": "kept", "g": "age"}


@pytest.mark.parametrize(("kind", "value"), [("zip", "secret-zip"), ("age", "very old"), ("date", "last spring")])
def test_values_of_another_kind_are_counted_and_not_named(kind, value):
    space = policy_space([flat("x", [value, "*"])], ["x"], {})
    with pytest.raises(InvalidData, match=r"column 'x': 1 distinct values") as caught:
        safe_harbor(space, {"x": kind}, ())
    assert value not in str(caught.value)


def test_an_unknown_attribute_is_refused():
    with pytest.raises(InvalidJob, match="'zap'"):
        safe_harbor(ordered_space(), {"zap": "zip"}, ())


def test_values_of_two_roots_cannot_be_joined():
    hierarchy = Hierarchy("zip", [("03601", "0"), ("59901", "5")])
    space = policy_space([hierarchy], ["zip"], {})
    with pytest.raises(InvalidJob, match="several roots"):
        safe_harbor(space, {"zip": "zip"}, ())


def test_every_class_is_numbered_from_0():
    rule = safe_harbor(ordered_space(), KINDS, AREAS)
    for own in rule.classes:
        assert sorted(set(own.tolist())) == list(range(own.max() + 1))
        firsts = [own.tolist().index(number) for number in range(own.max() + 1)]
        assert all(a < b for a, b in itertools.pairwise(firsts))
