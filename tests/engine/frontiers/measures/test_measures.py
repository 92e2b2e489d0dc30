"""Measures of one policy, along a path and by probing, against dictionaries of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidData
from engine.frontiers.measures.along_paths import Measures
from engine.frontiers.measures.registry import RISKS, UTILITIES
from engine.frontiers.measures.risk import Risk
from engine.frontiers.search.walk import Walk
from engine.frontiers.space.domain import policy_space
from engine.frontiers.space.paths import random_chain
from engine.frontiers.space.tuples import Tuples
from engine.hierarchy.hierarchy import Hierarchy
from engine.job import frontier_measures as named
from engine.tables.counting.distinct_tuples import frequency_table
from tests.engine.frontiers.spaces import groups_of, space_of, spaces_and_rows, tuples_of
from tests.profiles import examples
from tests.reference import frontier as oracle

KINDS = [(risk, utility) for risk in RISKS for utility in UTILITIES]


def measures_of(space, rows, risk="marketer", utility="kl-divergence", **settings):
    return Measures(space, tuples_of(rows), RISKS[risk], UTILITIES[utility], **settings)


def expected(space, bits, rows, risk, utility):
    policy = groups_of(space, bits)
    return float(oracle.RISKS[risk](oracle.cells(policy, rows))), float(oracle.UTILITIES[utility](policy, rows))


def without(bits, cleared):
    found = bits.copy()
    found[cleared] = False
    return found


def test_each_name_that_a_job_can_give_has_a_measure():
    assert (named.RISKS.keys(), named.UTILITIES.keys()) == (RISKS.keys(), UTILITIES.keys())
    assert (named.USUAL_RISK, named.USUAL_UTILITY) in KINDS


@pytest.mark.parametrize("places", [1 << 22, 12, 1])
@pytest.mark.parametrize(("risk", "utility"), KINDS)
@settings(max_examples=examples(40), deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32), share=st.floats(0.3, 1.0))
def test_path_agrees_with_the_oracle_at_every_step(risk, utility, places, problem, seed, share):
    """As an array of all combinations, over the cells that there are, and from one to the other on the way."""
    space, rows = problem
    random = np.random.default_rng(seed)
    measures = measures_of(space, rows, risk, utility)
    measures._most_places = places
    bits = space.closed(random.random(space.size) < share)
    chain = random_chain(space, bits, random)
    found = measures.along(bits, chain)
    assert len(found) == chain.size + 1
    for step in range(chain.size + 1):
        policy = without(bits, chain[:step])
        wanted = expected(space, policy, rows, risk, utility)
        assert found[step].tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert tuple(measures.at(policy)) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@settings(max_examples=examples(40), deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_both_walks_count_the_same_cells(problem, seed):
    space, rows = problem
    chain = random_chain(space, space.bottom, np.random.default_rng(seed))
    measures = measures_of(space, rows)
    for end in range(chain.size + 1):
        bits = without(space.bottom, chain[:end])
        wanted = sorted(oracle.cells(groups_of(space, bits), rows).values())
        for places in (1 << 22, 0):
            measures._most_places = places
            state = measures.start(bits).state
            there = state.records > 0
            people = np.maximum(state.people, state.records)[there]
            assert sorted(zip(state.records[there].tolist(), people.tolist(), strict=True)) == wanted


@settings(max_examples=examples(40), deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_steps_of_several_bits_are_steps_of_one(problem, seed):
    space, rows = problem
    random = np.random.default_rng(seed)
    measures = measures_of(space, rows)
    chain = random_chain(space, space.bottom, random)
    ends = np.flatnonzero(random.random(chain.size) < 0.5) + 1
    single = measures.along(space.bottom, chain)
    for places in (1 << 22, 8):
        measures._most_places = places
        assert measures.along(space.bottom, chain, ends) == pytest.approx(single[np.append(0, ends)])


@pytest.mark.parametrize(("risk", "utility"), KINDS)
@settings(max_examples=examples(30), deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_measures_are_monotone(risk, utility, problem, seed):
    space, rows = problem
    chain = random_chain(space, space.bottom, np.random.default_rng(seed))
    figures = measures_of(space, rows, risk, utility).along(space.bottom, chain)
    assert (np.diff(figures[:, 0]) <= 1e-12).all()
    assert (np.diff(figures[:, 1]) >= -1e-12).all()
    assert 0 < figures[-1, 0] <= figures[0, 0] <= 1
    assert figures[0, 1] == 0.0


@pytest.mark.parametrize("places", [1 << 22, 12, 0])
@pytest.mark.parametrize(("risk", "utility"), KINDS)
@settings(max_examples=examples(30), deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_probe_tells_and_changes_nothing(risk, utility, places, problem, seed):
    """As an array of all combinations, over the cells that there are, and from one to the other on the way."""
    space, rows = problem
    measures = measures_of(space, rows, risk, utility)
    measures._most_places = places
    walk = Walk(measures, space.bottom)
    for bit in random_chain(space, space.bottom, np.random.default_rng(seed)).tolist():
        ready = [b for b in np.flatnonzero(walk.bits).tolist() if not walk.bits[space.parents == b].any()]
        for other in ready:
            wanted = expected(space, without(walk.bits, [other]), rows, risk, utility)
            assert tuple(walk.probe(other)) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
        point = walk.clear(np.array([bit]))
        assert tuple(point) == pytest.approx(expected(space, walk.bits, rows, risk, utility), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("places", [1 << 22, 12, 0])
@settings(max_examples=examples(40), deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_what_groups_hold_on_the_way(places, problem, seed):
    space, rows = problem
    measures = measures_of(space, rows)
    measures._most_places = places
    walk = Walk(measures, space.bottom)
    for bit in random_chain(space, space.bottom, np.random.default_rng(seed)).tolist():
        walk.clear(np.array([bit]))
        policy = groups_of(space, walk.bits)
        cells = oracle.cells(policy, rows)
        for a, found in enumerate(walk.sums()):
            assert tuple(found.of.tolist()) == policy[a]
            for group in range(max(policy[a]) + 1):
                own = [figures for cell, figures in cells.items() if cell[a] == group]
                assert found.records[group] == sum(f for f, _ in own)
                assert found.sizes[group] == policy[a].count(group)
                assert found.cells[group] == len(own)
                assert found.shares[group] == pytest.approx(sum(f / people for f, people in own))


@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_any_other_monotone_risk_is_computed_from_the_cells(problem, seed):
    space, rows = problem
    own = Risk("mean-square", lambda records, people: float((records / people**2).sum() / records.sum()))
    measures = Measures(space, tuples_of(rows), own)
    chain = random_chain(space, space.bottom, np.random.default_rng(seed))
    for step, (risk, _) in enumerate(measures.along(space.bottom, chain).tolist()):
        found = oracle.cells(groups_of(space, without(space.bottom, chain[:step])), rows)
        wanted = sum(f / people**2 for f, people in found.values()) / sum(f for f, _ in found.values())
        assert risk == pytest.approx(wanted)


def test_large_smallest_cells_are_found(monkeypatch):
    """Sizes from a limit on are counted together: then the smallest is looked for."""
    monkeypatch.setattr("engine.frontiers.measures.along_paths._COUNTED_SIZES", 5)
    space = space_of([4])
    rows = [((0,), 3, 9), ((1,), 8, 7), ((2,), 6, 20), ((3,), 0, 4)]
    for risk in ("prosecutor", "journalist"):
        figures = measures_of(space, rows, risk).along(space.bottom, np.array([0, 2, 1]))
        for step, cleared in enumerate(([], [0], [0, 2], [0, 2, 1])):
            wanted = expected(space, without(space.bottom, cleared), rows, risk, "loss")[0]
            assert figures[step, 0] == pytest.approx(wanted)


def test_fewer_people_than_records_count_as_many():
    measures = measures_of(space_of([2]), [((0,), 4, 1), ((1,), 2, 0)])
    assert measures.at(np.array([True])).risk == pytest.approx(2 / 6)
    assert measures.at(np.array([False])).risk == pytest.approx(1 / 6)


def test_tuples_of_a_frequency_table():
    """Positions, not codes; the table stands for a population that is not there; nobody's tuples are left out."""
    hierarchy = Hierarchy("q", [("10", "*"), ("9", "*"), ("8", "*")])
    space = policy_space([hierarchy], ["q"], {"q": "integer"})
    codes = np.array([[0], [1], [2], [1]], np.int32)
    table = frequency_table(["q"], [hierarchy], {}, codes, np.array([2, 1, 0, 1]))
    assert table.codes.tolist() == [[0, 1, 2]]
    found = Tuples.of(table, space)
    assert found.positions.tolist() == [[2, 1]]
    assert found.records.tolist() == found.people.tolist() == [2, 2]
    peopled = frequency_table(["q"], [hierarchy], {}, codes, np.array([2, 1, 0, 1]), None, np.array([3, 1, 5, 1]))
    assert Tuples.of(peopled, space).people.tolist() == [3, 2, 5]


def test_a_table_without_records_has_no_frontier():
    with pytest.raises(InvalidData, match="no record"):
        tuples_of([((0,), 0, 3)])


@pytest.mark.parametrize("cleared", [[0, 0], [1]])
def test_a_path_that_no_policies_make_is_refused(cleared):
    space = space_of([3])
    measures = Measures(space, tuples_of([((0,), 1, 1), ((2,), 1, 2)]), RISKS["marketer"], UTILITIES["kl-divergence"])
    with pytest.raises(ValueError, match="not set at its beginning, or occurs twice"):
        measures.along(np.array([True, False]), np.array(cleared))
