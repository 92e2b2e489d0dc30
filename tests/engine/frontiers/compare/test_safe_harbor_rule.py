"""Safe Harbor in a policy space, against the rule value by value and against all policies of small spaces."""

from __future__ import annotations

import datetime as dt
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
TODAY = dt.date(2026, 1, 1)
"""Whoever was born in 1936 may be 90 this year."""


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
    rule = safe_harbor(space, KINDS, AREAS, TODAY)
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
    rule = safe_harbor(ordered_space(zips=ZIPS[:-1]), KINDS, AREAS, TODAY)
    assert rule.is_exact


def test_a_zip_hierarchy_has_the_rule_as_a_node():
    hierarchy = Hierarchy("zip", Zip().rows(ZIPS))
    space = policy_space([hierarchy], ["zip"], {})
    areas = frozenset(label for label in hierarchy.labels[2] if label != "000")
    rule = safe_harbor(space, {"zip": "zip"}, areas, TODAY)
    assert rule.is_exact
    groups = space.groups(rule.bits)[0][space.domains[0].leaf_positions]
    assert joins_all(groups.tolist(), hierarchy.codes[2].tolist())
    assert joins_all(hierarchy.codes[2].tolist(), groups.tolist())
    # 036, 059 and 692 are restricted by the census of 2020
    assert len(set(groups[[2, 3, 4]].tolist())) == 1


def test_zip_plus_four_and_lost_zeros():
    space = policy_space([flat("zip", ["02139-1234", "021390001", "2139", "37011"])], ["zip"], {})
    rule = safe_harbor(space, {"zip": "zip"}, {"021", "370"}, TODAY)
    assert sorted(map(sorted, named(space.domains[0], rule.classes[0]))) == [
        ["02139-1234", "021390001", "2139"],
        ["37011"],
    ]


def test_ages_with_a_fraction_or_a_plus():
    space = policy_space([flat("age", ["89", "89.5", "90+", "104.2"])], ["age"], {})
    rule = safe_harbor(space, {"age": "age"}, (), TODAY)
    assert named(space.domains[0], rule.classes[0]) == [["89", "89.5"], ["90+", "104.2"]]


def test_years_that_tell_an_age_over_89_are_one():
    # on the first of January 2026 somebody born in 1936 may have been 90 for hours; whoever was born in 1937 is 88
    dates = ["1899-05-01", "1935-12-31", "1936-12-31", "1937-01-01", "1937-06-01", "2025-12-31"]
    for today in (TODAY, dt.date(2026, 12, 31)):
        rule = safe_harbor(ordered_space(dates=dates), KINDS, AREAS, today)
        assert named(ordered_space(dates=dates).domains[2], rule.classes[2]) == [dates[:3], dates[3:5], dates[5:]]
    later = safe_harbor(ordered_space(dates=dates), KINDS, AREAS, dt.date(2027, 1, 1))
    assert named(ordered_space(dates=dates).domains[2], later.classes[2]) == [dates[:5], dates[5:]]


def test_years_and_months_are_dates():
    years = ["1931", "1936-02", "1937", "1937-11", "1938"]
    space = policy_space([flat("born", years)], ["born"], {"born": "text"})
    rule = safe_harbor(space, {"born": "date"}, (), TODAY)
    assert named(space.domains[0], rule.classes[0]) == [years[:2], years[2:4], years[4:]]


def test_a_hierarchy_without_a_node_for_the_oldest_has_no_exact_policy():
    dates = ["1931-05-01", "1936-05-01", "1941-05-01", "1955-05-01"]
    space = policy_space([Hierarchy("born", Date().rows(dates))], ["born"], {})
    rule = safe_harbor(space, {"born": "date"}, (), TODAY)
    # 1931 and 1936 have the decade in common, as their policy has; its other years join them where there are any
    assert named(space.domains[0], rule.classes[0]) == [dates[:2], dates[2:3], dates[3:]]
    assert rule.is_exact
    later = safe_harbor(space, {"born": "date"}, (), dt.date(2031, 1, 1))
    assert not later.is_exact
    assert len(set(space.groups(later.bits)[0].tolist())) == 1


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
    rule = safe_harbor(space, KINDS, areas, TODAY)
    groups = space.groups(rule.bits)
    for domain, own, group in zip(space.domains, rule.classes, groups, strict=True):
        kind = KINDS.get(domain.attribute, "kept")
        expected = [safe_harbor_class(kind, label, areas, 1936) for label in domain.labels]
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
    with pytest.raises(InvalidData, match=r"column 'x': distinct values that are not .*: 1; correct") as caught:
        safe_harbor(space, {"x": kind}, (), TODAY)
    assert value not in str(caught.value)


def test_an_unknown_attribute_is_refused():
    with pytest.raises(InvalidJob, match="'zap'"):
        safe_harbor(ordered_space(), {"zap": "zip"}, (), TODAY)


def test_values_of_two_roots_cannot_be_joined():
    hierarchy = Hierarchy("zip", [("03601", "0"), ("59901", "5")])
    space = policy_space([hierarchy], ["zip"], {})
    with pytest.raises(InvalidJob, match="several roots"):
        safe_harbor(space, {"zip": "zip"}, (), TODAY)


def test_every_class_is_numbered_from_0():
    rule = safe_harbor(ordered_space(), KINDS, AREAS, TODAY)
    for own in rule.classes:
        assert sorted(set(own.tolist())) == list(range(own.max() + 1))
        firsts = [own.tolist().index(number) for number in range(own.max() + 1)]
        assert all(a < b for a, b in itertools.pairwise(firsts))
