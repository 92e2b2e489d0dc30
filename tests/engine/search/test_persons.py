"""Searches that count persons: against enumeration with sets of persons, and what a union of persons may be."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.search.registry import ALGORITHMS
from engine.search.suppressed_class import as_file, released
from tests.engine.person_problems import person_problems, search_of
from tests.profiles import examples
from tests.reference import lattice
from tests.reference.persons import evaluate, failing, persons_of, solve

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(200))


@SLOW_START
@given(problem=person_problems())
def test_every_exact_search_finds_what_enumeration_finds(problem):
    with tempfile.TemporaryDirectory() as folder:
        _, search = search_of(problem, Path(folder))
    expected = solve(problem)
    exact = {name: load() for name, load in ALGORITHMS.items() if load().is_exact(search)}
    assert {"optimal", "depth-first", "best-first"} <= set(exact)
    for name, method in exact.items():
        found = method.run(search)
        if expected is None:
            assert found is None, name
            continue
        assert found is not None, name
        assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed), name
        assert found.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12), name
        assert found.optimal, name


@SLOW_START
@given(problem=person_problems())
def test_every_class_of_the_file_has_enough_persons(problem):
    with tempfile.TemporaryDirectory() as folder:
        _, search = search_of(problem, Path(folder))
    solution = ALGORITHMS["optimal"]().run(search)
    assume(solution is not None)
    outcome = released(search, solution, "star")
    assume(outcome.form != "refused")
    classes = search.table.partition(solution.levels)
    file = as_file(classes, solution, classes.holding(outcome.suppressed_tuples), outcome.form)
    read = lattice.readings(problem)
    own = lattice.grouped(read.records, read.hierarchies, solution.levels)
    k = problem["models"][0]["k"]
    kept = [s for key, s in ((key, [s for _, s in found]) for key, found in own.items())]
    assert file.persons.min(initial=k) >= k
    assert file.persons.sum() <= sum(len(persons_of(members)) for members in kept) + len(read.refused)


@SLOW_START
@given(problem=person_problems(), data=st.data())
def test_persons_of_classes_are_those_of_sets(problem, data):
    with tempfile.TemporaryDirectory() as folder:
        _, search = search_of(problem, Path(folder))
    levels = tuple(data.draw(st.integers(0, top)) for top in search.lattice.high)
    classes = search.table.partition(levels)
    read = lattice.readings(problem)
    own = lattice.grouped(read.records, read.hierarchies, levels)
    wanted = sorted(len(persons_of([s for _, s in found])) for found in own.values())
    there = ~classes.refused
    assert sorted(classes.persons[there].tolist()) == wanted
    for least in (1, 2, 3, 9):
        assert np.array_equal(classes.fewer_persons_than(least), classes.persons < least)


@SLOW_START
@given(problem=person_problems(), data=st.data())
def test_a_class_of_enough_persons_has_enough_in_every_generalization(problem, data):
    """A generalization of a transformation keeps every record of which the class had k persons: k is monotone."""
    problem["models"] = problem["models"][:1]
    read = lattice.readings(problem)
    high = [len(rows[0]) - 1 for rows in read.hierarchies]
    low = tuple(data.draw(st.integers(0, top)) for top in high)
    above = tuple(data.draw(st.integers(level, top)) for level, top in zip(low, high, strict=True))

    def kept(levels):
        own = lattice.grouped(read.records, read.hierarchies, levels)
        bad = failing({key: [s for _, s in found] for key, found in own.items()}, problem["models"])
        return {id(s) for key, found in own.items() if key not in bad for _, s in found}

    assume(all(_is_nested(rows) for rows in read.hierarchies))
    assert kept(low) <= kept(above)
    below, higher = evaluate(problem, low), evaluate(problem, above)
    assert higher[1] <= below[1]


def _is_nested(rows):
    """Whether each label has one label above it; of a row listed twice the last counts."""
    rows = list({row[0]: row for row in rows}.values())
    return all(
        len({row[level + 1] for row in rows if row[level] == label}) == 1
        for level in range(len(rows[0]) - 1)
        for label in {row[level] for row in rows}
    )
