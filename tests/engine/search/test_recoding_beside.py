"""Local recoding beside a population: what the people of a cell are, and random jobs against plain Python."""

from __future__ import annotations

import collections
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import InvalidData, NoSolution, load_job, run, verify
from tests.engine import build
from tests.engine.strategies import any_problems, written_out
from tests.profiles import examples
from tests.reference import covered
from tests.reference import recoding as plain
from tests.reference.privacy import POPULATION, holds_in_population, may_not_be_empty

TREES = (
    [("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*")],
    [("x", "*"), ("y", "*")],
    [
        ("1", "1-2", "1-4", "*"),
        ("2", "1-2", "1-4", "*"),
        ("3", "3-4", "1-4", "*"),
        ("4", "3-4", "1-4", "*"),
        ("9",) * 3 + ("*",),
    ],
)
"""Each label has one meaning."""
RANDOM = settings(deadline=None, max_examples=examples(120), suppress_health_check=list(HealthCheck))


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
    """Run a job and recount its release; return the job, the result and the source."""
    with tempfile.TemporaryDirectory() as path:
        try:
            job, result, full, source = recoded(problem, Path(path), algorithm)
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
    recount(problem, result.report, rows)
    return job, result, source


def recount(problem, report, rows):
    """Compare models and risks with the people of each class of the file."""
    names = build.names(problem)
    sizes = collections.Counter(tuple(row[name] for name in names) for row in rows)
    star = ("*",) * len(names)
    stars = sizes.pop(star) if report["suppressed_class"]["form"] == "star" else 0
    found, shared, none = covered.people_of_cells(sizes, people_of(problem))
    groups = [(size, found[cell]) for cell, size in sizes.items()]
    groups += [(stars, none)] if stars else []
    for model in problem["models"]:
        if model["model"] in POPULATION:
            assert all(people > 0 and holds_in_population(size, people, model) for size, people in groups), model
    if any(model["model"] == "delta-presence" for model in problem["models"]):
        assert not any(shared.values())
        # nor may a cell be that of somebody who is listed and suppressed
        listed = [tuple(labels_of(problem, a, v) for a, v in enumerate(one)) for one, _ in problem["records"]]
        listed = [one for one in listed if None not in one]
        assert all(sum(covered.covers(cell, one) for one in listed) == size for cell, size in sizes.items())
    if may_not_be_empty(problem["models"]) and not report["suppressed_class"]["records"]:
        assert none == 0
    risk = report["risk"]
    assert risk["journalist"] == max((float(Fraction(1, max(pair))) for pair in groups), default=0)
    expected = sum(Fraction(size, max(size, people)) for size, people in groups)
    assert risk["marketer"] == pytest.approx(float(expected / len(rows)) if rows else 0)


@RANDOM
@given(any_problems(measures=("loss", "precision")), st.sampled_from(["clustering", "splitting"]))
def test_random_jobs_have_the_people_that_plain_python_counts(problem, algorithm):
    assume(problem["people"] is not None)
    assume(problem["people"] != "subset" or any("subset" in model for model in problem["models"]))
    check(problem, algorithm)


@st.composite
def clear_problems(draw, *, most=25):
    """Draw records beside a population that has all of them, or most, and whose labels have one meaning each."""
    trees = draw(st.lists(st.sampled_from(TREES), min_size=1, max_size=3))
    value = st.tuples(*(st.sampled_from([*[row[0] for row in tree] * 2, None]) for tree in trees))
    records = draw(st.lists(st.tuples(value, st.sampled_from("xyz")), min_size=1, max_size=most))
    people = draw(st.sampled_from(["subset", "population"]))
    others = draw(st.lists(value, max_size=2 * most))
    if people == "population" and draw(st.integers(0, 3)):
        others = [*others, *(values for values, _ in records)]
    k = draw(st.sampled_from([2, 2, 3, 5, 20]))
    ends = (draw(st.sampled_from([0.0, 0.0, 0.1, 0.25])), draw(st.sampled_from([0.4, 0.5, 0.75, 1.0])))
    presence = {"model": "delta-presence", "delta_min": ends[0], "delta_max": ends[1], "subset": "people.csv"}
    mapped = {"model": "k-map", "k": k, people: "people.csv"}
    models = draw(
        st.sampled_from([[mapped], [mapped], [presence], [presence, mapped]] if people == "subset" else [[mapped]])
    )
    further = {
        "size": {"model": "k-anonymity", "k": 2},
        "values": {"model": "l-diversity", "variant": "distinct", "attribute": "s", "l": 2},
        "table": {"model": "average-risk", "threshold": 0.5},
    }
    models = [*models, *draw(st.sampled_from([[], [], [], [further["size"]], [further["values"]], [further["table"]]]))]
    return {
        "records": [(values, {"s": s}) for values, s in records],
        "hierarchies": trees,
        "weights": [1.0] * len(trees),
        "models": models,
        "limit": draw(st.sampled_from([0.0, 0.0, 0.2, 1.0])),
        "measure": draw(st.sampled_from(["loss", "precision"])),
        "combine": "arithmetic-mean",
        "f": 0.5,
        "missing": [()] * len(trees),
        "unseen": ["error"] * len(trees),
        "people": people,
        "others": others,
        "trees": {"s": [(v, "*") for v in "xyz"]},
    }


@RANDOM
@given(clear_problems(), st.sampled_from(["clustering", "splitting"]))
def test_jobs_whose_labels_have_one_meaning_lose_no_more_than_with_one_level_for_all(problem, algorithm):
    check(problem, algorithm)


@settings(parent=RANDOM, max_examples=examples(80))
@given(clear_problems(most=4))
def test_the_best_of_all_recodings_is_between_the_bound_and_what_is_found(problem):
    problem["limit"] = 0.0
    problem["measure"] = "loss"
    problem["models"] = problem["models"][:1]
    problem["hierarchies"] = problem["hierarchies"][:2]
    width = len(problem["hierarchies"])
    problem["weights"] = [1.0] * width
    # a missing value is one more of a domain, which the enumeration does not know
    assume(all(None not in values for values, _ in problem["records"]))
    problem["records"] = [(values[:width], s) for values, s in problem["records"]]
    problem["others"] = [values[:width] for values in problem["others"] if None not in values]
    (model,), people = problem["models"], people_of(problem)

    def holds(cells):
        sizes = collections.Counter(cells)
        found, shared, none = covered.people_of_cells(sizes, people)
        if model["model"] == "delta-presence" and (any(shared.values()) or (none and model["delta_min"] > 0)):
            return False
        return all(found[c] > 0 and holds_in_population(size, found[c], model) for c, size in sizes.items())

    _, result, _ = check(problem, "clustering")
    rows = [values for values, _ in problem["records"]]
    best = plain.least_loss_of_cells(rows, problem["hierarchies"], problem["weights"], holds)
    found = result.report["solution"]
    assert best is not None
    assert best - 1e-12 <= found["information_loss"]
    assert found["lower_bound"] <= best + 1e-12


def people_and_patients():
    """Return 400 people of whom 120 are patients, as tables, and a job that releases the patients."""
    draws = np.random.default_rng(5)
    people = pa.table(
        {
            "age": [str(age) for age in draws.integers(20, 60, 400)],
            "zip": [f"{code:04d}" for code in draws.integers(0, 12, 400) * 7],
        }
    )
    job = {
        "name": "patients",
        "transformation": "local-recoding",
        "unit": "record",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [5, 20]}},
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 4}},
        },
        "recoding": {"bound_passes": 1},
    }
    return people, people.slice(0, 120), job


def meanings(job, name, values):
    """Return the labels that each value may be shown as."""
    rows = load_job(job).attributes[name].hierarchy.rows(sorted(set(values)))
    return {row[0]: frozenset(row) for row in rows}


@pytest.mark.parametrize("k", [3, 8])
def test_whoever_has_the_population_and_the_file_is_left_with_k_people_for_each_record(tmp_path, k):
    """By the file alone: of those who may be in its cell, who can be nowhere else, or as many as it has records."""
    people, patients, job = people_and_patients()
    build.pq.write_table(people, tmp_path / "people.parquet")
    job["privacy"] = [{"model": "k-map", "k": k, "population": str(tmp_path / "people.parquet")}]
    result = run(job, patients)
    assert len([share for share in result.report["solution"]["shares"]["age"] if share]) > 1
    of = {name: meanings(job, name, people[name].to_pylist()) for name in ("age", "zip")}
    everybody = [(of["age"][row["age"]], of["zip"][row["zip"]]) for row in people.to_pylist()]
    sizes = collections.Counter((row["age"], row["zip"]) for row in result.table.to_pylist())
    found, _, _ = covered.people_of_cells(sizes, everybody)
    assert min(found.values()) >= k
    assert result.report["privacy"][0]["observed"] == min(found.values())


def test_a_release_with_a_finer_cell_is_refused(tmp_path):
    """One record is shown as it is in the source, where too few people are like it."""
    people, patients, job = people_and_patients()
    build.pq.write_table(people, tmp_path / "people.parquet")
    job["privacy"] = [{"model": "k-map", "k": 8, "population": str(tmp_path / "people.parquet")}]
    result = run(job, patients)
    assert [f for f in verify(result.table, load_job(job), result.report) if not f.holds] == []
    alike = collections.Counter((row["age"], row["zip"]) for row in people.to_pylist())
    rare = next(row for row in patients.to_pylist() if alike[row["age"], row["zip"]] < 8)
    rows = result.table.to_pylist()
    of = {name: meanings(job, name, people[name].to_pylist()) for name in ("age", "zip")}
    place = next(n for n, row in enumerate(rows) if all(row[name] in of[name][rare[name]] for name in rare))
    changed = pa.Table.from_pylist([*rows[:place], rare, *rows[place + 1 :]], schema=result.table.schema)
    failed = {f.check for f in verify(changed, load_job(job), result.report) if not f.holds}
    assert "k-map" in failed
    assert "k-map" in {f.check for f in verify(changed, load_job(job)) if not f.holds}


def test_a_population_for_the_risk_alone_leaves_the_recoding_as_it_is(tmp_path):
    people, patients, job = people_and_patients()
    build.pq.write_table(people, tmp_path / "people.parquet")
    job["privacy"] = [{"model": "k-anonymity", "k": 4}]
    alone = run(job, patients)
    beside = run({**job, "risk": {"population": str(tmp_path / "people.parquet")}}, patients)
    first, second = (
        collections.Counter((row["age"], row["zip"]) for row in one.table.to_pylist()) for one in (alone, beside)
    )
    assert first == second
    assert beside.report["risk"]["journalist"] <= alone.report["risk"]["journalist"] <= 1 / 4
    assert beside.report["population_rows"] == 400


def test_people_stand_in_one_row_and_cells_fit_at_levels_allowed_alone(tmp_path):
    """Of seven people one is 41; at the ages, where 31 fits three and 32 fits three; not at level 0 of the postcode."""
    rows = {"age": ["31", "32", "41"], "zip": ["0001", "0002", "0001"], "persons": [3, 3, 1]}
    build.pq.write_table(pa.table(rows), tmp_path / "people.parquet")
    _, _, job = people_and_patients()
    job["attributes"]["zip"]["minimum_level"] = 1
    job["attributes"]["age"]["maximum_level"] = 1
    job["privacy"] = [{"model": "k-map", "k": 3, "population": str(tmp_path / "people.parquet")}]
    result = run(
        {**job, "suppression_limit": 0.5}, pa.table({"age": ["31", "32", "41"], "zip": ["0001", "0002", "0001"]})
    )
    assert result.table.to_pydict() == {"age": ["31", "32"], "zip": ["000*", "000*"]}
    assert result.report["population_rows"] == 7
    assert result.report["privacy"][0]["observed"] == 3
    assert result.report["risk"]["journalist"] == 1 / 3
    with pytest.raises(NoSolution):
        run(job, pa.table({"age": ["31", "41"], "zip": ["0001", "0001"]}))


def test_labels_with_two_meanings_are_refused_where_no_recoding_holds_by_them(tmp_path):
    """At level 0 two people have `*`, by which readers may take them for anybody: nobody is alone in a class."""
    people = pa.table({"age": ["31"] * 3 + ["?"] * 2})
    build.pq.write_table(people, tmp_path / "people.parquet")
    (tmp_path / "age.csv").write_text("31;*\n41;*\n")
    job = {
        "name": "people",
        "transformation": "local-recoding",
        "unit": "record",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": str(tmp_path / "age.csv"), "unseen": "root"},
            "id": {"role": "identifying"},
        },
        "privacy": [{"model": "delta-presence", "delta_min": 0.1, "delta_max": 0.6, "subset": "ids.csv"}],
    }
    (tmp_path / "ids.csv").write_text("id\n0\n3\n")
    job["privacy"][0]["subset"] = str(tmp_path / "ids.csv")
    source = people.append_column("id", [list(range(5))])
    assert run({**job, "transformation": "full-domain"}, source).report["solution"]["levels"] == {"age": 0}
    with pytest.raises(InvalidData, match=r"a label has several meanings.*set unseen: error"):
        run(
            {**job, "attributes": {**job["attributes"], "age": {**job["attributes"]["age"], "maximum_level": 1}}},
            source,
        )
