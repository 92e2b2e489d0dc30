"""Sensitive columns of linked tables: the search against enumeration, both counts of persons, and what is refused."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import load_job, run, verify
from engine.job.counting import count, open_source
from engine.job.problem import problem_of
from engine.search.registry import ALGORITHMS
from tests.engine.linked_jobs import (
    COLUMNS,
    HIERARCHIES,
    KEYS,
    SENSITIVE,
    VALUES,
    job,
    rows_of_hierarchies,
    table,
    tables_of,
    weight,
)
from tests.profiles import examples
from tests.reference import linked_tables as reference

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(300))
OF = {"attribute": "outcome"}
MISSING = st.sampled_from([{}, {"missing": "value"}])
DISTINCT = st.builds(
    lambda number, missing: {"model": "l-diversity", "variant": "distinct", "l": number, **OF, **missing},
    st.integers(2, 4),
    MISSING,
)
MODELS = st.one_of(
    DISTINCT,
    st.builds(
        lambda number, missing: {"model": "l-diversity", "variant": "shannon-entropy", "l": number, **OF, **missing},
        st.integers(2, 3),
        MISSING,
    ),
    st.builds(
        lambda c, missing: {"model": "l-diversity", "variant": "recursive", "l": 2, "c": c, **OF, **missing},
        st.sampled_from([0.5, 1.0, 2.0]),
        MISSING,
    ),
    st.builds(
        lambda distance, t: {"model": "t-closeness", "distance": distance, "t": t, **OF},
        st.sampled_from(["equal", "ordered"]),
        st.sampled_from([0.1, 0.3, 0.5]),
    ),
    st.builds(lambda delta: {"model": "delta-disclosure-privacy", "delta": delta, **OF}, st.sampled_from([0.5, 1.5])),
    st.builds(
        lambda beta: {"model": "beta-likeness", "variant": "basic", "beta": beta, **OF}, st.sampled_from([0.5, 2.0])
    ),
)


@st.composite
def problems(draw, attackers):
    """Draw tables of at most six persons, of which one or two have a sensitive column with missing values."""
    knows = draw(st.sampled_from(attackers))
    sensitive = draw(st.sampled_from([["condition"], SENSITIVE]))
    tables = {}
    for name, columns in COLUMNS.items():
        record = {c: st.sampled_from([*VALUES[c], *VALUES[c], None]) for c in columns}
        if name in sensitive:
            record["outcome"] = st.sampled_from(["x", "y", "z", "z", None])
        tables[name] = draw(
            st.lists(st.tuples(st.integers(0, 5), st.fixed_dictionaries(record)), min_size=1, max_size=6)
        )
    for column in HIERARCHIES:
        having = [one for records in tables.values() for _, one in records if column in one]
        if all(one[column] is None for one in having):
            having[0][column] = VALUES[column][0]
    model = draw(DISTINCT if isinstance(knows, dict) else MODELS)
    return tables, sensitive, knows, draw(st.integers(2, 3)), draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])), model


def as_arrow(tables, sensitive):
    """Return the tables of a problem as they are given to a run."""
    found = {}
    for name, records in tables.items():
        columns = [*COLUMNS[name], *(["outcome"] if name in sensitive else [])]
        keys = KEYS[name]
        rows = [(*(f"p{p}", f"v{n}")[: len(keys)], *(one[c] for c in columns)) for n, (p, one) in enumerate(records)]
        found[name] = table(rows, *keys, *columns)
    return found


def assert_is_best(problem):
    tables, sensitive, knows, k, limit, model = problem
    hierarchies = rows_of_hierarchies()
    there = {one["sex"] for _, one in tables["patient"]} - {None}
    hierarchies["sex"] = {value: hierarchies["sex"][value] for value in there}
    weights = {name: weight(name) for name in HIERARCHIES}
    expected = reference.solve(tables, {n: hierarchies[n] for n in HIERARCHIES}, weights, knows, k, limit, [model])
    document = load_job(
        job(
            sensitive=sensitive,
            knows=knows,
            privacy=[{"model": "k-anonymity", "k": k}, model],
            suppression_limit=limit,
        )
    )
    search = problem_of(document, count(document, open_source(document, as_arrow(tables, sensitive))).table)
    found = ALGORITHMS["optimal"]().run(search)
    if expected is None:
        assert found is None
        return
    levels, loss, gone = expected
    assert found is not None
    assert dict(zip(search.table.attributes, found.levels, strict=True)) == {"table": 0, **levels}
    assert found.suppressed == gone
    assert found.loss == pytest.approx(loss, abs=1e-12)
    assert found.optimal


@SLOW_START
@given(problems([{"rows": 1}, {"rows": 2}, {"rows": 3}]))
def test_the_search_finds_the_optimum_with_distinct_values_of_who_shares_some_rows(problem):
    assert_is_best(problem)


@SLOW_START
@given(problems(["any-row", "all-rows"]))
def test_the_search_finds_the_optimum_with_models_of_values(problem):
    assert_is_best(problem)


def with_outcomes(persons, seed, sensitive=("condition",)):
    """Make tables with outcomes, some of which are missing."""
    rng = random.Random(seed)
    found = tables_of(persons, seed)
    for name in sensitive:
        outcomes = [rng.choice(["x", "y", "z", "z", "z", None]) for _ in range(found[name].num_rows)]
        found[name] = found[name].append_column("outcome", pa.array(outcomes, pa.string()))
    return found


RUNS = [
    ("any-row", {"model": "l-diversity", "variant": "distinct", "l": 3, **OF}, ["condition"]),
    ("any-row", {"model": "t-closeness", "distance": "ordered", "t": 0.4, **OF}, SENSITIVE),
    ("all-rows", {"model": "l-diversity", "variant": "distinct", "l": 2, **OF}, ["condition"]),
    ({"rows": 2}, {"model": "l-diversity", "variant": "distinct", "l": 2, **OF}, ["condition"]),
    ({"rows": 3}, {"model": "l-diversity", "variant": "distinct", "l": 3, "missing": "value", **OF}, SENSITIVE),
    ("all-rows", {"model": "t-closeness", "distance": "equal", "t": 0.6, **OF}, SENSITIVE),
]


@pytest.mark.parametrize(("knows", "model", "sensitive"), RUNS)
def test_a_release_is_verified_and_its_figures_are_of_records_with_the_column(knows, model, sensitive):
    document = job(
        sensitive=sensitive, knows=knows, privacy=[{"model": "k-anonymity", "k": 3}, model], suppression_limit=0.6
    )
    source = with_outcomes(50, 5, sensitive)
    result = run(document, source)
    findings = verify(result.tables, load_job(document), result.report, source)
    assert [str(found.message) for found in findings if not found.holds] == []
    outcomes = [one for name in sensitive for one in result.tables[name]["outcome"].to_pylist()]
    most = max(outcomes.count(value) for value in set(outcomes))
    assert result.report["attribute_inference"]["outcome"]["by_table"] == pytest.approx(most / len(outcomes))


def test_classes_of_a_table_without_the_column_need_no_values():
    """Persons of one sex may be fewer than the values that a class of conditions must have."""
    persons = [(f"p{n}", "f" if n < 2 else "m", "n1") for n in range(8)]
    conditions = [(f"p{n}", f"v{n}", "b1", "xyzw"[n % 4]) for n in range(8)]
    source = {
        "patient": table(persons, "person_id", "sex", "area"),
        "condition": table(conditions, "person_id", "visit_id", "code", "outcome"),
    }
    document = job(
        tables=("patient", "condition"),
        sensitive=["condition"],
        knows="any-row",
        privacy=[{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "variant": "distinct", "l": 4, **OF}],
        suppression_limit=0.0,
    )
    result = run(document, source)
    assert result.report["solution"]["information_loss"] == 0
    assert result.report["classes"]["smallest"] == 2
    assert result.report["privacy"][1]["observed"] == 4
    findings = verify(result.tables, load_job(document), result.report, source)
    assert all(found.holds for found in findings)


def test_a_value_that_is_changed_in_a_file_is_found():
    document = job(
        sensitive=["condition"],
        knows="any-row",
        privacy=[{"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "variant": "distinct", "l": 2, **OF}],
    )
    source = with_outcomes(80, 6)
    result = run(document, source)
    place = result.tables["condition"].column_names.index("outcome")
    changed = pa.array(["x"] * result.tables["condition"].num_rows, pa.string())
    tables = {**result.tables, "condition": result.tables["condition"].set_column(place, "outcome", changed)}
    failing = {found.check for found in verify(tables, load_job(document), result.report, source) if not found.holds}
    assert "persons" in failing


def test_without_any_record_of_the_table_nothing_is_judged():
    source = with_outcomes(40, 7)
    source["condition"] = source["condition"].slice(0, 0)
    document = job(
        sensitive=["condition"],
        knows="any-row",
        privacy=[{"model": "k-anonymity", "k": 2}, {"model": "t-closeness", "distance": "equal", "t": 0.2, **OF}],
    )
    result = run(document, source)
    assert result.report["privacy"][1]["holds"]
    assert result.report["privacy"][1]["observed"] is None
    assert all(found.holds for found in verify(result.tables, load_job(document), result.report, source))
