"""Newcomers with levels of their own: nobody is in a trace below k, nobody waits, and all keep their levels.

Expected is what the oracle counts in the released files alone, whose labels are of several nights' levels.
"""

from __future__ import annotations

import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidJob, NoSolution, run, series_evidence, verify
from engine.series.remembered import Cohorts
from tests.engine.series.nights import in_file, job, table
from tests.engine.series.test_nights import MEMORY, nights_of
from tests.profiles import examples
from tests.reference import traces

CLOSE = {"model": "t-closeness", "distance": "equal", "t": 0.5, "attribute": "diagnosis"}


def batch(folder, k=3, diversity=None, **changes):
    return job(
        folder, k, diversity, MEMORY, **{**changes, "series": {"arrivals": "batch", **changes.get("series", {})}}
    )


def two_wards():
    """Give twelve people of ward 0 and twelve of ward 2."""
    return {number: (30, 2 * (number // 12), "abcd"[number % 4]) for number in range(24)}


@settings(max_examples=examples(80))
@given(
    nights=nights_of(),
    k=st.integers(2, 4),
    diversity=st.sampled_from([None, 2]),
    departures=st.sampled_from(["cover", "keep"]),
    limit=st.sampled_from([0, 0.3]),
)
def test_nobody_is_in_a_trace_below_k_and_all_keep_their_levels(nights, k, diversity, departures, limit):
    with tempfile.TemporaryDirectory() as name:
        folder, seen, sources = Path(name), [], []
        one = batch(folder, k, diversity, series={"departures": departures}, suppression_limit=limit)
        for people in nights:
            try:
                result = run(one, table=table(people))
            except NoSolution:
                continue
            before = seen[-1] if seen else {}
            seen.append(in_file(result.table))
            sources.append(people)
            told = result.report["series"]
            assert told["smallest_trace"] == traces.smallest(seen[-MEMORY:]) >= k
            assert diversity is None or traces.fewest_values(seen[-MEMORY:]) >= diversity
            assert diversity is None or traces.fewest_values(seen[-1:]) >= diversity
            assert all(finding.holds for finding in result.findings)
            assert result.report["solution"]["levels"] is None
            for who, (cell, _) in seen[-1].items():
                if who in before and sources[-2].get(int(who), ())[:2] == sources[-1].get(int(who), ())[:2]:
                    assert cell == before[who][0]
            assert told["held_back_share"] == 0 or newcomers_fail(seen, sources, k, diversity)


def newcomers_fail(seen, sources, k, diversity):
    """Tell whether those who wait, all as one class, fail."""
    remembered = {who for night in seen[-MEMORY:-1] for who in night}
    new = [one for number, one in sources[-1].items() if str(number) not in remembered]
    return len(new) < k or (diversity is not None and len({value for *_, value in new}) < diversity)


@settings(max_examples=examples(20))
@given(nights=nights_of())
def test_arrivals_are_as_promised_where_departures_are_only_reported(nights):
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        for people in nights:
            try:
                result = run(batch(folder, series={"departures": "report"}), table=table(people))
            except NoSolution:
                continue
            before = {who for night in seen[-MEMORY + 1 :] for who in night}
            seen.append(in_file(result.table))
            assert all(finding.holds for finding in result.findings)
            assert traces.smallest(seen[-1:]) >= 3
            new = [{who: one for who, one in seen[-1].items() if who not in before}]
            assert not new[0] or traces.smallest(new) >= 3


def test_newcomers_do_not_wait_and_have_coarser_labels(tmp_path):
    people = two_wards()
    first = run(batch(tmp_path, suppression_limit=0), table=table(people))
    assert {cell[1] for cell, _ in in_file(first.table).values()} == {"0", "2"}
    people |= {100: (31, 0, "a"), 101: (32, 1, "b"), 102: (30, 3, "c")}
    second = run(batch(tmp_path, suppression_limit=0), table=table(people))
    shown = in_file(second.table)
    assert len(shown) == 27
    assert {shown[str(number)][0][1] for number in (100, 101, 102)} == {"any"}
    assert {cell[1] for who, (cell, _) in shown.items() if int(who) < 100} == {"0", "2"}
    report = second.report
    assert (report["series"]["held_back_share"], report["series"]["cohorts"]) == (0, {"levels": 2})
    assert report["solution"]["shares"]["ward"] == pytest.approx([24 / 27, 0, 3 / 27, 0])
    assert "levels_changed" not in report["series"]


def test_newcomers_who_fail_as_one_class_wait(tmp_path):
    people = two_wards()
    run(batch(tmp_path), table=table(people))
    people |= {100: (31, 0, "a"), 101: (31, 0, "b")}
    told = run(batch(tmp_path, suppression_limit=0), table=table(people))
    assert (told.report["released"], told.report["series"]["held_back_share"]) == (24, pytest.approx(2 / 26))
    people |= {102: (31, 0, "c")}
    assert run(batch(tmp_path), table=table(people)).report["released"] == 27


def test_cohorts_with_equal_labels_are_one_class_of_the_file(tmp_path):
    """Three newcomers at levels of the others: a class of 15, and of two of them who leave one trace below k."""
    people = two_wards()
    run(batch(tmp_path, suppression_limit=0), table=table(people))
    people |= {100: (30, 0, "a"), 101: (30, 0, "b"), 102: (30, 0, "c")}
    second = run(batch(tmp_path, suppression_limit=0), table=table(people))
    assert sorted(second.report["classes"][key] for key in ("smallest", "largest")) == [12, 15]
    people.pop(100)
    third = run(batch(tmp_path, suppression_limit=0), table=table(people))
    assert third.report["released"] == 24, "the two who arrived with who left cover"
    assert not {"101", "102"} & set(in_file(third.table))


def test_who_moves_does_so_at_his_or_her_own_levels(tmp_path):
    people = two_wards()
    run(batch(tmp_path, suppression_limit=0), table=table(people))
    for number in range(4):
        people[number] = (people[number][0], 2, people[number][2])
    shown = in_file(run(batch(tmp_path, suppression_limit=0), table=table(people)).table)
    assert {shown[str(number)][0][1] for number in range(4)} == {"2"}
    people[5] = (people[5][0], 2, people[5][2])
    third = in_file(run(batch(tmp_path, suppression_limit=0), table=table(people)).table)
    assert "5" not in third, "one who moves alone covers him- or herself, and others with him or her"
    assert len(third) == 21


def test_a_series_goes_over_to_cohorts_and_back(tmp_path):
    people = two_wards()
    run(job(tmp_path, memory=MEMORY), table=table(people))
    assert run(batch(tmp_path), table=table(people)).report["series"]["cohorts"] == {"levels": 1}
    stays = {"stability": {"keep_levels": True}}
    back = run(job(tmp_path, memory=MEMORY, **stays), table=table(people)).report["series"]
    assert (back["releases"], back["levels_changed"], "stability" in back) == (3, {}, False)


def test_levels_that_the_job_does_not_allow_any_more_become_the_nearest(tmp_path):
    people = two_wards()
    run(batch(tmp_path), table=table(people))
    document = batch(tmp_path).document()
    document["attributes"]["ward"]["minimum_level"] = 1
    result = run(document, table=table(people))
    assert {cell[1] for cell, _ in in_file(result.table).values()} == {"low", "high"}


def test_a_vault_that_says_other_levels_is_found(tmp_path):
    people = two_wards()
    one = batch(tmp_path)
    run(one, table=table(people))
    people |= {100: (31, 0, "a"), 101: (32, 1, "b"), 102: (30, 3, "c")}
    result = run(one, table=table(people))
    evidence = series_evidence(one, result.report)

    def held(**changed):
        tonight = replace(evidence.releases[-1], **changed)
        other = replace(evidence, releases=[*evidence.releases[:-1], tonight])
        found = verify(result.table, one, result.report, table(people), series=other)
        return {finding.check for finding in found if not finding.holds}

    cohorts = evidence.releases[-1].cohorts
    assert held() == set()
    assert "series" in held(cohorts=Cohorts(cohorts.of_person, cohorts.levels[::-1]))
    assert "series" in held(cohorts=None)
    beyond = [{**levels, "ward": 9} for levels in cohorts.levels]
    assert "series" in held(cohorts=Cohorts(cohorts.of_person, beyond))
    assert "series" in held(cohorts=Cohorts(cohorts.of_person[:5], cohorts.levels))


def test_the_vault_has_no_value_and_no_label(tmp_path):
    run(batch(tmp_path), table=table(two_wards()))
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        (facts,) = connection.execute("SELECT facts FROM series_release").fetchone()
    assert '"cohorts": [{"age": ' in facts
    assert "any" not in facts


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"stability": {"keep_levels": True}}, "stability"),
        ({"utility": {"measure": "discernibility"}}, "discernibility"),
        ({"privacy": [{"model": "k-anonymity", "k": 3}, CLOSE]}, "t-closeness"),
        ({"suppress": "small-classes"}, "small-classes"),
        ({"churn": {"arrivals": 0.01, "departures": 0.01}}, "batch"),
    ],
)
def test_what_does_not_go_with_cohorts_is_refused_by_name(tmp_path, changes, named):
    with pytest.raises(InvalidJob, match=named):
        batch(tmp_path, **changes)
