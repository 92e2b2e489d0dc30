"""Local recoding beside a population: what the people of a cell are, and random jobs against plain Python."""

from __future__ import annotations

import collections
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import InvalidData, NoSolution, run, verify
from tests.engine import build
from tests.engine.strategies import any_problems, written_out
from tests.profiles import examples
from tests.reference import covered
from tests.reference.privacy import POPULATION, holds_in_population, may_not_be_empty

RANDOM = settings(deadline=None, max_examples=examples(300), suppress_health_check=list(HealthCheck))


def labels_of(problem, a, value):
    """Return the labels that a value may be shown as; None if its record is suppressed."""
    rows = problem["hierarchies"][a]
    roots = {row[-1] for row in rows}
    if value is None or value in problem["missing"][a]:
        top = {rows[0][-1]} if len(roots) == 1 and len(rows[0]) > 1 else set()
        return {None, *top} if len(rows[0]) > 1 else {None}
    found = [row for row in rows if row[0] == value]
    if found:
        return set(found[-1])
    return None if problem["unseen"][a] == "suppress" else roots


def people_of(problem):
    """Return, of each person of the population, the labels that each value may be shown as."""
    values = list(problem["others"])
    if problem["people"] == "subset":
        values += [values for values, _ in problem["records"]]
    found = [tuple(labels_of(problem, a, value) for a, value in enumerate(one)) for one in values]
    return [one for one in found if None not in one]


def recoded(problem, folder, algorithm="clustering"):
    """Run a job with local recoding, and with full-domain generalization; skip what has no solution."""
    problem["models"] = list({written_out(model): model for model in problem["models"]}.values())
    problem["combine"] = "sum" if problem["combine"] == "sum" else "arithmetic-mean"
    risk = {}
    if problem["people"] == "population":
        build.pq.write_table(build.population(problem), folder / "people.parquet")
        risk = {"risk": {"population": str(folder / "people.parquet")}}
    recoding = {"recoding": {"algorithm": algorithm, "block_tuples": 10, "bound_passes": 2}}
    job = build.job(problem, folder, transformation="local-recoding", **recoding, **risk)
    full = build.job(problem, folder, **risk)
    source = build.source(problem)
    try:
        other = run(full, source)
        _ = other.table
        return job, run(job, source), other, source
    except NoSolution:
        assume(False)


def is_clear(problem):
    """Tell whether each label has one meaning: then the levels of all, too, are a recoding that holds."""
    for a, rows in enumerate(problem["hierarchies"]):
        groups = collections.defaultdict(set)
        for level in range(len(rows[0])):
            for text in {row[level] for row in rows}:
                groups[text].add(frozenset(row[0] for row in rows if row[level] == text))
        if any(len(found) > 1 for found in groups.values()) or problem["unseen"][a] == "root":
            return False
    return True


def check(problem, algorithm):
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        try:
            job, result, full, source = recoded(problem, folder, algorithm)
            rows = result.table.to_pylist()
        except (InvalidData, NoSolution):
            assert not is_clear(problem)
            assume(False)
        for report in (result.report, result.published):
            if report["solution"]["suppressed"] is not None:
                assert [f for f in verify(result.table, job, report, source=source) if not f.holds] == []
    loss = result.report["solution"]["information_loss"]
    if is_clear(problem):
        assert loss <= full.report["solution"]["information_loss"] * (1 + 1e-9)
    assert result.report["solution"]["lower_bound"] <= loss * (1 + 1e-9)
    names = build.names(problem)
    sizes = collections.Counter(tuple(row[name] for name in names) for row in rows)
    star = None
    if result.report["suppressed_class"]["form"] == "star":
        star = ("*",) * len(names), sizes.pop(("*",) * len(names))
    found, shared, none = covered.people_of_cells(sizes, people_of(problem))
    groups = {cell: (size, found[cell]) for cell, size in sizes.items()}
    if star is not None:
        groups[star[0]] = (star[1], none)
    for model in problem["models"]:
        if model["model"] in POPULATION:
            assert all(
                people > 0 and holds_in_population(size, people, model) for size, people in groups.values()
            ), model
    if any(model["model"] == "delta-presence" for model in problem["models"]):
        assert not any(shared.values())
    if may_not_be_empty(problem["models"]) and not result.report["suppressed_class"]["records"]:
        assert none == 0
    risk, kept = result.report["risk"], sum(sizes.values()) + (star[1] if star else 0)
    people = [max(pair) for pair in groups.values()]
    assert risk["journalist"] == (float(Fraction(1, min(people))) if people else 0)
    expected = sum(Fraction(size, max(size, people)) for size, people in groups.values())
    assert risk["marketer"] == pytest.approx(float(expected / kept) if kept else 0)
    return job, result, source


@RANDOM
@given(any_problems(measures=("loss", "precision")), st.sampled_from(["clustering", "splitting"]))
def test_random_jobs_have_the_people_that_plain_python_counts(problem, algorithm):
    assume(problem["people"] is not None)
    assume(problem["people"] != "subset" or any("subset" in model for model in problem["models"]))
    check(problem, algorithm)
