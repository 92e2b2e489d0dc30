"""The rule that chooses a policy: against the frontier searched through one by one, and in a run."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import InvalidData, InvalidJob, NoSolution, load_job, run, verify
from engine.frontiers.compare.rule import Candidate, Reference, eligible
from tests.engine.frontiers.small_job import KEYS, ROWS, job_of, people_of, table_of, written
from tests.reference.policy_documents import regrouped

RECORDS = people_of(60)
FIGURE = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5])
CANDIDATE = st.builds(Candidate, FIGURE, FIGURE, st.lists(st.booleans(), min_size=3, max_size=3).map(np.array))


@given(st.lists(CANDIDATE, max_size=8), st.none() | FIGURE, st.none() | st.builds(Reference, FIGURE, FIGURE))
def test_what_meets_a_rule_comes_in_the_order_of_preference(candidates, maximum_risk, dominated):
    found = eligible(candidates, maximum_risk, dominated)
    expected = []
    for risk, loss, bits in candidates:
        if maximum_risk is not None and risk > maximum_risk:
            continue
        if dominated is not None and (
            risk > dominated.risk or loss > dominated.utility_loss or (risk, loss) == tuple(dominated)
        ):
            continue
        expected.append((loss, risk, bits.tolist()))
    assert [(one.utility_loss, one.risk, one.bits.tolist()) for one in found] == sorted(expected)


def failed(findings):
    return sorted({finding.check for finding in findings if not finding.holds})


def told(policy):
    """Return a policy as a release by it has it, where all hierarchies have values of their own."""
    return {
        name: [{"value": None}, *(one for one in groups if one != {"value": None})] if groups[1:] else [{"node": "*"}]
        for name, groups in policy.items()
    }


def best(report, rule, *, at=None):
    """Look through the entries of a frontier; `at` are their figures if they are not those of the report."""
    figures = at or [(entry["risk"], entry["utility_loss"]) for entry in report["frontier"]]
    other = (report["safe_harbor"]["risk"], report["safe_harbor"]["utility_loss"])
    met = []
    for policy, (risk, loss) in zip(engine.frontier_policies(report), figures, strict=True):
        dominates = risk <= other[0] and loss <= other[1] and (risk, loss) != other
        if risk <= rule.get("maximum_risk", 1) and (dominates or "dominates" not in rule):
            met.append((loss, risk, policy))
    return min(met, key=lambda one: one[:2])


@pytest.mark.parametrize(
    "rule",
    [{"maximum_risk": 0.2}, {"dominates": "safe-harbor"}, {"dominates": "safe-harbor", "maximum_risk": 0.3}],
)
def test_a_run_releases_the_best_policy_that_meets_the_rule(tmp_path, rule):
    frontier = engine.frontier(job_of(tmp_path), table_of(RECORDS))
    loss, risk, policy = best(frontier.report, rule)
    document = job_of(tmp_path, choose={"from": "frontier", **rule})
    result = run(document, table_of(RECORDS), output=tmp_path / "release")
    assert result.report["policy"] == told(policy)
    choice = result.report["choice"]
    assert (choice["risk"], choice["utility_loss"]) == pytest.approx((risk, loss))
    assert choice["rule"] == {"from": "frontier", **rule}
    assert choice["policies"] == len(frontier.report["frontier"])
    cells = regrouped(RECORDS, policy, ROWS, KEYS)
    released = list(zip(*(result.table[name].to_pylist() for name in ROWS), strict=True))
    assert sorted(Counter(cells).values()) == sorted(Counter(released).values())
    assert failed(verify(result.table, load_job(document), result.report)) == []
    # it names files without their folders: those of the job are there
    again = shutil.copy(tmp_path / "release" / "job.yaml", tmp_path / "again.yaml")
    assert failed(verify(result.table, load_job(again), result.report)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"risk": 0.01},
        {"risk": None},
        {"rule": {"from": "frontier", "maximum_risk": 0.01}},
        {"rule": {"from": "frontier", "maximum_risk": "low"}},
        {"rule": {"from": "frontier", "dominates": "safe-harbor"}, "safe_harbor": None},
        {"rule": {"from": "frontier", "maximum_risk": 0.2, "certified_by": "nobody"}},
        {"rule": {"maximum_risk": 0.2}},
        {"rule": {}},
        {"rule": None},
    ],
)
def test_a_choice_that_is_not_of_the_release_is_found(tmp_path, change):
    """By the rule of the job, and by the job of the release, which has the policy alone."""
    document = job_of(tmp_path, choose={"from": "frontier", "maximum_risk": 0.2})
    result = run(document, table_of(RECORDS), output=tmp_path / "release")
    by_policy = load_job(shutil.copy(tmp_path / "release" / "job.yaml", tmp_path / "again.yaml"))
    report = {**result.report, "choice": {**result.report["choice"], **change}}
    for job in (load_job(document), by_policy):
        assert failed(verify(result.table, job, result.report)) == []
        assert failed(verify(result.table, job, report)) == ["choice"]


def test_a_choice_and_another_policy_are_found_where_the_policy_is_that_of_a_file(tmp_path):
    """No rule chose it."""
    chosen = run(job_of(tmp_path, choose={"from": "frontier", "maximum_risk": 0.2}), table_of(RECORDS)).report
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump({"policy": chosen["policy"]}))
    job = load_job(job_of(tmp_path, search={"algorithm": "policy", "file": str(policy)}))
    result = run(job, table_of(RECORDS))
    assert failed(verify(result.table, job, result.report)) == []
    assert failed(verify(result.table, job, {**result.report, "choice": chosen["choice"]})) == ["report"]
    other = {name: [*groups, {"value": "other"}] for name, groups in chosen["policy"].items()}
    assert failed(verify(result.table, job, {**result.report, "policy": other})) == ["report"]


@pytest.mark.parametrize("rule", [{"maximum_risk": 0.2}, {"dominates": "safe-harbor"}, {"maximum_risk": 0.0}])
def test_the_policy_in_use_is_the_one_that_the_rule_chooses(tmp_path, rule):
    """The frontier of a job with a rule marks what a run of it releases; nothing if no policy meets the rule."""
    document = job_of(tmp_path, choose={"from": "frontier", **rule})
    report = engine.frontier(document, table_of(RECORDS)).report
    if rule == {"maximum_risk": 0.0}:
        assert report["current"] is None
        return
    released = run(document, table_of(RECORDS)).report
    current = report["current"]
    assert told(current["policy"]) == released["policy"]
    assert (current["risk"], current["utility_loss"]) == (
        released["choice"]["risk"],
        released["choice"]["utility_loss"],
    )
    assert engine.frontier_policies(report)[current["number"] - 1] == current["policy"]
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps(report))
    from_report = job_of(tmp_path, choose={"from": str(path), **rule})
    assert engine.frontier(from_report, table_of(RECORDS)).report["current"] is None


def test_a_report_of_an_earlier_frontier_is_measured_anew(tmp_path):
    last_night = people_of(60, seed=9)
    frontier = engine.frontier(job_of(tmp_path), table_of(last_night))
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps(frontier.report))
    policies = engine.frontier_policies(frontier.report)
    tonight = [len(set(regrouped(RECORDS, policy, ROWS, KEYS))) / len(RECORDS) for policy in policies]
    rule = {"maximum_risk": sorted(tonight)[len(tonight) // 2]}
    document = job_of(tmp_path, choose={"from": str(path), **rule})
    result = run(document, table_of(RECORDS))
    choice = result.report["choice"]
    assert choice["risk"] == pytest.approx(tonight[[told(one) for one in policies].index(result.report["policy"])])
    assert choice["met"] == sum(risk <= rule["maximum_risk"] for risk in tonight)
    assert failed(verify(result.table, load_job(document), result.report)) == []


LINE = {"attribute": "age", "ordered": True, "values": ["30", "31"], "names": []}
REPORTS = {
    "no json": "{",
    "no object": "[]",
    "no report": "{}",
    "no policy": '{"frontier": [{"policy": 1}]}',
    "no bits": json.dumps({"domains": [LINE], "frontier": [{"risk": 1}]}),
    "too many bits": json.dumps({"domains": [LINE], "frontier": [{"bits": "8000"}]}),
    "bits without digits": json.dumps({"domains": [LINE], "frontier": [{"bits": "xy"}]}),
    "bits of another kind": json.dumps({"domains": [LINE], "frontier": [{"bits": 3}]}),
    "domains of another kind": json.dumps({"domains": 3, "frontier": [{"bits": "80"}]}),
    "a domain without values": json.dumps({"domains": [{**LINE, "values": []}], "frontier": [{"bits": "80"}]}),
    "a tree out of itself": json.dumps(
        {
            "domains": [{**LINE, "ordered": False, "names": ["*"], "parents": [7], "separators": [0]}],
            "frontier": [{"bits": "80"}],
        }
    ),
}


@pytest.mark.parametrize("case", [*REPORTS, "nowhere"])
def test_a_report_that_is_none_is_refused(tmp_path, case):
    path = tmp_path / "frontier.json"
    if case in REPORTS:
        path.write_text(REPORTS[case])
    with pytest.raises(InvalidJob, match=r"choose\.from: report frontier\.json"):
        run(job_of(tmp_path, choose={"from": str(path), "maximum_risk": 0.1}), table_of(RECORDS))


def test_policies_of_a_report_that_do_not_fit_tonight_are_left_out(tmp_path):
    whole = [{"node": "*"}]
    policies = [
        {"age": [{"from": "30", "to": "60"}], "place": whole},
        {"age": [{"from": "30", "to": "95"}], "place": [{"node": "c"}]},
        {"age": [{"from": "30", "to": "95"}], "place": whole},
    ]
    path = tmp_path / "frontier.json"
    path.write_text(json.dumps({"frontier": [{"policy": policy} for policy in policies]}))
    rule = {"from": str(path), "maximum_risk": 1.0}
    document = job_of(tmp_path, transformation="policy", choose=rule, allow_empty_information=True)
    result = run(document, table_of(RECORDS))
    assert (result.report["policy"], result.report["choice"]["policies"]) == (told(policies[2]), 1)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"choose": {"from": "frontier", "maximum_risk": 0.001}},
            "none of up to .* policies have a risk of at most 0.001",
        ),
        (
            {
                "choose": {"from": "frontier", "maximum_risk": 1.0},
                "attributes": {"minimum_level": 1, "maximum_level": 0},
            },
            "maximum_level 0 is below",
        ),
    ],
)
def test_nothing_is_released_where_no_policy_meets_the_rule(tmp_path, changes, text):
    entry = changes.get("attributes", {})
    document = job_of(tmp_path, choose=changes["choose"])
    document["attributes"]["age"] |= entry
    with pytest.raises(InvalidJob if entry else NoSolution, match=text):
        run(document, table_of(RECORDS), output=tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_policy_that_the_job_s_levels_forbid_is_not_chosen(tmp_path):
    rule = {"from": "frontier", "maximum_risk": 1.0}
    document = job_of(tmp_path, choose=rule)
    assert len(run(document, table_of(RECORDS)).report["policy"]["place"]) == 1 + len(ROWS["place"])
    document["attributes"]["place"]["minimum_level"] = 1
    result = run(document, table_of(RECORDS))
    assert result.report["choice"]["met"] == result.report["choice"]["policies"]
    possible = [{"value": None}, {"node": "a"}, {"node": "b"}, {"node": "*"}]
    assert all(group in possible for group in result.report["policy"]["place"])
    assert failed(verify(result.table, load_job(document), result.report)) == []


def test_safe_harbor_must_be_known_to_be_dominated(tmp_path):
    rule = {"from": "frontier", "dominates": "safe-harbor"}
    document = job_of(tmp_path, choose=rule, frontier={"safe_harbor": False})
    with pytest.raises(InvalidJob, match=r"choose\.dominates: names safe-harbor, and frontier\.safe_harbor is false"):
        run(document, table_of(RECORDS))


def test_the_risk_is_that_in_the_population(tmp_path):
    people = RECORDS + people_of(900, seed=3)
    rule = {"from": "frontier", "maximum_risk": 0.05}
    alone = run(job_of(tmp_path, choose=rule), table_of(RECORDS)).report
    beside = job_of(tmp_path, choose=rule, frontier={"population": written(tmp_path, people)})
    result = run(beside, table_of(RECORDS))
    assert result.report["choice"]["utility_loss"] < alone["choice"]["utility_loss"]
    assert result.report["risk"]["marketer"] == pytest.approx(result.report["choice"]["risk"])
    assert failed(verify(result.table, load_job(beside), result.report)) == []


def test_rows_of_a_population_may_stand_for_several_persons(tmp_path):
    people = RECORDS + people_of(900, seed=3)
    counts = Counter(people)
    rule = {"from": "frontier", "maximum_risk": 0.05}
    by_person = job_of(tmp_path, choose=rule, frontier={"population": written(tmp_path, people)})
    path = tmp_path / "weighted.csv"
    path.write_text("age,place,persons\n" + "".join(f"{','.join(key)},{count}\n" for key, count in counts.items()))
    weighted = job_of(tmp_path, choose=rule, frontier={"population": str(path)})
    expected, found = (run(job, table_of(RECORDS)) for job in (by_person, weighted))
    for key in ("policy", "risk", "population_rows"):
        assert found.report[key] == expected.report[key]
    assert failed(verify(found.table, load_job(weighted), found.report)) == []
    path.write_text("age,place,persons\n30,ab,many\n")
    with pytest.raises(InvalidData, match="the column 'persons' says how many persons a row stands for"):
        run(weighted, table_of(RECORDS))


TAMPERED = {
    "no policy": (lambda report: report.pop("policy"), ["policy"]),
    "another policy": (lambda report: report["policy"].update(age=[{"from": "30", "to": "95"}]), ["figures", "labels"]),
    "no groups": (lambda report: report["policy"].update(age=[]), ["policy"]),
    "no choice": (lambda report: report.pop("choice"), ["choice"]),
    "too high a risk": (lambda report: report["choice"].update(risk=0.9), ["choice"]),
    "no figure": (lambda report: report["choice"].update(risk=True), ["choice"]),
    "not dominating": (lambda report: report["choice"]["safe_harbor"].update(risk=0.0), ["choice"]),
    "no safe harbor": (lambda report: report["choice"].update(safe_harbor=None), ["choice"]),
    "another rule": (lambda report: report["choice"]["rule"].update(maximum_risk=0.2), ["choice"]),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_tampered_report_is_found(tmp_path, case):
    change, checks = TAMPERED[case]
    rule = {"from": "frontier", "dominates": "safe-harbor", "maximum_risk": 0.3}
    document = job_of(tmp_path, choose=rule)
    result = run(document, table_of(RECORDS))
    report = json.loads(json.dumps(result.report))
    change(report)
    assert failed(verify(result.table, load_job(document), report)) == checks
    assert "policy" in failed(verify(result.table, load_job(document)))


def as_released(policy, k, limit):
    """Return marketer risk and utility loss in nats of a release by a policy; None if it suppresses too many."""
    cells = regrouped(RECORDS, policy, ROWS, KEYS)
    sizes, n = Counter(cells), len(RECORDS)
    stars = [cell for cell in cells if sizes[cell] < k]
    if len(stars) > limit * n or len(stars) == n:
        return None
    # they stay as a class of their own, or are left out
    classes = [size for size in sizes.values() if size >= k] + ([len(stars)] if len(stars) >= k else [])
    spans = spans_of(policy)
    loss = 0.0
    for record, cell in zip(RECORDS, cells, strict=True):
        share, width = (len(stars), WHOLE) if sizes[cell] < k else (sizes[cell], spans[record])
        loss += math.log(RECORDS.count(record) / (share / width)) / n
    return len(classes) / sum(classes), loss


WHOLE = len(ROWS["age"]) * len(ROWS["place"])


def spans_of(policy):
    """Return the leaf cells that the cell of each record stands for."""
    everybody = [(age, place) for age, _ in ROWS["age"] for place, *_ in ROWS["place"]]
    widths = Counter(regrouped(everybody, policy, ROWS, KEYS))
    return dict(zip(everybody, (widths[cell] for cell in regrouped(everybody, policy, ROWS, KEYS)), strict=True))


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("limit", [0.05, 0.2])
@pytest.mark.parametrize("maximum", [0.1, 0.2])
def test_the_rule_holds_for_the_release_and_nothing_better_is_missed(tmp_path, k, limit, maximum):
    """Every policy of the frontier is released by hand; without its suppression the first by loss would be taken."""
    changes = {"privacy": [{"model": "k-anonymity", "k": k}], "suppression_limit": limit}
    policies = engine.frontier_policies(engine.frontier(job_of(tmp_path, **changes), table_of(RECORDS)).report)
    figures = [as_released(policy, k, limit) for policy in policies]
    meets = [(loss, risk) for risk, loss in filter(None, figures) if risk <= maximum]
    document = job_of(tmp_path, choose={"from": "frontier", "maximum_risk": maximum}, **changes)
    result = run(document, table_of(RECORDS))
    choice = result.report["choice"]
    assert (choice["utility_loss"], choice["risk"]) == pytest.approx(min(meets))
    assert choice["risk"] == pytest.approx(result.report["risk"]["marketer"], rel=1e-12)
    assert choice["tried"]["policies"] > sum(choice["tried"]["hindered"].values())
    assert failed(verify(result.table, load_job(document), result.report)) == []


def test_a_policy_that_fails_a_model_gives_way_to_the_next(tmp_path):
    """The first by loss keeps all apart, and needs 10-anonymity of records that are alone."""
    document = job_of(
        tmp_path, choose={"from": "frontier", "maximum_risk": 1.0}, privacy=[{"model": "k-anonymity", "k": 10}]
    )
    report = run(document, table_of(RECORDS)).report
    assert report["choice"]["tried"]["hindered"]["privacy"] > 0
    assert report["classes"]["smallest"] >= 10
    assert (report["solution"]["optimal"], report["solution"]["lower_bound"], report["search"]["proof"]) == (
        False,
        None,
        None,
    )


def test_the_error_says_what_was_tried_and_why_it_failed(tmp_path):
    rule = {"from": "frontier", "maximum_risk": 1.0}
    document = job_of(tmp_path, choose=rule, privacy=[{"model": "k-anonymity", "k": 50}])
    text = r"tried: up to 10 leave nothing .* allow_empty_information: true .*, up to \d+ fail the privacy models"
    with pytest.raises(NoSolution, match=text):
        run(document, table_of(RECORDS), output=tmp_path / "release")
    assert not (tmp_path / "release").exists()
    result = run({**document, "allow_empty_information": True}, table_of(RECORDS), output=tmp_path / "release")
    assert set(result.table["age"].to_pylist()) == {"*"}


def test_a_choice_whose_risk_is_not_that_of_the_release_is_found(tmp_path):
    changes = {"privacy": [{"model": "k-anonymity", "k": 4}], "suppression_limit": 0.2}
    document = job_of(tmp_path, choose={"from": "frontier", "maximum_risk": 0.2}, **changes)
    result = run(document, table_of(RECORDS))
    report = json.loads(json.dumps(result.report))
    report["choice"]["risk"] *= 0.9
    assert failed(verify(result.table, load_job(document), report)) == ["choice"]
