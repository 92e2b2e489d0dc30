"""Searches that suppress whole persons: against enumeration of all transformations and all sets of persons."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine.search.registry import ALGORITHMS
from engine.search.suppressed_class import released
from engine.search.whole_persons import WholePersons
from engine.tables.persons.pictures import DiverseValues, Parts
from tests.engine.person_problems import search_of, whole_person_problems
from tests.profiles import examples
from tests.reference import lattice
from tests.reference.whole_persons import diverse_of, kept_persons, parts, pictures, rarest, solve

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(300))
OTHERS = [1, 2, 3]


def searched(problem, known):
    with tempfile.TemporaryDirectory() as folder:
        _, search = search_of(problem, Path(folder), knows=known if known == "all-rows" else {"rows": known})
    return search


def assert_is_best(problem, known):
    search = searched(problem, known)
    expected, found = solve(problem, known), ALGORITHMS["optimal"]().run(search)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.levels, found.suppressed) == (expected.levels, expected.suppressed)
    assert found.loss == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)
    assert found.optimal
    assert found.lower_bound == found.loss


@SLOW_START
@given(problem=whole_person_problems())
def test_of_all_rows_it_finds_what_enumeration_finds(problem):
    assert_is_best(problem, "all-rows")


@SLOW_START
@given(problem=whole_person_problems(models="k"), known=st.sampled_from(OTHERS))
def test_of_some_rows_it_finds_what_enumeration_of_all_sets_of_persons_finds(problem, known):
    assert_is_best(problem, known)


@SLOW_START
@given(problem=whole_person_problems(models="distinct values"), known=st.sampled_from(OTHERS))
def test_of_some_rows_and_distinct_values_it_finds_what_enumeration_finds(problem, known):
    """The union of all sets of persons that satisfy it is asserted to be one of them (`greatest`)."""
    assert_is_best(problem, known)


@SLOW_START
@given(
    problem=st.one_of(whole_person_problems(models="k"), whole_person_problems(models="distinct values")),
    known=st.sampled_from(["all-rows", *OTHERS]),
    data=st.data(),
)
def test_who_is_kept_is_kept_in_every_generalization(problem, known, data):
    """Monotone: the persons that a transformation keeps are kept by each of its generalizations."""
    search = searched(problem, known)
    low = tuple(data.draw(st.integers(0, top)) for top in search.lattice.high)
    above = tuple(data.draw(st.integers(level, top)) for level, top in zip(low, search.lattice.high, strict=True))
    persons = WholePersons(search)
    nobody = np.zeros(search.table.persons.number, np.bool_)
    below, higher = (persons.out(search.table.partition(levels), nobody) for levels in (low, above))
    assert not (higher & ~below).any()
    # who is known to be suppressed at higher levels need not be judged again
    assert np.array_equal(persons.out(search.table.partition(low), higher), below)
    read = lattice.readings(problem)
    kept = kept_persons(problem, read, low, known)
    assert len(kept) == int((~below).sum())


@SLOW_START
@given(problem=whole_person_problems(models="k"), most=st.sampled_from(OTHERS), data=st.data())
def test_the_rarest_part_of_a_picture_is_that_of_all_parts(problem, most, data):
    search = searched(problem, most)
    levels = tuple(data.draw(st.integers(0, top)) for top in search.lattice.high)
    everybody = pictures(lattice.readings(problem), levels)
    counted = rarest(everybody, set(everybody), most)
    kept = np.ones(search.table.persons.number, np.bool_)
    found = Parts(search.table.partition(levels), most).rarest(kept)
    assert sorted(found.tolist()) == sorted(counted.values())


@SLOW_START
@given(problem=whole_person_problems(models="k"), known=st.sampled_from(["all-rows", *OTHERS]))
def test_a_search_that_is_stopped_or_stops_early_has_a_true_bound(problem, known):
    """At the time limit, or within a gap, what is found is a solution, and none loses less than the bound."""
    expected = solve(problem, known)
    for changes in ({"time_limit": 0.0}, {"gap": 0.3}):
        found = ALGORITHMS["optimal"]().run(replace(searched(problem, known), **changes))
        if found is None:
            assert expected is None or "time_limit" in changes
            continue
        best, bound, loss = (lattice.rounded(one) for one in (expected.loss, found.lower_bound, found.loss))
        assert bound <= best <= loss or loss == pytest.approx(best)
        if "gap" in changes and len(best) == 1 and math.isfinite(best[0]):
            assert best[0] >= (1 - 0.3) * loss[0] - 1e-9


@SLOW_START
@given(problem=whole_person_problems(models="k"), known=st.sampled_from(["all-rows", *OTHERS]))
def test_a_step_of_the_first_descent_ends_with_the_time(problem, known):
    """The time is here the number of transformations that are judged, of which one that was begun is ended."""
    search = replace(searched(problem, known), time_limit=1.5)
    place, judged = "engine.search.algorithms.whole_persons._Search", []
    clock = SimpleNamespace(monotonic=lambda: float(len(judged)))
    with (
        mock.patch("engine.search.boxes.course.time", clock),
        mock.patch(f"{place}._settle", lambda _, levels: judged.append(levels)),
    ):
        ALGORITHMS["optimal"]().run(search)
    assert judged[:1] == [search.lattice.high]
    assert len(judged) <= 2


@SLOW_START
@given(problem=whole_person_problems())
def test_suppressed_persons_are_left_out(problem):
    search = searched(problem, "all-rows")
    solution = ALGORITHMS["optimal"]().run(search)
    assume(solution is not None)
    outcome = released(search, solution, "drop")
    assert outcome.form in {"none", "drop", "refused"}
    rows = np.zeros(search.table.counts.size, np.bool_)
    rows[outcome.suppressed_tuples] = True
    owner = search.table.persons.runs.members
    # of each person all rows are suppressed or none is
    assert all(len(set(rows[owner == person].tolist())) == 1 for person in set(owner.tolist()))


@SLOW_START
@given(problem=whole_person_problems(models="distinct values"), most=st.sampled_from(OTHERS), data=st.data())
def test_the_fewest_values_are_those_of_all_parts(problem, most, data):
    search = searched(problem, most)
    levels = tuple(data.draw(st.integers(0, top)) for top in search.lattice.high)
    read = lattice.readings(problem)
    everybody = pictures(read, levels)
    records = [(one["person"], one) for _, one in read.records]
    kept = np.ones(search.table.persons.number, np.bool_)
    cells = Parts(search.table.partition(levels), most)
    demanded = [model for model in problem["models"] if model["model"] == "l-diversity"]
    for model, (_, values) in zip(demanded, diverse_of(demanded, records), strict=True):
        expected = [
            min(
                len(set().union(*(values[p] for p in everybody if everybody[p] >= part)))
                for part in parts(everybody[person], most)
            )
            for person in everybody
        ]
        with_missing = model.get("missing") == "value"
        diverse = DiverseValues.of(search.table, model["attribute"], model["l"], with_missing)
        assert sorted(cells.fewest_values(kept, diverse).tolist()) == sorted(expected)
