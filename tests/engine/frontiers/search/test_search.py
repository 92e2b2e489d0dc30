"""Searches find the frontier, keep to their budget and are repeatable."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.frontiers.measures.along_paths import Measures
from engine.frontiers.measures.plane import missing_last
from engine.frontiers.measures.registry import RISKS, UTILITIES
from engine.frontiers.search.archive import Archive
from engine.frontiers.search.exploration import Exploration, policies
from engine.frontiers.search.full_domain import balanced_levels
from engine.frontiers.search.search import IMPROVEMENTS, INITIALIZATIONS, search
from engine.frontiers.search.sublattice import promising
from engine.frontiers.simulated_population import population
from engine.frontiers.space.domain import PolicySpace
from engine.frontiers.space.paths import random_chain
from engine.frontiers.space.tuples import Tuples
from engine.job.frontier_settings import FrontierSettings
from tests.engine.frontiers.spaces import TREES, groups_of, space_of, spaces_and_rows, tuples_of
from tests.profiles import examples, only, spread, thorough
from tests.reference import frontier as oracle

PAIRINGS = list(itertools.product(INITIALIZATIONS, [*IMPROVEMENTS, "none"]))


def exhaustive(space, rows, risk="marketer", utility="kl-divergence"):
    """Return the frontier's points of all policies."""
    points = []
    for bits in policies(space.parents):
        policy = groups_of(space, bits)
        found = oracle.RISKS[risk](oracle.cells(policy, rows))
        points.append((float(found), float(oracle.UTILITIES[utility](policy, rows))))
    distinct = []
    for point in sorted(oracle.undominated(points)):
        if not distinct or point != pytest.approx(distinct[-1], rel=1e-9, abs=1e-9):
            distinct.append(point)
    return distinct


def skewed(seed=0, parts=(40, 12, 2), records=3000):
    """Make a table whose first attribute is as uneven as ZIP codes are."""
    random = np.random.default_rng(seed)
    space = space_of(list(parts))
    first = np.minimum(random.zipf(1.3, records) - 1, parts[0] - 1)
    others = [np.minimum(random.poisson(size / 3, records), size - 1) for size in parts[1:]]
    rows, counts = np.unique(np.column_stack([first, *others]), axis=0, return_counts=True)
    people = counts + random.poisson(20 * counts)
    return Measures(space, tuples_of(list(zip(map(tuple, rows.tolist()), counts, people, strict=True))))


def islanders(records=5000):
    """Draw people of a simulated state of few inhabitants."""
    people = population("HI", seed=1)
    columns = [np.unique(np.array(people[name]), return_inverse=True)[1] for name in ("zip", "age", "sex", "race")]
    persons = np.array(people["persons"], np.int64)
    drawn = np.random.default_rng(1).multivariate_hypergeometric(persons, records)
    space = space_of([int(column.max()) + 1 for column in columns])
    return Measures(space, Tuples.checked(np.array(columns, np.int32), drawn, persons))


def settings_of(initialization="full-domain", improvement="sublattice-chain", **changes):
    return FrontierSettings(initialization=initialization, improvement=improvement, **changes)


def points_of(found):
    return np.column_stack([found.risk, found.utility_loss])


SMALL = st.one_of(st.integers(1, 4), st.sampled_from(TREES))


@pytest.mark.parametrize(("initialization", "improvement"), PAIRINGS)
@settings(max_examples=examples(8), deadline=None)
@given(problem=spaces_and_rows(SMALL), kind=st.sampled_from(list(itertools.product(RISKS, UTILITIES))))
def test_every_pairing_finds_the_frontier_of_all_policies(initialization, improvement, problem, kind):
    space, rows = problem
    measures = Measures(space, tuples_of(rows), RISKS[kind[0]], UTILITIES[kind[1]])
    budget = 4 * space.count + 200
    found = search(measures, settings_of(initialization, improvement, policies=budget))
    assert found.visited <= budget
    wanted = exhaustive(space, rows, *kind)
    assert points_of(found) == pytest.approx(np.array(wanted), rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def twelve_bits():
    """Give a space of twelve bits, rows in it, and the points of their frontier."""
    random = np.random.default_rng(7)
    space = space_of([6, 5, TREES[0]])
    assert space.size == 12
    rows = [
        (tuple(int(random.integers(domain.size)) for domain in space.domains), int(random.integers(1, 5)), 6)
        for _ in range(60)
    ]
    rows = list({row[0]: row for row in rows}.values())
    return space, rows, exhaustive(space, rows)


@pytest.mark.parametrize(
    ("initialization", "improvement"), only(PAIRINGS, lambda pairing: pairing == ("full-domain", "sublattice-chain"))
)
def test_a_lattice_of_twelve_bits(twelve_bits, initialization, improvement):
    space, rows, wanted = twelve_bits
    found = search(Measures(space, tuples_of(rows)), settings_of(initialization, improvement, policies=12_000))
    assert points_of(found) == pytest.approx(np.array(wanted), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("initialization", "improvement"), spread([p for p in PAIRINGS if p[1] != "none"], 3))
def test_sampling_alone_reaches_every_policy(initialization, improvement, monkeypatch):
    """What enumeration adds at the end of a small lattice is not what finds the frontier."""
    monkeypatch.setattr("engine.frontiers.search.search._complete", lambda _: None)
    space, random = space_of([4, TREES[0], 2]), np.random.default_rng(3)
    rows = [(p, int(random.integers(1, 4)), 5) for p in itertools.product(range(4), range(5), range(2))]
    found = search(
        Measures(space, tuples_of(rows)), settings_of(initialization, improvement, policies=8000, threshold=0.0)
    )
    assert points_of(found) == pytest.approx(np.array(exhaustive(space, rows)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("initialization", "improvement"), PAIRINGS)
def test_budget_seed_and_frontier(initialization, improvement):
    """Every policy counts, the same seed finds the same, and what is said of a policy is so."""
    measures = skewed()
    chosen = settings_of(initialization, improvement, policies=900)
    found, again = search(measures, chosen), search(measures, chosen)
    assert found.visited == again.visited == 900
    assert np.array_equal(found.bits, again.bits)
    assert np.array_equal(points_of(found), points_of(again))
    assert (np.diff(found.risk) > 0).all()
    assert (np.diff(found.utility_loss) < 0).all()
    for bits, figures in zip(found.bits, points_of(found), strict=True):
        assert tuple(measures.at(bits)) == pytest.approx(tuple(figures), rel=1e-9, abs=1e-12)
    areas = [area for _, area in found.area_after]
    assert areas == sorted(areas, reverse=True)
    assert found.area_after[-1] == (900, found.area)


@pytest.mark.parametrize(("initialization", "improvement"), PAIRINGS)
def test_no_visited_policy_dominates_the_frontier(initialization, improvement, monkeypatch):
    visited = []
    offer = Archive.offer

    def noted(archive, figures, bits_of):
        visited.extend(archive.normalized(figures).tolist())
        return offer(archive, figures, bits_of)

    monkeypatch.setattr(Archive, "offer", noted)
    found = search(skewed(), settings_of(initialization, improvement, policies=500))
    assert len(visited) == found.visited
    kept = oracle.undominated([tuple(point) for point in visited])
    mine = np.column_stack([found.normalized_risk, found.normalized_utility_loss])
    assert np.unique(np.round(kept, 9), axis=0) == pytest.approx(mine, abs=1e-8)


def test_another_seed_finds_something_else():
    one, two = (search(skewed(), settings_of("random-path", policies=300, seed=seed)) for seed in (1, 2))
    assert one.area != two.area


@pytest.mark.thorough
def test_greedy_path_beats_chance_with_a_quarter_of_the_policies():
    measures = skewed(parts=(120, 30, 2), records=8000)
    greedy = {own: search(measures, settings_of("greedy-path", "none", policies=own)) for own in (400, 1000)}
    for initialization, improvement in itertools.product(("random-path", "full-domain"), IMPROVEMENTS):
        for own, others in ((400, 400), (1000, 4000)):
            other = search(measures, settings_of(initialization, improvement, policies=others))
            assert greedy[own].area < other.area


@pytest.mark.parametrize("risk", ["prosecutor", "journalist"])
def test_greedy_path_of_a_largest_risk(risk):
    """A path guided by another risk is measured with the one asked for, and all of it counts."""
    table = skewed()._tuples
    measures = Measures(skewed().space, table, RISKS[risk])
    found = search(measures, settings_of("greedy-path", "none", policies=600))
    assert found.visited == 600
    assert found.area < search(measures, settings_of("random-path", "none", policies=600)).area


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2])
def test_greedy_path_reaches_the_area_of_the_best_pairing_with_a_tenth_of_its_policies(seed):
    measures = islanders()
    best = search(measures, settings_of(policies=10_000, seed=seed))
    assert search(measures, settings_of("greedy-path", policies=1000, seed=seed)).area < best.area


def test_greedy_path_is_as_good_where_no_array_fits():
    """It sees the gains from its first step on, whether cells have a place in an array or not."""
    measures = skewed(parts=(60, 20, 3, 3, 4))
    chosen = settings_of("greedy-path", "none", policies=500)
    wide = search(measures, chosen)
    measures._most_places = 100
    found = search(measures, chosen)
    assert found.visited == 500
    assert found.risk[-1] == pytest.approx(measures.highest_risk)
    assert found.area == pytest.approx(wide.area, rel=0.02)
    for improvement in IMPROVEMENTS:
        assert found.area < search(measures, settings_of("full-domain", improvement, policies=1000)).area


def test_sublattice_chain_improves_what_full_domain_begins():
    """And more so than random sublattices do, as in the paper (section Performance of SHS strategies)."""
    measures = skewed(parts=(150, 40, 2, 5), records=8000)

    def mean(initialization, improvement, number):
        seeds = range(4 if thorough() else 1)
        found = [
            search(measures, settings_of(initialization, improvement, policies=number, seed=seed)) for seed in seeds
        ]
        return np.mean([one.area for one in found])

    start = mean("full-domain", "none", 1000)
    chain = mean("full-domain", "sublattice-chain", 4000)
    assert chain < 0.97 * start
    assert chain < mean("full-domain", "random-sublattice", 4000)


def test_time_ends_a_search():
    found = search(skewed(), settings_of(policies=10**9, seconds=1e-9))
    assert found.visited < 10


def test_progress_is_told(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("engine.frontiers.search.exploration.time.monotonic", lambda: float(next(ticks)))
    told = []
    found = search(skewed(), settings_of(policies=200), told.append)
    assert told
    assert [one["policies"] for one in told] == sorted({one["policies"] for one in told})
    assert all(one["frontier"] >= 1 and 0 <= one["area"] <= 1 for one in told)
    assert told[-1]["area"] >= found.area


def test_nothing_to_choose_is_a_frontier_of_one():
    """A space without bits has one policy."""
    measures = Measures(space_of([TREES[3]]), tuples_of([((0,), 2, 4), ((1,), 1, 4)]))
    for initialization, improvement in PAIRINGS:
        found = search(measures, settings_of(initialization, improvement, policies=20))
        assert found.visited >= 1
        assert points_of(found).tolist() == [[pytest.approx(0.25), 0.0]]


@given(st.integers(1, 70))
def test_balanced_levels_halve_every_interval(size):
    domain = space_of([size]).domains[0]
    levels = balanced_levels(domain)
    assert len(levels) == math.ceil(math.log2(size)) + 1
    for depth, bits in enumerate(levels):
        runs = np.bincount(domain.groups(bits))
        assert runs.max() == math.ceil(size / 2**depth)
        assert runs.size == size or runs.size == 2**depth


@given(st.integers(2, 70))
def test_balanced_levels_part_a_missing_value_first(size):
    plain = space_of([size]).domains[0]
    domain = missing_last(PolicySpace([replace(plain, labels=(None, *plain.labels[1:]))])).domains[0]
    levels = balanced_levels(domain)
    assert len(levels) == math.ceil(math.log2(size - 1)) + 2
    assert not levels[0].any()
    for depth, bits in enumerate(levels[1:]):
        assert np.array_equal(domain.closed(bits), bits)
        runs = np.bincount(domain.groups(bits))
        assert runs[0] == 1
        assert runs[1:].max() == math.ceil((size - 1) / 2**depth)
    assert levels[-1].all()


@pytest.mark.parametrize("rows", TREES)
def test_levels_of_a_tree_are_its_depths(rows):
    domain = space_of([rows]).domains[0]
    levels = balanced_levels(domain)
    assert len(levels) == len(domain.generations) + 1 + bool(domain.bits)
    for coarse, fine in itertools.pairwise(levels):
        assert (coarse <= fine).all()
        assert np.array_equal(domain.closed(fine), fine)
    assert levels[-1].all()
    assert not levels[0].any()


@settings(deadline=None)
@given(problem=spaces_and_rows(), seed=st.integers(0, 2**32))
def test_sublattices_are_judged_by_their_rectangle(problem, seed):
    """Wholly dominated: never; wholly undominated: always; else by the threshold."""
    space, rows = problem
    random = np.random.default_rng(seed)
    chain = random_chain(space, space.bottom, random)
    middle = space.bottom.copy()
    middle[chain[: chain.size // 2]] = False
    measures = Measures(space, tuples_of(rows))
    for threshold in (0.0, 0.5, 1.0):
        exploration = Exploration(measures, policies=100, threshold=threshold)
        general, specific = exploration.measure(space.top), exploration.measure(middle)
        low, high = exploration.archive.normalized([general, specific])
        alone = high[0] - low[0] > 1e-9 and low[1] - high[1] > 1e-9
        assert promising(exploration, general, specific) == alone
        exploration.take(np.array([[general.risk, specific.utility_loss]]), lambda _: middle[np.newaxis])
        assert not promising(exploration, general, specific)
