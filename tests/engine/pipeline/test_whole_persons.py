"""Runs that leave out whole persons: a recount with pandas, figures of what attackers find, and verification."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import InvalidData, NoSolution, load_job, run, verify
from engine.hierarchy.builders.age import Age
from engine.hierarchy.builders.grouping import Grouping
from tests.engine import build
from tests.engine.person_problems import job_of, whole_person_problems
from tests.engine.pipeline.test_persons import KEY, WARDS, job, visits
from tests.profiles import examples

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(150))
SIZE = [{"model": "k-anonymity", "k": 5}]
ATTACKERS = ["all-rows", {"rows": 1}, {"rows": 2}, {"rows": 3}]


def cells_of(frame, levels):
    """Return the cells of the source by row of the hierarchies, and whose they are, with pandas."""
    ages = {row[0]: row for row in Age().rows(sorted(frame["age"].unique()))}
    wards = {row[0]: row for row in Grouping.model_validate(WARDS).rows(sorted(frame["ward"].unique()))}
    return pd.DataFrame(
        {
            "mrn": frame["mrn"],
            "age": [ages[age][levels["age"]] for age in frame["age"]],
            "ward": [wards[ward][levels["ward"]] for ward in frame["ward"]],
        }
    )


def pictures_of(cells):
    """Return the cells of each person as a sorted tuple."""
    pairs = list(zip(cells["age"], cells["ward"], strict=True))
    return pd.Series(pairs, index=cells.index).groupby(cells["mrn"]).agg(lambda found: tuple(sorted(found)))


def found_among(pictures, knows):
    """Return, for each person, how many have what is known of him or her."""
    if knows == "all-rows":
        return pictures.map(Counter(pictures))
    parts = {
        person: {part for n in range(1, knows["rows"] + 1) for part in itertools.combinations(picture, n)}
        for person, picture in pictures.items()
    }
    shared = Counter(part for own in parts.values() for part in own)
    return pd.Series({person: min(shared[part] for part in own) for person, own in parts.items()}, dtype=int)


def greatest(pictures, knows, k):
    """Take out who fails until nobody does."""
    while True:
        among = found_among(pictures, knows)
        if not len(among) or among.min() >= k:
            return pictures, among
        pictures = pictures[among >= k]


def few_wards(persons=300, seed=0):
    frame = visits(persons, seed)
    return frame[frame.groupby("mrn").cumcount() < 3]


@pytest.mark.parametrize("knows", ATTACKERS, ids=str)
@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_an_independent_recount_finds_nobody_below_k(knows, limit):
    frame = few_wards()
    result = run(job(privacy=SIZE, knows=knows, suppression_limit=limit), frame)
    report = result.report
    cells = cells_of(frame, report["solution"]["levels"])
    pictures, among = greatest(pictures_of(cells), knows, 5)
    assert among.min() >= 5
    kept = cells[cells["mrn"].isin(pictures.index)]
    counted = result.table.to_pandas().groupby(["age", "ward"]).size()
    assert counted.to_dict() == kept.groupby(["age", "ward"]).size().to_dict()
    assert report["suppressed_class"]["form"] in {"none", "drop"}
    assert report["released"] == len(kept)
    assert report["persons_suppressed_share"] == pytest.approx(1 - len(pictures) / 300)
    assert report["risk"]["prosecutor"] == 1 / among.min()
    assert report["risk"]["marketer"] == pytest.approx((1 / among).mean())
    assert report["privacy"][0]["observed"] == among.min()
    if knows == "all-rows":
        assert report["classes"]["smallest"] == among.min()
        assert report["classes"]["number"] == pictures.nunique()


@pytest.mark.parametrize("knows", ["any-row", *ATTACKERS], ids=str)
def test_each_of_two_sizes_is_judged_by_its_own(knows):
    frame = few_wards()
    report = run(
        job(privacy=[{"model": "k-anonymity", "k": 3}, *SIZE], knows=knows, suppression_limit=0.3), frame
    ).report
    assert [(entry["required"], entry["holds"]) for entry in report["privacy"]] == [(3, True), (5, True)]
    assert len({entry["observed"] for entry in report["privacy"]}) == 1


def test_who_knows_more_costs_more():
    frame = few_wards(600)
    losses = [
        run(job(privacy=SIZE, knows=knows, suppression_limit=0.1), frame).report["solution"]["information_loss"]
        for knows in ({"rows": 1}, {"rows": 2}, {"rows": 3}, "all-rows")
    ]
    assert losses == sorted(losses)


@SLOW_START
@given(problem=whole_person_problems())
def test_what_is_released_if_all_rows_are_known_is_verified(problem):
    assert_verified(problem, "all-rows")


@SLOW_START
@given(
    problem=st.one_of(whole_person_problems(models="k"), whole_person_problems(models="distinct values")),
    most=st.integers(1, 3),
)
def test_what_is_released_if_some_rows_are_known_is_verified(problem, most):
    assert_verified(problem, {"rows": most})


def assert_verified(problem, knows):
    with tempfile.TemporaryDirectory() as folder:
        this = job_of(problem, Path(folder), knows=knows)
        source = build.table(problem)
        try:
            result = run(this, source)
            released = result.table
        except NoSolution:
            return
        findings = verify(released, this, result.published, source=source)
        assert all(finding.holds for finding in findings), [str(f.message) for f in findings if not f.holds]


@pytest.mark.parametrize("knows", ["all-rows", {"rows": 2}], ids=str)
def test_a_release_for_who_knows_one_row_is_none_for_who_knows_more(knows):
    frame = few_wards()
    size = {"privacy": SIZE, "suppression_limit": 0.1}
    result = run(job(**size), frame)
    findings = verify(result.table, job(**size, knows=knows), result.published, source=frame)
    assert "persons" in {finding.check for finding in findings if not finding.holds}


@pytest.mark.parametrize("knows", ["all-rows", {"rows": 2}], ids=str)
def test_a_person_whose_rows_are_another_s_is_found(knows):
    """With other persons in the source, the release has records of somebody who is not to be in it."""
    frame = few_wards()
    this = job(privacy=SIZE, knows=knows, suppression_limit=0.3)
    result = run(this, frame)
    changed = frame.copy()
    changed.loc[changed["mrn"].isin([f"M{n}" for n in range(40)]), "mrn"] = "M0"
    findings = verify(result.table, this, result.published, source=changed)
    assert "persons" in {finding.check for finding in findings if not finding.holds}


@pytest.mark.parametrize("knows", ATTACKERS, ids=str)
def test_further_rows_may_be_left_out_before(knows):
    this = job(privacy=SIZE, knows=knows, max_rows=2, suppression_limit=0.3)
    frame = visits()
    result = run(this, frame, rows_key=KEY)
    assert result.report["further_rows"]["left_out"] > 0
    assert all(finding.holds for finding in verify(result.table, this, result.published, frame, KEY))


def test_the_form_of_suppressed_persons_is_not_chosen():
    frame = few_wards()
    result = run(job(privacy=SIZE, knows="all-rows", suppression_limit=0.3), frame)
    assert result.report["suppressed_class"]["form"] == "drop"
    assert any("persons are left out" in text for text in result.report["warnings"])


@pytest.mark.parametrize("stated", ["any-row", {"rows": 2}, None], ids=str)
def test_a_report_that_assumes_another_attacker_is_found(stated):
    frame = few_wards()
    this = job(privacy=SIZE, knows="all-rows", suppression_limit=0.3)
    result = run(this, frame)
    other = {**result.published, "knows": stated}
    if stated is None:
        del other["knows"]
    findings = {finding.check: finding for finding in verify(result.table, this, other, frame)}
    assert "another attacker" in str(findings["persons"].message)
    assert not findings["persons"].holds


def test_reports_of_earlier_versions_are_of_any_row():
    frame = visits()
    result = run(job(), frame)
    assert result.report["knows"] == "any-row"
    earlier = {key: part for key, part in result.published.items() if key != "knows"}
    assert all(finding.holds for finding in verify(result.table, job(), earlier, frame))


def test_a_release_folder_is_verified(tmp_path):
    frame = few_wards()
    result = run(job(privacy=SIZE, knows={"rows": 2}, suppression_limit=0.3), frame, output=tmp_path / "release")
    assert "knows:\n  rows: 2" in (tmp_path / "release" / "job.yaml").read_text()
    assert result.table.num_rows == result.report["released"]


def test_models_of_sensitive_values_judge_groups_of_equal_pictures():
    """Four persons with one picture, all with one diagnosis: as a group they fail, in their classes they do not."""
    rows = [[f"A{n}", "30", ward, "a"] for n in range(4) for ward in ("0", "2")]
    rows += [[f"B{n}", "30", "0", "abcd"[n % 4]] for n in range(8)] + [
        [f"C{n}", "30", "2", "abcd"[n % 4]] for n in range(8)
    ]
    frame = pd.DataFrame(rows, columns=["mrn", "age", "ward", "diagnosis"])
    diverse = {"model": "l-diversity", "variant": "distinct", "attribute": "diagnosis", "l": 2}
    size = {"model": "k-anonymity", "k": 4}
    of_rows = run(job(privacy=[size, diverse], suppression_limit=0.4), frame)
    assert of_rows.report["solution"]["suppressed"] == 0
    of_persons = run(job(privacy=[size, diverse], suppression_limit=0.4, knows="all-rows"), frame)
    assert of_persons.report["solution"]["suppressed"] == 8
    assert of_persons.report["persons_suppressed_share"] == 4 / 20
    assert of_persons.report["privacy"][1]["observed"] == 4.0


@pytest.mark.parametrize("limit", [0.2, 0.9])
def test_values_in_the_other_rows_of_a_person_count_if_some_rows_are_known(limit):
    """Both persons of ward 1 have the same diagnosis there, and the second one another in ward 2: C alone goes."""
    rows = [("A", "1", "flu"), ("B", "1", "flu"), ("A", "2", "flu"), ("B", "2", "cold"), ("C", "3", "cold")]
    document = {
        "name": "wards",
        "attributes": {
            "mrn": {"role": "identifying"},
            "ward": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "diagnosis": {"role": "sensitive"},
        },
        "subject": "mrn",
        "knows": {"rows": 1},
        "privacy": [
            {"model": "k-anonymity", "k": 2},
            {"model": "l-diversity", "variant": "distinct", "l": 2, "attribute": "diagnosis"},
        ],
        "suppression_limit": limit,
    }
    result = run(load_job(document), table=pd.DataFrame(rows, columns=["mrn", "ward", "diagnosis"]))
    released = result.table.to_pandas()
    assert sorted(zip(released["ward"], released["diagnosis"], strict=True)) == sorted(row[1:] for row in rows[:4])
    assert all(finding.holds for finding in result.findings)


def test_nobody_is_left_if_no_two_persons_are_alike():
    frame = pd.concat([visits(1).iloc[:1].assign(mrn=f"M{n}") for n in range(8) for _ in range(n + 1)])
    with pytest.raises(NoSolution, match="5-anonymity, counted in persons"):
        run(job(privacy=SIZE, knows="all-rows", suppression_limit=0.5), frame)


@pytest.mark.parametrize("knows", ["all-rows", {"rows": 3}], ids=str)
def test_a_person_of_100_000_records(knows):
    """If all rows are known their number tells the person; of three of them others have as many in the same cell."""
    frame = few_wards()
    many = pd.DataFrame([["M999", "44", "0", "a"]] * 100_000, columns=list(frame.columns))
    lone = {"privacy": SIZE, "knows": knows, "suppression_limit": 0.9995}
    result = run(job(**lone), pd.concat([frame, many]))
    assert (result.report["released"] <= len(frame)) is (knows == "all-rows")
    assert all(finding.holds for finding in result.findings)


def test_too_many_combinations_are_refused():
    rows = pd.DataFrame(
        {"mrn": "M0", "age": [str(n % 90) for n in range(1000)], "ward": np.arange(1000) % 4, "diagnosis": "a"}
    )
    frame = pd.concat([visits(20), rows.astype(str)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.job.problem.MOST_PARTS", 10_000)
        with pytest.raises(InvalidData, match="set max_rows"):
            run(job(privacy=SIZE, knows={"rows": 2}), frame)
        run(job(privacy=SIZE, knows={"rows": 2}, max_rows=5, suppression_limit=0.5), frame)


def test_kullback_leibler_divergence_has_no_figure():
    utility = run(job(privacy=SIZE, knows="all-rows", suppression_limit=0.3), few_wards()).report["utility"]
    assert utility["kl-divergence"] is None
    assert all(value is not None for name, value in utility.items() if name != "kl-divergence")


def test_a_value_without_an_entry_counts_where_the_root_is_a_leaf():
    """Its leaf has no label of its own at level 0, so the leaves are more than the labels."""
    frame = pd.DataFrame({"mrn": [f"M{n}" for n in range(12)], "age": ["30"] * 12, "ward": list("0a12") * 3})
    frame["diagnosis"] = "a"
    ward = {"role": "quasi-identifying", "unseen": "root"}
    ward["hierarchy"] = {"builder": "grouping", "groups": [{"0": ["0", "1", "2"]}]}
    attributes = {**job().document()["attributes"], "ward": ward}
    result = run(job(privacy=SIZE, attributes=attributes, suppression_limit=1.0), frame)
    assert result.report["persons"] == 12
