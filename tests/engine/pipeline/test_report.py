"""The report: the keys of the contract, plain numbers, figures computed by hand."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from engine import NoSolution, run
from engine.risk.figures import risks
from tests.engine import build
from tests.engine.strategies import problems

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck))
AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10], "lower": 0, "upper": 100}}
JOB = {
    "name": "people",
    "attributes": {"age": AGE, "diagnosis": {"role": "sensitive"}},
    "privacy": [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2},
    ],
    "suppression_limit": 0.2,
}


def people(ages, diagnoses):
    return pa.table({"age": pa.array(ages, pa.int64()), "diagnosis": pa.array(diagnoses, pa.string())})


# at level 1: [20, 30[ has 4 records, [30, 40[ has 2, 71 is alone
SEVEN = people([21, 22, 23, 24, 31, 32, 71], ["u", "v", "w", "u", "u", "v", "u"])


def leaves(value):
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def test_the_keys_of_the_contract():
    report = run(JOB, table=SEVEN).report
    assert {
        "name",
        "rows",
        "columns",
        "solution",
        "search",
        "privacy",
        "utility",
        "risk",
        "timings",
        "versions",
    } <= report.keys()
    assert report["name"] == "people"
    assert report["rows"] == 7
    assert report["columns"] == ["age", "diagnosis"]
    assert report["solution"].keys() == {"levels", "information_loss", "suppressed", "optimal", "lower_bound", "gap"}
    assert {"algorithm", "space", "checked", "seconds", "warm_up_seconds"} <= report["search"].keys()
    assert report["search"]["algorithm"] == "optimal"
    assert report["search"]["space"] == 3
    assert {"prosecutor", "journalist", "marketer"} <= report["risk"].keys()
    assert report["utility"].keys() == {
        "loss",
        "non-uniform-entropy",
        "precision",
        "discernibility",
        "average-class-size",
        "ambiguity",
        "kl-divergence",
        "height",
    }
    assert {"encode", "search", "transform", "verify"} <= report["timings"].keys()
    assert {"python", "airflow-anon", "numpy", "pyarrow"} <= report["versions"].keys()


def test_figures_by_hand():
    report = run(JOB, table=SEVEN).report
    assert report["solution"]["levels"] == {"age": 1}
    assert report["solution"]["suppressed"] == 1
    assert report["risk"] == {
        "prosecutor": 1 / 2,
        "journalist": 1 / 2,
        "marketer": 2 / 6,
        "threshold": 0.09,
        "prosecutor_records_at_risk": 1.0,
        "journalist_records_at_risk": 1.0,
        "sample_uniqueness": 0.0,
        "records_below_11": 6,
        "share_below_11": 1.0,
    }
    assert "population_rows" not in report
    assert "ranked_losses" not in report["solution"]
    assert report["classes"] == {
        "number": 2,
        "smallest": 2,
        "median": 3.0,
        "largest": 4,
        "distribution": [
            {"from": 2, "to": 3, "classes": 1, "records": 2},
            {"from": 4, "to": 7, "classes": 1, "records": 4},
        ],
    }
    assert [(model["model"], model["holds"], model["observed"]) for model in report["privacy"]] == [
        ("k-anonymity", True, 2.0),
        ("l-diversity", True, 2.0),
    ]
    assert [(model["required"], model["sense"], model["margin"]) for model in report["privacy"]] == [
        (2.0, "at-least", 0.0),
        (2.0, "at-least", 0.0),
    ]
    assert report["privacy_margin"] == 0.0
    assert report["privacy"][0]["k"] == 2
    assert report["privacy"][1]["attribute"] == "diagnosis"
    # 100 ages, 10 in an interval: kept 10/100 each, suppressed 1; (A - n/D) / (n - n/D)
    total = 6 * 0.1 + 1
    assert report["solution"]["information_loss"] == pytest.approx((total - 0.07) / (7 - 0.07))
    assert report["utility"]["loss"] == report["solution"]["information_loss"]
    # level 1 of 2, the suppressed record counts as level 2
    assert report["utility"]["precision"] == pytest.approx((6 * 0.5 + 1) / 7)


@pytest.mark.parametrize(
    ("sizes", "highest", "marketer", "at_risk", "unique"),
    [
        ([12], 1 / 12, 1 / 12, 0.0, 0.0),
        ([11], 1 / 11, 1 / 11, 1.0, 0.0),
        ([2, 4], 0.5, 2 / 6, 1.0, 0.0),
        ([1, 1, 18], 1.0, 0.15, 0.1, 0.1),
        ([], 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_risks_by_hand(sizes, highest, marketer, at_risk, unique):
    assert risks(np.array(sizes, np.int64)) == {
        "prosecutor": highest,
        "journalist": highest,
        "marketer": pytest.approx(marketer),
        "threshold": 0.09,
        "prosecutor_records_at_risk": at_risk,
        "journalist_records_at_risk": at_risk,
        "sample_uniqueness": unique,
        "records_below_11": sum(size for size in sizes if size < 11),
        "share_below_11": pytest.approx(sum(size for size in sizes if size < 11) / (sum(sizes) or 1)),
    }


PAIRS = st.lists(st.tuples(st.integers(1, 6) | st.integers(9, 12), st.integers(0, 9)), max_size=8)


@given(PAIRS, st.sampled_from([0.1, 0.2, 0.25, 0.34, 0.5, 1.0]))
def test_risks_record_by_record(pairs, threshold):
    # the population holds the kept records at least
    records = [(size, max(size, people)) for size, people in pairs for _ in range(size)]
    found = risks(*np.array(pairs, np.int64).reshape(-1, 2).T, threshold=threshold)
    if not records:
        assert set(found.values()) == {0.0, threshold}
        return
    one, limit = Fraction(1), Fraction(str(threshold))

    def among_records(tell):
        return pytest.approx(sum(map(tell, records)) / len(records))

    assert found == {
        "prosecutor": pytest.approx(max(1 / size for size, _ in records)),
        "journalist": pytest.approx(max(1 / people for _, people in records)),
        "marketer": among_records(lambda record: 1 / record[1]),
        "threshold": threshold,
        "prosecutor_records_at_risk": among_records(lambda record: one / record[0] >= limit),
        "journalist_records_at_risk": among_records(lambda record: one / record[1] >= limit),
        "sample_uniqueness": among_records(lambda record: record[0] == 1),
        "records_below_11": sum(record[0] < 11 for record in records),
        "share_below_11": among_records(lambda record: record[0] < 11),
        "population_uniqueness": among_records(lambda record: record[1] == 1),
    }


def with_people(folder, ages):
    pq.write_table(pa.table({"age": pa.array(ages, pa.int64())}), folder / "everybody.parquet")
    return str(folder / "everybody.parquet")


def test_figures_of_a_population_by_hand(tmp_path):
    # eight people of 20 to 29, three of 30 to 39, one of 71 and one whom no record of the table is like
    people = with_people(tmp_path, [21] * 8 + [33] * 3 + [71] + [45])
    report = run(
        {**JOB, "risk": {"population": people, "sampling_fraction": 0.5, "threshold": 0.2}}, table=SEVEN
    ).report
    assert (report["rows"], report["population_rows"]) == (7, 13)
    risk = report["risk"]
    assert (risk["prosecutor"], risk["journalist"]) == (1 / 2, 1 / 3)
    # 4 records of 8 people, 2 of 3, of 6 that are kept
    assert risk["marketer"] == pytest.approx((4 / 8 + 2 / 3) / 6)
    assert (risk["prosecutor_records_at_risk"], risk["journalist_records_at_risk"]) == (1.0, 2 / 6)
    assert (risk["sample_uniqueness"], risk["population_uniqueness"]) == (0.0, 0.0)
    assert risk["estimated_population_uniqueness"] == 0.0


def test_ranked_losses_are_those_of_the_attributes_and_the_largest_is_the_loss():
    table = SEVEN.append_column("zip", pa.array(["1", "1", "1", "1", "2", "2", "1"]))
    zip_ = {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 1}}
    job = {**JOB, "attributes": {**JOB["attributes"], "zip": zip_}, "utility": {"aggregate": "rank"}}
    report = run(job, table=table).report
    solution = report["solution"]
    alone = run(JOB, table=SEVEN).report["solution"]["information_loss"]
    # one of seven records is suppressed, else zips stand: 1 of 10 values each
    zips = (6 * 0.1 + 1 - 0.7) / (7 - 0.7)
    assert solution["ranked_losses"] == [pytest.approx(alone), pytest.approx(zips)]
    assert solution["information_loss"] == solution["lower_bound"] == solution["ranked_losses"][0]
    assert report["utility"]["loss"] == solution["information_loss"]
    json.dumps(report, allow_nan=False)


def test_no_path_of_this_machine_stands_in_it(tmp_path):
    people = with_people(tmp_path, [21] * 8 + [33] * 8 + [71])
    (tmp_path / "job.yaml").write_text(
        yaml.safe_dump(
            {
                **JOB,
                "privacy": [*JOB["privacy"], {"model": "k-map", "k": 3, "population": "everybody.parquet"}],
                "risk": {"population": "everybody.parquet"},
            }
        )
    )
    report = run(tmp_path / "job.yaml", table=SEVEN).report
    assert people.startswith(str(tmp_path))
    assert str(tmp_path) not in json.dumps(report)
    assert report["privacy"][2]["population"] == "everybody.parquet"
    assert (report["privacy"][2]["holds"], report["privacy"][2]["observed"]) == (True, 8)


@SLOW_START
@given(problems())
def test_everything_in_it_is_plain_and_finite(problem):
    with tempfile.TemporaryDirectory() as folder:
        try:
            report = run(build.job(problem, Path(folder)), table=build.table(problem)).report
        except NoSolution:
            assume(False)
    for leaf in leaves(report):
        assert type(leaf) in {str, int, float, bool, type(None)}
        assert not isinstance(leaf, float) or math.isfinite(leaf)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert 0 <= report["solution"]["lower_bound"] <= report["solution"]["information_loss"]
    assert all(entry["holds"] for entry in report["privacy"])


@SLOW_START
@given(problems())
def test_no_figure_is_of_a_group_smaller_than_the_job_allows(problem):
    with tempfile.TemporaryDirectory() as folder:
        job = build.job(problem, Path(folder))
        try:
            result = run(job, table=build.table(problem))
        except NoSolution:
            assume(False)
    report = result.report
    smallest = report["classes"]["smallest"]
    assert smallest is None or smallest >= job.minimum_class_size
    assert report["risk"]["prosecutor"] <= 1 / job.minimum_class_size
    bins = report["classes"]["distribution"]
    assert sum(entry["classes"] for entry in bins) == report["classes"]["number"]
    assert sum(entry["records"] for entry in bins) == result.table.num_rows
    assert all(entry["records"] == 0 or entry["records"] >= job.minimum_class_size for entry in bins)


def test_everything_suppressed():
    models = [{"model": "k-anonymity", "k": 50}]
    document = {**JOB, "privacy": models, "suppression_limit": 1.0, "allow_empty_information": True}
    result = run(document, table=SEVEN)
    assert result.report["solution"]["suppressed"] == 7
    assert result.report["solution"]["information_loss"] == pytest.approx(1.0)
    assert set(result.report["risk"].values()) == {0.0, result.report["risk"]["threshold"]}
    nothing = {"smallest": None, "median": None, "largest": None, "distribution": []}
    assert result.report["classes"] == {"number": 0, **nothing}
    found = [(model["holds"], model["observed"], model["margin"]) for model in result.report["privacy"]]
    assert found == [(True, None, None)]
    assert result.report["privacy_margin"] is None
    # seven are too few for a class of fifty
    assert result.table.num_rows == 0


def test_losses_that_are_infinite_are_null():
    """As where few records are suppressed, so that those of the file are measured, and it has none."""
    models = [{"model": "k-anonymity", "k": 50}]
    changes = {"suppression_limit": 1.0, "allow_empty_information": True}
    utility = {"measure": "precision", "aggregate": "rank"}
    result = run({**JOB, "privacy": models, "utility": utility, **changes}, table=SEVEN)
    assert set(result.report["solution"]["ranked_losses"]) == {1.0}
    assert set(result.published["solution"]["ranked_losses"]) == {None}
    json.dumps(result.published, allow_nan=False)


def test_everything_suppressed_and_dropped(tmp_path):
    output = {"path": str(tmp_path / "release"), "suppressed": "drop"}
    models = [{"model": "k-anonymity", "k": 50}]
    changes = {"suppression_limit": 1.0, "allow_empty_information": True, "output": output}
    result = run({**JOB, "privacy": models, **changes}, table=SEVEN)
    assert result.table.num_rows == 0
    assert result.table.column_names == ["age", "diagnosis"]


def test_one_record():
    one = people([21], ["u"])
    with pytest.raises(NoSolution, match="no transformation of the table satisfies 2-anonymity"):
        run(JOB, table=one)
    report = run({**JOB, "suppression_limit": 1.0}, table=one).report
    assert (report["rows"], report["solution"]["suppressed"]) == (1, 1)


def test_the_text_of_no_solution_says_what_to_change_and_holds_no_value():
    with pytest.raises(NoSolution) as problem:
        run(
            {**JOB, "suppression_limit": 0.0, "attributes": {**JOB["attributes"], "age": {**AGE, "maximum_level": 1}}},
            SEVEN,
        )
    text = str(problem.value)
    assert "2-anonymity, distinct 2-diversity of diagnosis" in text
    assert "at most 0% of its records" in text
    assert "allow higher maximum_level, a higher suppression_limit or a weaker model" in text
    assert "71" not in text


MANY = pa.table({"age": [str(age) for age in range(20, 60)], "diagnosis": ["u", "v"] * 20})
DIVERSE = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 3}


@pytest.mark.parametrize(
    ("age", "limit", "model", "changes"),
    [
        # no class has three values, so that no limit would keep a record
        ({"maximum_level": 1}, 0.5, DIVERSE, "; allow higher maximum_level or a weaker model"),
        ({"maximum_level": 2}, 0.5, DIVERSE, "; use a weaker model"),
        ({}, 0.0, DIVERSE, "; use a weaker model"),
        (
            {},
            0.0,
            {"model": "k-anonymity", "k": 41},
            "; the table has fewer records than the 41 that a class must have; ",
        ),
        ({"maximum_level": 1}, 0.5, {"model": "k-anonymity", "k": 40}, "; allow higher maximum_level or "),
    ],
)
def test_only_what_may_help_is_advised(age, limit, model, changes):
    job = {
        "name": "people",
        "attributes": {"age": {**AGE, **age}, "diagnosis": {"role": "sensitive"}},
        "privacy": [model],
        "suppression_limit": limit,
    }
    with pytest.raises(NoSolution) as problem:
        run(job, MANY)
    assert changes in str(problem.value)
    if model["model"] == "k-anonymity" and model["k"] > MANY.num_rows:
        assert str(MANY.num_rows) not in str(problem.value)
        assert "level" not in str(problem.value)


def test_a_weight_of_zero_takes_an_attribute_out_of_the_loss_and_not_out_of_the_privacy():
    table = SEVEN.append_column("zip", pa.array(["1", "2", "3", "4", "5", "6", "7"]))
    zip_ = {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 1}}
    attributes = {**JOB["attributes"], "zip": {**zip_, "weight": 0.0}}
    report = run({**JOB, "attributes": attributes}, table=table).report
    # every zip is another one, so it must go up however little that counts
    assert report["solution"]["levels"] == {"age": 1, "zip": 1}
    alone = run(JOB, table=SEVEN).report["solution"]
    assert report["solution"]["information_loss"] == pytest.approx(alone["information_loss"])


def test_a_hierarchy_of_one_level(tmp_path):
    (tmp_path / "age.csv").write_text("21\n22\n")
    age = {"role": "quasi-identifying", "hierarchy": str(tmp_path / "age.csv")}
    table = people([21, 21, 22, 22], ["u", "v", "u", "v"])
    report = run({**JOB, "attributes": {**JOB["attributes"], "age": age}}, table=table).report
    assert report["solution"]["information_loss"] == 0.0
    assert report["solution"]["levels"] == {"age": 0}
    assert report["search"]["space"] == 1


def test_warm_up_is_counted_once_and_outside_the_search():
    run(JOB, table=SEVEN)
    assert run(JOB, table=SEVEN).report["search"]["warm_up_seconds"] == 0.0
