"""Every privacy model against plain Python, and what it promises the search about specializations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.privacy.model import Monotonicity
from engine.tables.counting.present_classes import PresentClasses
from tests.engine import build
from tests.engine.strategies import CLASS_MODELS, POPULATION_MODELS, any_problems
from tests.profiles import examples
from tests.reference.lattice import failing_classes, grouped, key_of, population_of, readings, suppressed_classes
from tests.reference.privacy import (
    POPULATION,
    TABLE_WIDE,
    figure,
    hierarchical_distance,
    holds,
    holds_in_population,
    holds_table_wide,
    ordered_distance,
    paths,
    population_figures,
    shares,
    table_wide_figure,
)

THOROUGH = settings(deadline=None, max_examples=examples(250))


def draw_levels(data, problem):
    return tuple(data.draw(st.integers(0, len(rows[0]) - 1)) for rows in problem["hierarchies"])


def below(levels):
    return itertools.product(*(range(level + 1) for level in levels))


def plain_failing(problem, levels, model):
    """Return the leaf tuples of records in classes that fail a model, record by record."""
    read = readings(problem)
    bad = failing_classes(problem, read, levels, [model])
    return {leaves for leaves, _ in read.records if key_of(leaves, read.hierarchies, levels) in bad}


def present(table, levels):
    """Return the classes with records of a transformation, as models see them."""
    return PresentClasses.of(table.partition(levels))


def marked(table, levels, marks):
    """Return the leaf tuples of records in marked classes; refused ones are in no class."""
    classes = table.partition(levels)
    whole = np.zeros(classes.size, np.bool_)
    whole[classes.counts > 0] = marks
    whole &= ~classes.refused
    rows = whole[classes.gid] & (table.counts > 0)
    return set(itertools.compress(build.leaves(table), rows.tolist()))


def kept_at_random(data, table, levels, candidates):
    """Draw some of the candidates, marks of present classes, refused ones left out; return marks and leaf tuples."""
    classes = table.partition(levels)
    candidates = candidates & ~classes.refused[classes.counts > 0]
    kept = candidates & np.array([data.draw(st.booleans()) for _ in candidates], np.bool_)
    return kept, marked(table, levels, kept)


def kept_classes(problem, levels, tuples):
    """Return the kept classes, by key, as (leaves, sensitive mapping) of their records."""
    read = readings(problem)
    groups = grouped(read.records, read.hierarchies, levels)
    return {key: members for key, members in groups.items() if members[0][0] in tuples}


def worst(problem, levels, kept, model):
    """Return the figures that a report may give of kept classes, at least one."""
    read = readings(problem)
    if model["model"] in TABLE_WIDE:
        return [table_wide_figure([len(members) for members in kept.values()], read.n, model)]
    if model["model"] in POPULATION:
        people = population_of(read, levels)
        return population_figures([(len(members), people[key]) for key, members in kept.items()], model)
    column = model.get("attribute")
    everything = [s.get(column) for _, s in [*read.records, *read.refused]]
    figures = [
        figure([s.get(column) for _, s in members], everything, model, problem["trees"].get(column))
        for members in kept.values()
    ]
    return [(min if figures[0][1] else max)(number for number, _ in figures)]


@THOROUGH
@given(any_problems(), st.data())
def test_the_classes_that_fail(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        found = marked(table, levels, model.violated(present(table, levels)))
        assert found == plain_failing(problem, levels, parameters)


@THOROUGH
@given(any_problems(), st.data())
def test_whether_kept_classes_satisfy_it(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = present(table, levels)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        kept, tuples = kept_at_random(data, table, levels, np.ones(classes.counts.size, np.bool_))
        if parameters["model"] in TABLE_WIDE:
            sizes = [len(members) for members in kept_classes(problem, levels, tuples).values()]
            expected = holds_table_wide(sizes, len(problem["records"]), parameters)
        else:
            expected = not tuples & plain_failing(problem, levels, parameters)
        assert model.holds(classes, kept) is expected


@THOROUGH
@given(any_problems(), st.data())
def test_the_observed_figure_is_that_of_the_worst_kept_class(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = present(table, levels)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        kept, tuples = kept_at_random(data, table, levels, ~model.violated(classes))
        observed = model.observed(classes, kept)
        if not tuples:
            assert observed is None
            continue
        expected = worst(problem, levels, kept_classes(problem, levels, tuples), parameters)
        assert any(observed == pytest.approx(float(number), rel=1e-9, abs=1e-12) for number in expected)


@THOROUGH
@given(any_problems(), st.data())
def test_what_surely_fails_under_suppression_fails_in_every_specialization(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        surely = marked(table, levels, model.surely_violated(present(table, levels), suppressing=True))
        for finer in below(levels) if surely else ():
            assert surely <= plain_failing(problem, finer, parameters)


@THOROUGH
@given(any_problems(), st.data())
def test_what_surely_fails_without_suppression_leaves_no_valid_specialization(problem, data):
    table, levels = build.counted(problem), draw_levels(data, problem)
    for model, parameters in zip(build.models(problem), problem["models"], strict=True):
        surely = model.surely_violated(present(table, levels), suppressing=False)
        if not marked(table, levels, surely):
            continue
        alone, read = {**problem, "models": [parameters]}, readings(problem)
        assert all(
            plain_failing(problem, finer, parameters) or suppressed_classes(alone, read, finer) is None
            for finer in below(levels)
        )


@THOROUGH
@given(any_problems(), st.data())
def test_a_model_that_is_monotone_finds_all_that_fails(problem, data):
    # else the search would be slower than it says: it calls such a model inherited
    table, levels = build.counted(problem), draw_levels(data, problem)
    classes = present(table, levels)
    for model in build.models(problem):
        for suppressing in (False, True):
            surely = model.surely_violated(classes, suppressing=suppressing)
            assert not (surely & ~model.violated(classes)).any()
            if model.is_inherited(suppressing=suppressing):
                assert (surely == model.violated(classes)).all()


CLASSES = st.tuples(st.lists(st.sampled_from("uvw"), max_size=5), st.integers(0, 4))
"""Sensitive values of a class, and people of the population in it beside them."""


@THOROUGH
@given(
    st.lists(CLASSES, min_size=2, max_size=6).filter(lambda classes: any(values for values, _ in classes)),
    CLASS_MODELS | POPULATION_MODELS["subset"],
    st.data(),
)
def test_any_union_of_classes_is_judged_as_the_monotonicity_says(classes, parameters, data):
    parameters = {**parameters, **({"attribute": "s"} if "attribute" in parameters else {})}
    (model,) = build.models({"models": [parameters]})
    table = [value for values, _ in classes for value in values]
    tree = [("u", "U", "*"), ("v", "U", "*"), ("w", "W", "*")]

    def satisfies(parts):
        values = [value for values, _ in parts for value in values]
        people = len(values) + sum(others for _, others in parts)
        if parameters["model"] in POPULATION:
            # nobody at all is no class; people without a record are one, that a share above 0 refuses
            return people == 0 or holds_in_population(len(values), people, parameters)
        return not values or holds(values, table, parameters, tree)

    union = data.draw(st.lists(st.sampled_from(classes), min_size=2, max_size=6, unique_by=id))
    if model.monotonicity is Monotonicity.WITH_SUPPRESSION and any(part[0] and satisfies([part]) for part in union):
        assert satisfies(union)
    if model.monotonicity is not Monotonicity.NONE and all(satisfies([part]) for part in union):
        assert satisfies(union)


@THOROUGH
@given(any_problems(), st.data())
def test_a_class_below_the_minimum_size_fails(problem, data):
    classes = present(build.counted(problem), draw_levels(data, problem))
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
        {"model": "k-e-anonymity", "attribute": "s", "k": 2, "e": 1.0},
        {"model": "l-diversity", "variant": "recursive", "attribute": "s", "l": 2, "c": 1.0},
        {"model": "l-diversity", "variant": "grassberger-entropy", "attribute": "s", "l": 2},
        {"model": "t-closeness", "distance": "equal", "attribute": "s", "t": 0.2},
        {"model": "delta-disclosure-privacy", "attribute": "s", "delta": 1.0},
        {"model": "beta-likeness", "variant": "basic", "attribute": "s", "beta": 1.0},
    ]
    found = [model.monotonicity is Monotonicity.WITH_SUPPRESSION for model in build.models({"models": parameters})]
    assert found == [True, True, True, False, False, False, False, False]


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
