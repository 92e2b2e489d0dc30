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
from engine.table import open_data
from tests.engine.build import Listed, encoded
from tests.engine.strategies import problems
from tests.reference.privacy import failing
from tests.reference.utility import generalize

QUICK = settings(deadline=None, max_examples=150)


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


@pytest.mark.parametrize(
    ("parameters", "records", "fails", "observed"),
    [
        ({"model": "k-anonymity", "k": 3}, {"a": "uuv", "b": "uv"}, {"b"}, 3),
        ({"model": "k-anonymity", "k": 2}, {"a": "uuv", "b": "uv"}, set(), 2),
        ({"model": "k-anonymity", "k": 4}, {"a": "uuv", "b": "uv"}, {"a", "b"}, None),
        (DIVERSE, {"a": "uuu", "b": "uv"}, {"a"}, 2),
        (DIVERSE, {"a": ["u", None], "b": ["u", "u"]}, {"b"}, 2),
        (DIVERSE, {"a": ["", None], "b": [None, None]}, {"b"}, 2),
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
