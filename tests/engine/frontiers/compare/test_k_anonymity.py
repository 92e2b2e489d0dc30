"""Frontiers of k-anonymity against all levels, record by record."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.frontiers.compare.k_anonymity import k_anonymity_frontiers
from engine.frontiers.space.domain import policy_space
from engine.hierarchy.hierarchy import Hierarchy
from engine.tables.counting.distinct_tuples import frequency_table
from tests.reference.policies import halved, joins_all, pareto, records_below

TREE = [("x", "xy", "*"), ("z", "zu", "*"), ("y", "xy", "*"), ("u", "zu", "*"), ("v", "v", "*")]


def world(sizes, records, others=()):
    """Return the space and the table of an ordered domain per size, and of a tree.

    Records and others, those that only the population has, are tuples of leaf codes.
    """
    hierarchies = [Hierarchy(f"o{i}", [(str(v), "*") for v in range(d)]) for i, d in enumerate(sizes)]
    hierarchies.append(Hierarchy("tree", TREE))
    names = [hierarchy.attribute for hierarchy in hierarchies]
    space = policy_space(hierarchies, names, dict.fromkeys(names[:-1], "integer"))
    codes = list(dict.fromkeys([*records, *others]))
    counts, more = Counter(records), Counter(others)
    table = frequency_table(
        names,
        hierarchies,
        {},
        np.array(codes, np.int32),
        np.array([counts[code] for code in codes], np.int64),
        population=np.array([counts[code] + more[code] for code in codes], np.int64),
    )
    return space, table


def measure_of(space, records, exact):
    """Risk as if the records were the population, and a loss that grows with the groups' sizes; exact keeps them."""

    def measure(bits):
        groups = [own.tolist() for own in space.groups(bits)]
        cells = Counter(
            tuple(
                group[domain.leaf_positions[code]]
                for group, domain, code in zip(groups, space.domains, record, strict=True)
            )
            for record in records
        )
        risk = float(Fraction(len(cells), len(records)))
        loss = float(sum(count * count for group in groups for count in Counter(group).values()))
        exact[risk, loss] = groups
        return risk, loss

    return measure


@st.composite
def worlds(draw):
    """Draw sizes of ordered domains, records and people that are no records."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=2))
    one = st.tuples(*(st.integers(0, size - 1) for size in sizes), st.integers(0, len(TREE) - 1))
    return sizes, draw(st.lists(one, min_size=4, max_size=25)), draw(st.lists(one, max_size=5))


def level_partitions(size):
    """Return the partition of an ordered domain at each level, from its values to one group."""
    steps = 0
    while len(halved(0, size, steps)) < size:
        steps += 1
    found = []
    for level in range(steps, -1, -1):
        intervals = halved(0, size, level)
        found.append([next(i for i, (a, b) in enumerate(intervals) if a <= v < b) for v in range(size)])
    return found


@settings(deadline=None)
@given(worlds(), st.sets(st.integers(2, 6), min_size=1, max_size=2), st.sampled_from([0.0, 0.1, 0.5]))
def test_they_are_the_undominated_of_all_levels(drawn, ks, limit):
    sizes, records, others = drawn
    space, table = world(sizes, records, others)
    measure = measure_of(space, records, {})
    found = k_anonymity_frontiers(space, table, sorted(ks), measure, limit)
    partitions = [
        *([own[level] for level in range(len(own))] for own in map(level_partitions, sizes)),
        [[row[level] for row in TREE] for level in range(len(TREE[0]))],
    ]
    for k in ks:
        holding = [
            levels
            for levels in itertools.product(*(range(len(own)) for own in partitions))
            if records_below(records, [own[level] for own, level in zip(partitions, levels, strict=True)], k)
            <= Fraction(str(limit)) * len(records)
        ]
        points = []
        for levels in holding:
            chosen = [own[level] for own, level in zip(partitions, levels, strict=True)]
            cells = Counter(tuple(own[v] for own, v in zip(chosen, record, strict=True)) for record in records)
            loss = sum(count * count for own in chosen for count in Counter(own).values())
            points.append((float(Fraction(len(cells), len(records))), float(loss)))
        assert [(one.risk, one.utility_loss) for one in found[k]] == pareto(points)
        assert all(one.levels in holding for one in found[k])


@settings(deadline=None)
@given(worlds())
def test_a_policy_has_the_groups_of_its_levels_and_the_measures_of_its_policy(drawn):
    sizes, records, others = drawn
    space, table = world(sizes, records, others)
    measure = measure_of(space, records, {})
    for one in k_anonymity_frontiers(space, table, [2], measure)[2]:
        assert measure(one.bits) == (one.risk, one.utility_loss)
        groups = [own.tolist() for own in space.groups(one.bits)]
        for domain, group, level, size in zip(space.domains, groups, one.levels, [*sizes, None], strict=True):
            if size is None:
                expected = [{row[0]: row for row in TREE}[label][level] for label in domain.labels]
            else:
                expected = level_partitions(size)[level]
            assert joins_all(group, expected)
            assert joins_all(expected, group)


def test_too_few_records_have_no_frontier():
    space, table = world([3], [(0, 0), (1, 1)])
    assert k_anonymity_frontiers(space, table, [3], measure_of(space, [(0, 0), (1, 1)], {})) == {3: []}
