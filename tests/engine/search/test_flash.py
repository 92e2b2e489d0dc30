"""Flash, in its monotone and its two-phase form, against full enumeration in plain Python and published figures."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.job.counting import count
from engine.job.problem import problem_of
from engine.lattice.space import Lattice, at_sum
from engine.search.algorithms import flash, flash_two_phase, incognito, ola
from engine.search.check import Checker
from engine.search.nodes.flash_paths import Paths, Strategy
from engine.search.nodes.monotone import is_monotone
from engine.search.nodes.node_search import NodeSearch
from engine.tables.sources.source import open_path
from engine.utility.information_loss import leading
from tests.conformance.test_vectors import job_of
from tests.engine import build
from tests.engine.strategies import any_problems, problems
from tests.profiles import examples
from tests.reference.lattice import evaluate, rounded, solve

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(150))
THOROUGH = settings(SLOW_START, max_examples=examples(400))


def assert_found(solution, expected):
    if expected is None:
        assert solution is None
        return
    assert (solution.levels, solution.suppressed) == (expected.levels, expected.suppressed)
    assert solution.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
    assert solution.lower_bound == solution.loss
    assert solution.optimal is True


def assert_valid(solution, problem, expected):
    """Compare what was found with what is true of it: a solution, no better than the best one, and no false claim."""
    if solution is None:
        return
    loss, suppressed = evaluate(problem, solution.levels)
    assert solution.loss == pytest.approx(loss, rel=1e-9, abs=1e-12)
    assert solution.suppressed == suppressed
    best = (rounded(expected.loss), sum(expected.levels), expected.levels)
    assert best <= (rounded(solution.loss), sum(solution.levels), solution.levels)
    assert leading(solution.lower_bound) <= leading(expected.loss) * (1 + 1e-9) + 1e-12
    if solution.optimal:
        assert solution.levels == expected.levels


@THOROUGH
@given(problem=any_problems() | problems(), data=st.data())
def test_two_phases_find_what_enumeration_finds(problem, data):
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.sampled_from([0, 0, height])) for height in heights]
    high = [data.draw(st.sampled_from([bottom, height, height])) for bottom, height in zip(low, heights, strict=True)]
    search = build.search_problem(problem, low, high)
    assert flash_two_phase.METHOD.is_exact(search)
    assert_found(flash_two_phase.flash(search), solve(problem, low, high))


def test_a_proven_loss_below_zero_is_its_own_bound():
    """A value without a hierarchy entry is in no leaf, so that the divergence of its table can be a little negative."""
    rows = [(value, {"s": "s0", "z": "y0"}) for value in (("a0",), ("a0",), ("a1",), ("a0",), ("new",))]
    problem = {
        "records": rows,
        "hierarchies": [[("a0", "a.1.0", "a.2.0", "a.3.0"), ("a1", "a.1.0", "a.2.0", "a.3.0")]],
        "tree": [("s0", "any s")],
        "trees": {"s": [("s0", "any s")], "z": [("y0", "y", "any z")]},
        "models": [{"model": "k-anonymity", "k": 4}],
        "limit": 1.0,
        "measure": "kl-divergence",
        "combine": "arithmetic-mean",
        "weights": [0.5],
        "f": 0.0,
        "missing": [()],
        "unseen": ["suppress"],
        "people": None,
        "others": [],
    }
    search = build.search_problem(problem, [0], [0])
    expected = solve(problem, [0], [0])
    assert expected.loss < 0
    assert_found(flash_two_phase.flash(search), expected)


@THOROUGH
@given(problem=any_problems() | problems(), unlimited=st.booleans())
def test_flash_is_exact_where_it_says_so_and_valid_elsewhere(problem, unlimited):
    problem = problem if unlimited else {**problem, "limit": 0.0}
    search = build.search_problem(problem)
    found, expected = flash.flash(search), solve(problem)
    if flash.METHOD.is_exact(search):
        assert_found(found, expected)
    else:
        assert_valid(found, problem, expected)


@pytest.mark.parametrize("module", [flash, flash_two_phase, ola, incognito])
@SLOW_START
@given(problem=any_problems() | problems(), ticks=st.integers(0, 25))
def test_a_search_that_is_stopped_has_a_solution_and_a_proven_bound(module, problem, ticks):
    clock = SimpleNamespace(monotonic=itertools.count().__next__)
    search = build.search_problem(problem, time_limit=float(ticks))
    with patch("engine.search.nodes.node_search.time", clock):
        found = module.METHOD.run(search)
    assert_valid(found, problem, solve(problem))


@pytest.mark.parametrize("module", [flash, flash_two_phase, ola])
@SLOW_START
@given(problem=any_problems() | problems())
def test_no_transformation_is_checked_twice(module, problem):
    seen = []
    check = NodeSearch.check

    def recorded(self, levels, classes=None):
        seen.append(levels)
        return check(self, levels, classes)

    with patch.object(NodeSearch, "check", recorded):
        module.METHOD.run(build.search_problem(problem))
    assert len(seen) == len(set(seen))


PAIRS = {
    "records": [((f"a{i}",), {"s": "x"}) for i in range(4)],
    "hierarchies": [[("a0", "A"), ("a1", "A"), ("a2", "B"), ("a3", "B")]],
    "tree": [("x", "*")],
    "models": [{"model": "k-anonymity", "k": 2}],
    "limit": 1.0,
    "measure": "loss",
    "combine": "arithmetic-mean",
    "weights": [1.0],
    "f": 0.5,
}
"""Without generalization all four records are suppressed; in two pairs they lose (4/2 - 1) / (4 - 1)."""


def test_assuming_monotonicity_loses_utility():
    search = build.search_problem(PAIRS)
    assert not is_monotone(search)
    assumed, exact = flash.flash(search), flash_two_phase.flash(search)
    # the lower one of the two is a solution, so that the upper one is not looked at
    assert (assumed.levels, assumed.loss, assumed.suppressed, assumed.optimal) == ((0,), 1.0, 4, False)
    assert assumed.checked == 1
    assert (exact.levels, exact.suppressed, exact.optimal) == ((1,), 0, True)
    assert exact.loss == pytest.approx(1 / 3)


K = [{"model": "k-anonymity", "k": 2}]
CLOSE = [{"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.5}]
PRESENT = [{"model": "average-risk", "threshold": 0.5}]


@pytest.mark.parametrize(
    ("models", "limit", "measure", "expected"),
    [
        (K, 0.0, "loss", True),
        (K, 0.0, "discernibility", True),
        (K, 0.0, "kl-divergence", False),
        (K, 0.5, "loss", False),
        (K, 0.5, "non-uniform-entropy", False),
        (K, 0.5, "average-class-size", False),
        (K, 0.5, "height", True),
        (CLOSE, 0.0, "precision", True),
        (CLOSE, 0.5, "height", False),
        (PRESENT, 0.0, "loss", False),
    ],
)
def test_a_problem_is_monotone_if_its_models_and_its_measure_are(models, limit, measure, expected):
    problem = build.search_problem({**PAIRS, "models": models, "limit": limit, "measure": measure})
    assert is_monotone(problem) is expected


def test_a_path_of_eight_needs_three_checks():
    # the two values become one at level 5: levels 3, 5 and 4 are looked at
    rows = [tuple(f"{value}{level}" if level < 5 else f"both{level}" for level in range(8)) for value in "ab"]
    records = [((row[0],), {"s": "x"}) for row in rows]
    problem = {**PAIRS, "hierarchies": [rows], "records": records, "limit": 0.0}
    found = flash.flash(build.search_problem(problem))
    assert (found.levels, found.checked, found.optimal) == ((5,), 3, True)


def test_the_first_phase_leaves_out_specializations_of_what_surely_fails():
    # two records of which one may be suppressed, alike from level 5 on: the binary search looks at levels 3, 5 and 4,
    # the second phase at 6 and 7, because no bound is known; levels 0 to 2 would suppress both records
    rows = [tuple(f"{value}{level}" if level < 5 else f"both{level}" for level in range(8)) for value in "ab"]
    records = [((row[0],), {"s": "x"}) for row in rows]
    problem = {**PAIRS, "hierarchies": [rows], "records": records, "limit": 0.5, "measure": "kl-divergence"}
    found = flash_two_phase.flash(build.search_problem(problem))
    assert (found.levels, found.checked, found.optimal) == ((5,), 5, True)


@pytest.mark.parametrize(("measure", "level", "checked"), [("loss", 1, 2), ("kl-divergence", 0, 3)])
def test_the_second_phase_leaves_out_what_generalization_alone_makes_worse(measure, level, checked):
    # pairs lose 1/3; at level 2 every record loses 1, suppressed or not. The divergence, for which no bound is known,
    # is 0 at every level, of records spread evenly over all values
    rows = [(*row, "*") for row in PAIRS["hierarchies"][0]]
    found = flash_two_phase.flash(build.search_problem({**PAIRS, "hierarchies": [rows], "measure": measure}))
    assert (found.levels, found.checked, found.optimal) == ((level,), checked, True)


def test_the_strategy_compares_sums_then_relative_levels_then_lost_values():
    three = [("a0", "a01", "a"), ("a1", "a01", "a"), ("a2", "a2", "a")]
    two = [("b0", "b"), ("b1", "b")]
    four = [(f"c{i}", "c", "*") for i in range(4)]
    records = [((three[i % 3][0], two[i % 2][0], four[i % 4][0]), {"s": "x"}) for i in range(12)]
    problem = {**PAIRS, "hierarchies": [three, two, four], "records": records, "weights": [1.0] * 3}
    place = Strategy(build.search_problem(problem)).place
    # one step: of two levels before of one; 3 values become 2, 4 become 1
    ordered = [(0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 1), (0, 1, 1)]
    backwards = ordered[::-1]
    assert sorted(backwards, key=place) == ordered


@SLOW_START
@given(problem=any_problems(), data=st.data())
def test_paths_find_the_whole_border_of_any_property_of_generalizations(problem, data):
    search = build.search_problem(problem)
    nodes = list(itertools.product(*(range(high + 1) for high in search.lattice.high)))
    ends = data.draw(st.lists(st.sampled_from(nodes), max_size=4))
    having = {node for node in nodes if any(_is_below(end, node) for end in ends)}
    known, visited = set(), []

    def visit(levels):
        visited.append(levels)
        has = levels in having
        known.update(node for node in nodes if (_is_below(levels, node) if has else _is_below(node, levels)))
        return has

    paths = Paths(search, NodeSearch(search, None, Checker(search)), known.__contains__, visit)
    assert paths.follow_all()
    assert known == set(nodes)
    assert len(visited) == len(set(visited))
    border = {node for node in having if not any(_is_below(other, node) for other in having - {node})}
    assert border <= set(visited)


def _is_below(low, high):
    return all(bottom <= top for bottom, top in zip(low, high, strict=True))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=4), st.integers(-1, 14))
def test_transformations_are_listed_by_the_sum_of_their_levels(spans, total):
    low = tuple(bottom for bottom, _ in spans)
    high = tuple(bottom + more for bottom, more in spans)
    everything = itertools.product(*(range(bottom, top + 1) for bottom, top in zip(low, high, strict=True)))
    assert list(at_sum(Lattice(low, high), total)) == [levels for levels in everything if sum(levels) == total]


PUBLISHED = {
    "adult/k/nue/1.0": 79,
    "adult/k/prec/1.0": 91,
    "adult/k/dm/1.0": 9,
    "adult/k/aecs/1.0": 73,
    "adult/kt/nue/1.0": 67,
    "adult/kt/prec/1.0": 86,
    "adult/kt/dm/1.0": 19,
    "adult/kt/aecs/1.0": 15,
}
"""Loss of the best solution in percent of Flash's (Kohlmayer et al. 2015, Table 6, ADULT, rows k and k, t)."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_flash_loses_where_everything_may_be_suppressed_is_as_published(name, shared):
    lines = (shared / "conformance" / "vectors.jsonl").read_text(encoding="utf-8").splitlines()
    vector = next(vector for vector in map(json.loads, lines) if vector["id"] == name)
    job = job_of(vector)
    table = count(job, open_path(job.source.path, job.source.form)).table
    found = flash.flash(problem_of(job, table))
    share = 100 * vector["expected"]["information_loss"] / found.loss
    assert share == pytest.approx(PUBLISHED[name], abs=0.51)
