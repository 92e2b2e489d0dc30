"""Privacy models judge classes as plain Python does, and keep what they say of their monotonicity."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine.privacy.model import Monotonicity
from engine.privacy.registry import AnyPrivacyModel
from engine.tables.counting.present_classes import PresentClasses
from engine.tables.sources.source import open_data
from tests.engine import build
from tests.engine.build import Listed, encoded
from tests.engine.strategies import problems
from tests.profiles import examples
from tests.reference.privacy import failing
from tests.reference.utility import generalize

QUICK = settings(deadline=None, max_examples=examples(150))


def model_of(parameters):
    return TypeAdapter(AnyPrivacyModel).validate_python(parameters)


def counted(problem):
    names = [f"q{a}" for a in range(len(problem["hierarchies"]))]
    columns = {name: [values[a] for values, _ in problem["records"]] for a, name in enumerate(names)}
    columns["s"] = pa.array([sensitive["s"] for _, sensitive in problem["records"]], pa.string())
    builders = {name: Listed(entries=rows) for name, rows in zip(names, problem["hierarchies"], strict=True)}
    return encoded(open_data(pa.table(columns)), builders, ["s"])[1]


def judged(table, classes, models):
    """Return the leaf tuples in classes that fail some model."""
    fails = np.zeros(classes.size, bool)
    for model in models:
        fails |= model.violated(classes)
    rows = np.flatnonzero(fails[classes.gid])
    return {
        tuple(h.labels[0][code] for h, code in zip(table.hierarchies, table.codes[:, row].tolist(), strict=True))
        for row in rows
    }


def lattice(problem):
    return itertools.product(*(range(len(rows[0])) for rows in problem["hierarchies"]))


def plain_classes(problem, levels):
    found = defaultdict(list)
    for values, sensitive in problem["records"]:
        key = tuple(generalize(h, v, x) for h, v, x in zip(problem["hierarchies"], values, levels, strict=True))
        found[key].append((values, sensitive))
    return found


@QUICK
@given(problems(), st.data())
def test_the_failing_records_of_a_transformation(problem, data):
    table = counted(problem)
    levels = data.draw(st.sampled_from(list(lattice(problem))))
    classes = plain_classes(problem, levels)
    bad = failing({key: [s for _, s in members] for key, members in classes.items()}, problem["models"])
    expected = {values for key in bad for values, _ in classes[key]}
    assert judged(table, table.partition(levels), [model_of(model) for model in problem["models"]]) == expected


@QUICK
@given(problems(), st.data())
def test_what_fails_fails_in_every_specialization(problem, data):
    # this is what Monotonicity.WITH_SUPPRESSION promises to the search
    table = counted(problem)
    models = [model_of(model) for model in problem["models"]]
    assert {model.monotonicity for model in models} == {Monotonicity.WITH_SUPPRESSION}
    levels = data.draw(st.sampled_from(list(lattice(problem))))
    above = judged(table, table.partition(levels), models)
    for below in itertools.product(*(range(level + 1) for level in levels)):
        assert above <= judged(table, table.partition(below), models)


@QUICK
@given(problems(), st.data())
def test_a_class_below_the_minimum_size_fails(problem, data):
    table = counted(problem)
    classes = table.partition(data.draw(st.sampled_from(list(lattice(problem)))))
    for parameters in problem["models"]:
        model = model_of(parameters)
        assert model.violated(classes)[classes.counts < model.minimum_class_size].all()


DIVERSE = {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2}
WITH_MISSING = {**DIVERSE, "missing": "value"}


@pytest.mark.parametrize(
    ("parameters", "records", "fails", "observed"),
    [
        ({"model": "k-anonymity", "k": 3}, {"a": "uuv", "b": "uv"}, {"b"}, 3),
        ({"model": "k-anonymity", "k": 2}, {"a": "uuv", "b": "uv"}, set(), 2),
        ({"model": "k-anonymity", "k": 4}, {"a": "uuv", "b": "uv"}, {"a", "b"}, None),
        (DIVERSE, {"a": "uuu", "b": "uv"}, {"a"}, 2),
        (DIVERSE, {"a": ["u", None], "b": ["u", "", None]}, {"a"}, 2),
        (DIVERSE, {"a": ["u", "v"], "b": [None, None]}, {"b"}, 2),
        (WITH_MISSING, {"a": ["u", None], "b": ["u", "u"]}, {"b"}, 2),
        (WITH_MISSING, {"a": ["", None], "b": [None, None]}, {"b"}, 2),
    ],
)
def test_by_hand(parameters, records, fails, observed):
    problem = {
        "records": [((value,), {"s": s}) for value, sensitive in records.items() for s in sensitive],
        "hierarchies": [(("a", "*"), ("b", "*"))],
    }
    table = counted(problem)
    classes = table.partition((0,))
    model = model_of(parameters)
    assert {value for (value,) in judged(table, classes, [model])} == fails
    assert model.observed(classes, ~model.violated(classes)) == observed


def population_problem(parameters, classes):
    """Make a subset of a population: each class with its records and the people beside them."""
    return {
        "records": [((name,), {"s": "u"}) for name, (records, _) in classes.items() for _ in range(records)],
        "others": [(name,) for name, (_, others) in classes.items() for _ in range(others)],
        "people": "subset",
        "hierarchies": [[(name, "*") for name in classes]],
        "models": [{**parameters, "subset": "people.csv"}],
    }


THREE = {"a": (1, 3), "b": (3, 1), "c": (2, 0)}


@pytest.mark.parametrize(
    ("parameters", "fails", "observed"),
    [
        # people 4, 4 and 2; shares 1/4, 3/4 and 1
        ({"model": "k-map", "k": 4}, {"c"}, 4),
        ({"model": "k-map", "k": 2}, set(), 2),
        ({"model": "k-map", "k": 5}, {"a", "b", "c"}, None),
        ({"model": "delta-presence", "delta_min": 0.25, "delta_max": 0.76}, {"c"}, 0.25),
        ({"model": "delta-presence", "delta_min": 0.0, "delta_max": 0.75}, {"c"}, 0.75),
        ({"model": "delta-presence", "delta_min": 0.26, "delta_max": 1.0}, {"a"}, 1.0),
        ({"model": "delta-presence", "delta_min": 0.5, "delta_max": 0.5}, {"a", "b", "c"}, None),
    ],
)
def test_population_models_by_hand(parameters, fails, observed):
    problem = population_problem(parameters, THREE)
    table = build.counted(problem)
    (model,) = build.models(problem)
    classes = table.partition((0,))
    violated = model.violated(classes)
    assert {leaf for (leaf,), bad in zip(build.leaves(table), violated[classes.gid], strict=True) if bad} == fails
    assert model.observed(classes, ~violated) == observed


def test_people_without_a_record_are_no_class_that_a_model_judges():
    problem = population_problem({"model": "k-map", "k": 2}, {**THREE, "d": (0, 1)})
    classes = build.counted(problem).partition((0,))
    (model,) = build.models(problem)
    assert PresentClasses.of(classes).counts.tolist() == [1, 3, 2]
    assert not model.violated(PresentClasses.of(classes)).any()
    assert classes.population.tolist() == [4, 4, 2, 1]


@pytest.mark.parametrize(
    ("parameters", "kept", "figure", "holds"),
    [
        ({"model": "average-risk", "threshold": 0.5}, [1, 1, 2], 0.75, False),
        ({"model": "average-risk", "threshold": 0.5}, [2, 2], 0.5, True),
        ({"model": "average-risk", "threshold": 0.5}, [], None, True),
        ({"model": "sample-uniqueness", "threshold": 0.5}, [1, 1, 2], 0.5, True),
        ({"model": "sample-uniqueness", "threshold": 0.49}, [1, 1, 2], 0.5, False),
        ({"model": "sample-uniqueness", "threshold": 0.0}, [], None, True),
        # the table is the population: its own share of unique people, of 4 that are kept
        (
            {"model": "population-uniqueness", "threshold": 0.5, "sampling_fraction": 1.0, "estimator": "zayatz"},
            [2, 2],
            0.0,
            True,
        ),
        (
            {"model": "population-uniqueness", "threshold": 0.0, "sampling_fraction": 1.0, "estimator": "zayatz"},
            [],
            None,
            True,
        ),
    ],
)
def test_table_wide_models_by_hand(parameters, kept, figure, holds):
    # one more class, of 3 records, is suppressed
    names = [f"c{number}" for number in range(len(kept) + 1)]
    sizes = dict(zip(names, [*kept, 3], strict=True))
    problem = {
        "records": [((name,), {"s": "u"}) for name, size in sizes.items() for _ in range(size)],
        "hierarchies": [[(name, "*") for name in names]],
        "models": [parameters],
    }
    classes = build.counted(problem).partition((0,))
    (model,) = build.models(problem)
    marks = np.array([True] * len(kept) + [False])
    assert not model.violated(classes).any()
    assert (model.observed(classes, marks), model.holds(classes, marks)) == (figure, holds)
