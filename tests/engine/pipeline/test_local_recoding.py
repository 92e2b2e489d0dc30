"""A release by local recoding: its report, codebook, README and verification, and what a changed one is refused for."""

from __future__ import annotations

import copy
import json
import math

import pyarrow as pa
import pytest

from engine import load_job, run, verify
from engine.pipeline.summary import summary

ROWS = [("31", "0001")] * 7 + [("32", "0001")] * 3 + [("57", "0001")] * 6 + [("58", "0222")] * 4


@pytest.fixture
def job():
    return {
        "name": "ages",
        "transformation": "local-recoding",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}},
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 4}},
        },
        "privacy": [{"model": "k-anonymity", "k": 5}],
    }


@pytest.fixture
def table():
    return pa.table({"age": [age for age, _ in ROWS], "zip": [code for _, code in ROWS]})


def test_a_column_has_values_beside_labels(job, table):
    found = run(job, table).table.to_pandas().value_counts().to_dict()
    assert found == {("31", "0001"): 5, ("[30, 40[", "0001"): 5, ("57", "0001"): 5, ("[50, 60[", "0***"): 5}


def test_the_report_tells_shares_instead_of_levels(job, table):
    solution = run(job, table).report["solution"]
    assert solution["levels"] is None
    assert solution["shares"] == {"age": [0.5, 0.5, 0.0], "zip": [0.75, 0.0, 0.0, 0.25, 0.0]}


def test_measures_of_whole_attributes_have_no_figure(job, table):
    utility = run(job, table).report["utility"]
    undefined = {name for name, figure in utility.items() if figure is None}
    assert undefined == {"non-uniform-entropy", "ambiguity", "kl-divergence", "height"}


def test_the_folder_says_that_labels_of_several_levels_stand_side_by_side(job, table, tmp_path):
    result = run(job, table, tmp_path / "release")
    described = json.loads((tmp_path / "release" / "codebook.json").read_text())
    age = described["columns"][0]
    assert age["what"] == "mixed"
    assert "level" not in age
    assert [one["label"] for one in age["labels"]] == ["[30, 40[", "31", "[50, 60[", "57"]
    assert "overlap" in (tmp_path / "release" / "README.md").read_text()
    assert "age 50.0%" in summary(result.published, tmp_path)


def test_the_summary_says_what_a_better_recoding_could_save(job, table):
    result = run({**job, "recoding": {"bound_passes": 1}}, table)
    solution = result.published["solution"]
    said = summary(result.published, None)
    assert 0 < solution["gap"] < 1
    assert f"lower bound {solution['lower_bound']:g}; at most {math.ceil(100 * solution['gap'])}% of it" in said


def test_a_bound_has_few_digits_since_it_is_counted_in_the_source(job, table, tmp_path):
    """The loss of a hierarchy in a file is recounted from the release, its bound is not."""
    (tmp_path / "ages.csv").write_text("".join(f"{age};{age // 10}x;*\n" for age in range(30, 61)))
    job["attributes"]["age"]["hierarchy"] = str(tmp_path / "ages.csv")
    job["attributes"]["zip"] = {"role": "identifying"}
    job |= {"recoding": {"bound_gap": 0}, "unit": "record"}
    ages = [str(30 + number * number % 31) for number in range(60)]
    result = run(job, pa.table({"age": ages, "zip": ["1"] * 60}))
    exact, told = result.report["solution"], result.published["solution"]
    assert told["information_loss"] == exact["information_loss"]
    assert told["lower_bound"] == float(f"{told['lower_bound']:.1g}") < exact["lower_bound"]
    assert told["gap"] == pytest.approx(1 - told["lower_bound"] / told["information_loss"])


def changed(report, **solution):
    report = copy.deepcopy(report)
    report["solution"] = {**report["solution"], **solution}
    return report


def failed(findings):
    return [finding.check for finding in findings if not finding.holds]


def test_verification_accepts_no_levels_of_it_and_no_shares_of_others(job, table):
    result = run(job, table)
    levels = {"age": 1, "zip": 4}
    assert not failed(verify(result.table, load_job(job), result.report))
    assert failed(verify(result.table, load_job(job), changed(result.report, levels=levels))) == ["report"]
    assert failed(verify(result.table, load_job(job), changed(result.report, shares={"age": [1.0]}))) == ["report"]
    full = load_job({**job, "transformation": "full-domain"})
    assert failed(verify(result.table, full, result.report)) == ["report"]


def test_a_label_of_no_level_allowed_is_refused(job, table):
    result = run(job, table)
    job["attributes"]["age"]["minimum_level"] = 1
    assert "labels" in failed(verify(result.table, load_job(job), result.report))


def test_lowest_and_highest_levels_hold_for_each_record(job, table, tmp_path):
    job["attributes"]["age"] |= {"minimum_level": 1, "maximum_level": 1}
    result = run(job, table, tmp_path / "release")
    assert result.report["solution"]["shares"]["age"] == [0.0, 1.0, 0.0]
    age = json.loads((tmp_path / "release" / "codebook.json").read_text())["columns"][0]
    assert (age["what"], age["lowest"], age["highest"]) == ("mixed", 1, 1)
    assert "| labels of levels 1 to 1, each record with its own level |" in (tmp_path / "release/README.md").read_text()
