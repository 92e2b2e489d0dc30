"""The search and the whole pipeline against full enumeration in plain Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import NoSolution, VerificationFailed, run
from engine.search.algorithm import preference
from tests.engine import build
from tests.engine.strategies import problems
from tests.reference.lattice import evaluate, solve

SLOW_START = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150)


def reference(problem, **bounds):
    return solve(
        problem["records"],
        problem["hierarchies"],
        problem["models"],
        problem["limit"],
        problem["measure"],
        problem["combine"],
        problem["weights"],
        problem["f"],
        **bounds,
    )


@SLOW_START
@given(problems())
def test_finds_what_enumeration_finds(problem):
    with tempfile.TemporaryDirectory() as folder:
        job = build.job(problem, Path(folder))
        expected = reference(problem)
        if expected is None:
            with pytest.raises(NoSolution):
                run(job, table=build.table(problem))
            return
        solution = run(job, table=build.table(problem)).report["solution"]
    assert solution["information_loss"] == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
    assert tuple(solution["levels"][name] for name in build.names(problem)) == expected.levels
    assert solution["suppressed"] == expected.suppressed
    assert solution["optimal"] is True
    assert solution["lower_bound"] == solution["information_loss"]


@SLOW_START
@given(problems(), st.data())
def test_respects_level_limits(problem, data):
    heights = [len(rows[0]) - 1 for rows in problem["hierarchies"]]
    low = [data.draw(st.integers(0, height)) for height in heights]
    high = [data.draw(st.integers(bottom, height)) for bottom, height in zip(low, heights, strict=True)]
    expected = reference(problem, low=low, high=high)
    with tempfile.TemporaryDirectory() as folder:
        job = build.job(problem, Path(folder))
        attributes = dict(job.attributes)
        for name, bottom, top in zip(build.names(problem), low, high, strict=True):
            attributes[name] = attributes[name].model_copy(update={"minimum_level": bottom, "maximum_level": top})
        job = job.model_copy(update={"attributes": attributes})
        if expected is None:
            with pytest.raises(NoSolution):
                run(job, table=build.table(problem))
            return
        solution = run(job, table=build.table(problem)).report["solution"]
    assert tuple(solution["levels"][name] for name in build.names(problem)) == expected.levels


@SLOW_START
@given(problems())
def test_order_of_records_does_not_matter(problem):
    backwards = {**problem, "records": problem["records"][::-1]}
    with tempfile.TemporaryDirectory() as folder:
        job = build.job({**problem, "limit": 1.0}, Path(folder))
        try:
            forth = run(job, table=build.table(problem)).report
        except VerificationFailed:
            return
        back = run(job, table=build.table(backwards)).report
    for part in ("solution", "privacy", "utility", "risk", "classes"):
        assert forth[part] == back[part]


@SLOW_START
@given(problems())
def test_an_interrupted_search_bounds_the_optimum(problem):
    with tempfile.TemporaryDirectory() as folder:
        job = build.job(problem, Path(folder), search={"time_limit_seconds": 1e-9})
        optimum = reference(problem)
        try:
            solution = run(job, table=build.table(problem)).report["solution"]
        except NoSolution:
            return
    assert solution["lower_bound"] <= optimum.loss * (1 + 1e-12)
    assert solution["information_loss"] >= optimum.loss * (1 - 1e-12)
    levels = tuple(solution["levels"][name] for name in build.names(problem))
    loss, _ = evaluate(
        problem["records"],
        problem["hierarchies"],
        levels,
        problem["models"],
        problem["measure"],
        problem["combine"],
        problem["weights"],
        problem["f"],
    )
    assert solution["information_loss"] == pytest.approx(loss, rel=1e-9, abs=1e-12)


def test_equal_losses_go_to_the_lower_sum_then_the_smaller_vector():
    losses = [(0.5, (1, 1)), (0.5 + 1e-15, (0, 1)), (0.5, (1, 0)), (0.5 - 1e-9, (3, 3))]
    ordered = sorted(losses, key=lambda item: preference(*item))
    assert [levels for _, levels in ordered] == [(3, 3), (0, 1), (1, 0), (1, 1)]
