"""Risk and utility loss of any partition, against the definitions in exact fractions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.frontiers.measures.along_paths import Measures
from engine.frontiers.measures.any_partition import point_of
from engine.frontiers.measures.registry import KL_DIVERGENCE, MARKETER, RISKS, UTILITIES
from engine.frontiers.space.domain import policy_space
from engine.frontiers.space.tuples import Tuples
from engine.hierarchy.hierarchy import Hierarchy


@st.composite
def worlds(draw):
    """Draw domain sizes, a partition of each, and records and people by tuple."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    partitions = [draw(st.lists(st.integers(0, 2), min_size=d, max_size=d)) for d in sizes]
    one = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    counts = st.tuples(st.integers(0, 4), st.integers(0, 9))
    return sizes, partitions, draw(st.dictionaries(one, counts, min_size=1, max_size=12).filter(has_records))


def has_records(world):
    return any(f for f, _ in world.values())


def tuples_of(world):
    positions = np.array(list(world), np.int32).T
    counts = np.array(list(world.values()), np.int64).T
    return Tuples.checked(positions, counts[0].copy(), counts[1].copy())


def numbered(partition):
    names = list(dict.fromkeys(partition))
    return np.array([names.index(name) for name in partition], np.int32)


@settings(deadline=None)
@given(worlds())
def test_marketer_risk_and_divergence_by_their_definitions(drawn):
    _, partitions, world = drawn
    found = point_of([numbered(p) for p in partitions], tuples_of(world), MARKETER, KL_DIVERGENCE)
    records, people, leaves = Counter(), Counter(), {}
    n = sum(f for f, _ in world.values())

    def cell_of(one):
        return tuple(partition[position] for partition, position in zip(partitions, one, strict=True))

    for one, (f, persons) in world.items():
        records[cell_of(one)] += f
        people[cell_of(one)] += persons
    risk = sum(Fraction(f, n * max(f, people[cell])) for cell, f in records.items() if f)
    for cell in records:
        leaves[cell] = math.prod(partition.count(name) for partition, name in zip(partitions, cell, strict=True))
    divergence = math.fsum(
        f / n * math.log(Fraction(f, n) / (Fraction(records[cell_of(one)], n) / leaves[cell_of(one)]))
        for one, (f, _) in world.items()
        if f
    )
    assert found.risk == pytest.approx(float(risk), rel=1e-12)
    assert found.utility_loss == pytest.approx(divergence, rel=1e-9, abs=1e-12)


@settings(deadline=None)
@given(worlds(), st.sampled_from(sorted(RISKS)), st.sampled_from(sorted(UTILITIES)), st.data())
def test_a_policy_is_measured_like_any_partition(drawn, risk, utility, data):
    sizes, _, world = drawn
    hierarchies = [Hierarchy(f"x{i}", [(str(v), "*") for v in range(d)]) for i, d in enumerate(sizes)]
    names = [hierarchy.attribute for hierarchy in hierarchies]
    space = policy_space(hierarchies, names, dict.fromkeys(names, "integer"))
    measures = Measures(space, tuples_of(world), RISKS[risk], UTILITIES[utility])
    bits = np.array(data.draw(st.lists(st.booleans(), min_size=space.size, max_size=space.size)), np.bool_)
    found = point_of(space.groups(bits), tuples_of(world), RISKS[risk], UTILITIES[utility])
    assert found == pytest.approx(measures.at(bits), rel=1e-9, abs=1e-12)
