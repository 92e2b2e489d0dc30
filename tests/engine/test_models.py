"""Every privacy model against plain Python, and what it promises the search about specializations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.privacy.model import Monotonicity
from tests.engine import build
from tests.engine.strategies import any_problems
from tests.reference.lattice import grouped
from tests.reference.privacy import failing, figure, hierarchical_distance, ordered_distance, paths, shares

THOROUGH = settings(deadline=None, max_examples=400)


def draw_levels(data, problem):
    return tuple(data.draw(st.integers(0, len(rows[0]) - 1)) for rows in problem["hierarchies"])


def below(levels):
    return itertools.product(*(range(level + 1) for level in levels))


def plain_failing(problem, levels, model):
    """Return the leaf tuples in classes that fail a model, record by record."""
    classes = grouped(problem["records"], problem["hierarchies"], levels)
    bad = failing({key: [s for _, s in members] for key, members in classes.items()}, [model], problem["tree"])
    return {values for key in bad for values, _ in classes[key]}


def marked(table, classes, marks):
    """Return the leaf tuples in marked classes."""
    return set(itertools.compress(build.leaves(table), marks[classes.gid].tolist()))


@THOROUGH
@given(any_problems(), st.data())
def test_the_classes_that_fail(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = table.partition(levels)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        assert marked(table, classes, model.violated(classes)) == plain_failing(problem, levels, parameters)


@THOROUGH
@given(any_problems(), st.data())
def test_the_observed_figure_is_that_of_the_worst_kept_class(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = table.partition(levels)
    everything = [sensitive["s"] for _, sensitive in problem["records"]]
    groups = grouped(problem["records"], problem["hierarchies"], levels).values()
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        bad = plain_failing(problem, levels, parameters)
        figures = [
            figure([s["s"] for _, s in members], everything, parameters, problem["tree"])
            for members in groups
            if members[0][0] not in bad
        ]
        observed = model.observed(classes, ~model.violated(classes))
        if not figures:
            assert observed is None
            continue
        worst = min if figures[0][1] else max
        assert observed == pytest.approx(float(worst(number for number, _ in figures)), rel=1e-9, abs=1e-12)


@THOROUGH
@given(any_problems(), st.data())
def test_what_surely_fails_under_suppression_fails_in_every_specialization(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = table.partition(levels)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        surely = marked(table, classes, model.surely_violated(classes, suppressing=True))
        for finer in below(levels) if surely else ():
            assert surely <= plain_failing(problem, finer, parameters)


@THOROUGH
@given(any_problems(), st.data())
def test_what_surely_fails_without_suppression_leaves_no_valid_specialization(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = table.partition(levels)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        if model.surely_violated(classes, suppressing=False).any():
            assert all(plain_failing(problem, finer, parameters) for finer in below(levels))


@THOROUGH
@given(any_problems(), st.data())
def test_a_model_that_is_monotone_finds_all_that_fails(problem, data):
    # else the search would be slower than it says: it calls such a model inherited
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = table.partition(levels)
    for model in build.models(problem):
        for suppressing in (False, True):
            surely = model.surely_violated(classes, suppressing=suppressing)
            assert not (surely & ~model.violated(classes)).any()
            if model.is_inherited(suppressing=suppressing):
                assert (surely == model.violated(classes)).all()


@THOROUGH
@given(any_problems(), st.data())
def test_a_class_below_the_minimum_size_fails(problem, data):
    classes = build.counted(problem).partition(draw_levels(data, problem))
    for model in build.models(problem):
        assert model.violated(classes)[classes.counts < model.minimum_class_size].all()


@THOROUGH
@given(any_problems())
def test_with_one_root_the_hierarchical_distance_is_the_surplus_below_it(problem):
    # the definitions give both formulas
    values, tree = [s["s"] for _, s in problem["records"]], problem["tree"]
    members = values[: max(1, len(values) // 2)]
    p, q, path = shares(members), shares(values), paths(tree, values)
    height = len(tree[0]) - 1
    surplus = sum(
        max(0, sum(p.get(v, 0) - q[v] for v in path if path[v][level] == node))
        for level in range(height)
        for node in {labels[level] for labels in path.values()}
    )
    assert hierarchical_distance(members, values, tree) == surplus / height


DISTANCES = ["equal", "ordered", "hierarchical"]


def problem_of(parameters, classes, hierarchy):
    """Make a table of classes given as lists of sensitive values."""
    return {
        "records": [((name,), {"s": s}) for name, values in classes.items() for s in values],
        "hierarchies": [hierarchy],
        "tree": [("u", "U", "*"), ("v", "U", "*"), ("w", "W", "*")],
        "models": [{"attribute": "s", **parameters}],
    }


def judged(parameters, classes):
    """Judge classes of one table."""
    problem = problem_of(parameters, classes, [(name, "*") for name in classes])
    table = build.counted(problem)
    (model,) = build.models(problem)
    partition = table.partition((0,))
    return dict(zip(classes, (~model.violated(partition)).tolist(), strict=True))


@pytest.mark.parametrize(
    ("values", "holds"),
    [("uvw", True), ("uvwuvwuvw", True), ("uvwuvw", False), ("uuvw", False), ("uuvv", False)],
)
def test_shannon_entropy_is_compared_in_doubles(values, holds):
    # of three equal shares, rounding alone lets 1 and 3 records of each pass and 2 of each fail (definitions)
    parameters = {"model": "l-diversity", "variant": "shannon-entropy", "l": 3}
    assert judged(parameters, {"a": values}) == {"a": holds}


@pytest.mark.parametrize(("values", "holds"), [("uvw", True), ("uuvvww", False), ("uuuvvvwww", True)])
def test_the_grassberger_estimate_of_two_records_each_is_lower(values, holds):
    # G(1) = G(3) - 2, G(2) = G(3): pairs gain nothing over single records, so 6 records of 3 values fall short
    parameters = {"model": "l-diversity", "variant": "grassberger-entropy", "l": 3}
    assert judged(parameters, {"a": values}) == {"a": holds}


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_distribution_of_the_table_has_distance_zero(distance):
    # a third and a sixth have no exact double
    classes = {"a": "uuuvvw", "b": "uuuvvw" * 7, "c": "uuuvvw" * 3}
    parameters = {"model": "t-closeness", "distance": distance, "t": 0.0}
    assert judged(parameters, classes) == {"a": True, "b": True, "c": True}


@pytest.mark.parametrize(
    ("parameters", "values", "rest", "holds"),
    [
        # table: u 5, v 5 of 10; class: u 7/10, v 3/10; every distance is 1/5 of all ways, of 1 for ranks of two values
        ({"model": "t-closeness", "distance": "equal", "t": 0.2}, "u" * 7 + "v" * 3, "u" * 3 + "v" * 7, True),
        ({"model": "t-closeness", "distance": "ordered", "t": 0.2}, "u" * 7 + "v" * 3, "u" * 3 + "v" * 7, True),
        ({"model": "t-closeness", "distance": "hierarchical", "t": 0.1}, "u" * 7 + "v" * 3, "u" * 3 + "v" * 7, True),
        ({"model": "t-closeness", "distance": "equal", "t": 0.19}, "u" * 7 + "v" * 3, "u" * 3 + "v" * 7, False),
        # gain of u: (3/5 - 1/2) / (1/2) = 1/5, exactly the bound
        ({"model": "beta-likeness", "variant": "basic", "beta": 0.2}, "uuuvv", "uuvvv", True),
        ({"model": "beta-likeness", "variant": "basic", "beta": 0.19}, "uuuvv", "uuvvv", False),
        # a ratio of exactly 2 is one bit, and the comparison is strict
        ({"model": "delta-disclosure-privacy", "delta": 1.0}, "uu", "vw", False),
        ({"model": "delta-disclosure-privacy", "delta": 1.01}, "uu", "vw", True),
        ({"model": "delta-disclosure-privacy", "delta": 1.01, "strict": True}, "uu", "vw", False),
        # 121 < 1.1 * 110 does not hold, although the product of doubles is above 121
        ({"model": "l-diversity", "variant": "recursive", "c": 1.1, "l": 2}, "u" * 121 + "v" * 110, "w", False),
        ({"model": "l-diversity", "variant": "recursive", "c": 1.11, "l": 2}, "u" * 121 + "v" * 110, "w", True),
    ],
)
def test_a_class_exactly_at_its_limit(parameters, values, rest, holds):
    assert judged(parameters, {"a": values, "b": rest})["a"] is holds


@pytest.mark.parametrize("distance", DISTANCES)
def test_one_class_or_one_value_is_close_to_the_table(distance):
    parameters = {"model": "t-closeness", "distance": distance, "t": 0.0}
    assert judged(parameters, {"a": "uvw"}) == {"a": True}
    assert judged(parameters, {"a": "u", "b": "uuu"}) == {"a": True, "b": True}


def test_a_missing_value_comes_first_in_the_order():
    # from nothing to w are three steps, of 3: the distance of one class from the half and half of the table is 1/2
    assert ordered_distance([None], [None, "w"], None) == 0.5
    judgement = judged({"model": "t-closeness", "distance": "ordered", "t": 0.4}, {"a": [None, "u"], "b": "uv"})
    # cumulative shares None, u, v: table 1/4, 3/4, 1; a 1/2, 1, 1: (1/4 + 1/4) / 2; b 0, 1/2, 1: the same
    assert judgement == {"a": True, "b": True}
    tight = judged({"model": "t-closeness", "distance": "ordered", "t": 0.2}, {"a": [None, "u"], "b": "uv"})
    assert tight == {"a": False, "b": False}


@pytest.mark.parametrize(
    ("parameters", "parts", "rest", "suppressing"),
    [
        # both parts hold and their union does not: one lacks v, which is rare in the union and half of the table
        ({"model": "delta-disclosure-privacy", "delta": 1.5}, ("u" * 20, "uuuuvvvv"), "v" * 20, False),
        ({"model": "l-diversity", "variant": "shannon-entropy", "l": 3}, ("uvw", "uvw"), "uvw", False),
        ({"model": "l-diversity", "variant": "grassberger-entropy", "l": 3}, ("uvw", "uvw"), "uvw", False),
        # the first part is suppressed and the second holds
        ({"model": "l-diversity", "variant": "recursive", "c": 2.0, "l": 2}, ("u" * 20, "uv"), "uv", True),
        ({"model": "l-diversity", "variant": "shannon-entropy", "l": 2}, ("u" * 20, "uv"), "uv", True),
        ({"model": "l-diversity", "variant": "grassberger-entropy", "l": 2}, ("u" * 20, "uv"), "uv", True),
        ({"model": "t-closeness", "distance": "equal", "t": 0.1}, ("uuuu", "uv"), "uvvvvv", True),
        ({"model": "t-closeness", "distance": "ordered", "t": 0.1}, ("uuuu", "uv"), "uvvvvv", True),
        ({"model": "t-closeness", "distance": "hierarchical", "t": 0.1}, ("uuuu", "uv"), "uvvvvv", True),
        ({"model": "beta-likeness", "variant": "basic", "beta": 0.1}, ("uuuu", "uv"), "uvvvvv", True),
        ({"model": "beta-likeness", "variant": "enhanced", "beta": 0.1}, ("uuuu", "uv"), "uvvvvv", True),
        ({"model": "delta-disclosure-privacy", "delta": 0.5, "strict": True}, ("uuuu", "uv"), "uvvvvv", True),
    ],
)
def test_a_class_that_fails_may_have_parts_that_hold(parameters, parts, rest, suppressing):
    classes = {"a": parts[0], "b": parts[1], "c": rest}
    problem = problem_of(parameters, classes, [("a", "AB"), ("b", "AB"), ("c", "C")])
    table = build.counted(problem)
    (model,) = build.models(problem)
    fine, coarse = (table.partition((level,)) for level in (0, 1))
    ab = coarse.gid[0]
    assert model.violated(coarse)[ab]
    assert model.violated(fine)[:2].tolist() == [suppressing, False]
    assert not model.surely_violated(coarse, suppressing=suppressing)[ab]


def test_only_nested_models_are_monotone_under_suppression():
    parameters = [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2},
        {"model": "l-diversity", "variant": "recursive", "attribute": "s", "l": 2, "c": 1.0},
        {"model": "l-diversity", "variant": "grassberger-entropy", "attribute": "s", "l": 2},
        {"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.2},
        {"model": "delta-disclosure-privacy", "attribute": "s", "delta": 1.0},
        {"model": "beta-likeness", "variant": "basic", "attribute": "s", "beta": 1.0},
    ]
    found = [model.monotonicity is Monotonicity.WITH_SUPPRESSION for model in build.models({"models": parameters})]
    assert found == [True, True, False, False, False, False, False]


def test_classes_of_one_record_have_an_entropy_of_zero():
    problem = {
        "records": [(("a",), {"s": "u"})],
        "hierarchies": [[("a", "*")]],
        "tree": [("u", "*")],
        "models": [{"model": "l-diversity", "variant": "shannon-entropy", "attribute": "s", "l": 2}],
    }
    (model,) = build.models(problem)
    classes = build.counted(problem).partition((0,))
    assert model.violated(classes).all()
    assert model.observed(classes, np.array([True])) == 1.0
