"""The report of a frontier, against figures counted person by person."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import math
from collections import Counter

import pytest

import engine
from engine import InvalidData, InvalidJob
from engine.frontiers.compare.standing import beats, standing
from engine.frontiers.document import policy_number
from engine.frontiers.space.stored import policy_reader
from engine.job.policy_file import policy_text, read_policy
from tests.engine.frontiers.small_job import ALL, KEYS, PLACES, ROWS, job_of, people_of, table_of, written
from tests.reference.policy_documents import divergence, marketer, regrouped

RECORDS = people_of(40)
PEOPLE = RECORDS + people_of(300, seed=2)
FIGURES = ("risk", "utility_loss", "normalized_risk", "normalized_utility_loss")


def every_policy():
    """Return the documents of all policies."""
    ages = [row[0] for row in ROWS["age"]]
    lines = []
    for cuts in itertools.product([False, True], repeat=len(ages) - 1):
        edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(ages)]
        runs = [ages[i:j] for i, j in itertools.pairwise(edges)]
        lines.append([{"value": run[0]} if len(run) == 1 else {"from": run[0], "to": run[-1]} for run in runs])
    halves = [[[{"node": name}], [{"value": row[0]} for row in PLACES if row[1] == name]] for name in "ab"]
    trees = [[{"node": "*"}], *([*left, *right] for left, right in itertools.product(*halves))]
    return [{"age": line, "place": tree} for line, tree in itertools.product(lines, trees)]


def measured(policy, records, people):
    """Return marketer risk and divergence of a policy."""
    cells = regrouped(records, policy, ROWS, KEYS)
    leaves = Counter(
        regrouped(itertools.product(*([row[0] for row in ROWS[name]] for name in ROWS)), policy, ROWS, KEYS)
    )
    risk = marketer(cells, Counter(regrouped(people, policy, ROWS, KEYS)))
    return float(risk), divergence(records, cells, [leaves[cell] for cell in cells])


@pytest.fixture(scope="module")
def frontier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    job = job_of(folder, frontier={"population": written(folder, PEOPLE)})
    return engine.frontier(job, table_of(RECORDS))


def test_the_frontier_of_a_small_lattice_is_that_of_all_policies(frontier):
    points = [measured(policy, RECORDS, PEOPLE) for policy in every_policy()]
    assert len(points) < ALL
    best = {
        p
        for p in points
        if not any(q[0] <= p[0] and q[1] <= p[1] and (q[0] < p[0] - 1e-9 or q[1] < p[1] - 1e-9) for q in points)
    }
    found = [(entry["risk"], entry["utility_loss"]) for entry in frontier.report["frontier"]]
    assert len({(round(risk, 9), round(loss, 9)) for risk, loss in best}) == len(found)
    for own, expected in zip(found, sorted({(round(r, 9), round(u, 9)) for r, u in best}), strict=True):
        assert own == pytest.approx(expected, abs=1e-8)


def entries_of(report):
    groups = [report["frontier"], report["shortlist"], *report["k_anonymity"].values()]
    return [*itertools.chain.from_iterable(groups), report["safe_harbor"]]


def test_every_figure_is_that_of_its_policy(frontier):
    report = frontier.report
    highest = (measured(every_policy()[-1], RECORDS, PEOPLE)[0], measured(every_policy()[0], RECORDS, PEOPLE)[1])
    policy_of = policy_reader(report)
    for entry in entries_of(report):
        risk, loss = measured(policy_of(entry), RECORDS, PEOPLE)
        expected = (risk, loss, risk / highest[0], loss / highest[1])
        assert [entry[key] for key in FIGURES] == pytest.approx(expected, abs=1e-9)


def test_safe_harbor_joins_ages_of_ninety_and_above(frontier):
    assert frontier.report["safe_harbor"]["policy"]["age"][-2:] == [{"value": "89"}, {"from": "90", "to": "95"}]
    assert frontier.report["safe_harbor"]["policy"]["place"] == [{"value": row[0]} for row in PLACES]
    assert frontier.report["safe_harbor"]["exact"] is True
    assert dt.date.fromisoformat(frontier.report["safe_harbor"]["ages_on"]) >= dt.date(2026, 1, 1)


def test_the_day_of_ages_can_be_given(tmp_path):
    job = job_of(tmp_path, frontier={"policies": 2, "ages_on": "2026-03-01"})
    report = engine.frontier(job, table_of(RECORDS)).report
    assert (report["safe_harbor"]["ages_on"], report["settings"]["ages_on"]) == ("2026-03-01", "2026-03-01")


def test_the_report_is_plain_and_complete(frontier):
    report = json.loads(json.dumps(frontier.report, allow_nan=False))
    assert report == frontier.report
    assert (report["name"], report["rows"], report["population_rows"]) == ("night", 40, 340)
    assert report["lattice_bits"] == 8
    assert report["settings"]["population"] == "people.csv"
    assert report["current"] is None
    assert list(report["k_anonymity"]) == ["2", "4"]
    risks = [entry["risk"] for entry in report["frontier"]]
    losses = [entry["utility_loss"] for entry in report["frontier"]]
    assert risks == sorted(risks)
    assert losses == sorted(losses, reverse=True)
    assert report["visited"] <= ALL
    assert report["area_after"][-1] == [report["visited"], pytest.approx(report["area"])]
    policies = engine.frontier_policies(report)
    assert all(policies[item["index"]] == item["policy"] for item in report["shortlist"])
    assert [policy.document() for policy in frontier.policies] == policies


def test_k_anonymous_policies_are_k_anonymous(frontier):
    for k, entries in frontier.report["k_anonymity"].items():
        assert entries
        for entry in entries:
            policy = policy_reader(frontier.report)(entry)
            assert min(Counter(regrouped(RECORDS, policy, ROWS, KEYS)).values()) >= int(k)


def test_without_a_population_the_table_stands_for_it(tmp_path):
    report = engine.frontier(job_of(tmp_path), table_of(RECORDS)).report
    assert report["population_rows"] is None
    for entry, policy in zip(report["frontier"], engine.frontier_policies(report), strict=True):
        classes = len(set(regrouped(RECORDS, policy, ROWS, KEYS)))
        assert math.isclose(entry["risk"], classes / len(RECORDS))


def test_the_current_policy_stands_beside_it(tmp_path):
    # the ends of its runs are no values of tonight's table
    policy = {"age": [{"from": "29", "to": "60"}, {"from": "61", "to": "99"}], "place": [{"node": "a"}, {"node": "b"}]}
    (tmp_path / "current.yaml").write_text(policy_text("night", policy))
    job = job_of(tmp_path, frontier={"current": str(tmp_path / "current.yaml")})
    report = engine.frontier(job, table_of(RECORDS)).report
    tonight = {"age": [{"from": "30", "to": "60"}, {"from": "89", "to": "95"}], "place": policy["place"]}
    assert report["current"]["policy"] == tonight
    assert [report["current"][key] for key in FIGURES[:2]] == pytest.approx(measured(tonight, RECORDS, RECORDS))
    executing = {**job, "frontier": {}, "search": {"algorithm": "policy", "file": str(tmp_path / "current.yaml")}}
    executing["frontier"] = {"policies": ALL, "initialization": "random-path", "k_anonymity": [], "safe_harbor": False}
    report = engine.frontier(executing, table_of(RECORDS)).report
    assert report["current"]["policy"] == tonight
    assert (report["safe_harbor"], report["k_anonymity"]) == (None, {})
    (tmp_path / "current.yaml").write_text(policy_text("night", {**policy, "age": [{"from": "29", "to": "60"}]}))
    with pytest.raises(
        InvalidJob,
        match=r"policy of column 'age': values of the table, including missing ones, that are in no group: 3;",
    ):
        engine.frontier(job, table_of(RECORDS))


def points_of(entries):
    return [(entry["normalized_risk"], entry["normalized_utility_loss"]) for entry in entries]


def beaten(point, others):
    """Tell whether a point is strictly dominated by one of some others, beyond what rounding may differ in."""
    return any(
        risk <= point[0] + 1e-11 and loss <= point[1] + 1e-11 and (risk < point[0] - 1e-11 or loss < point[1] - 1e-11)
        for risk, loss in others
    )


@pytest.mark.parametrize("policies", [2, 12, ALL])
def test_no_mark_is_beaten_without_a_reason(tmp_path, policies):
    """However little was searched: what beats a mark is a policy of the frontier, and the mark names it."""
    current = {"age": [{"from": "29", "to": "60"}, {"from": "61", "to": "99"}], "place": [{"node": "a"}, {"node": "b"}]}
    (tmp_path / "current.yaml").write_text(policy_text("night", current))
    settings = {"policies": policies, "initialization": "random-path", "safe_harbor": {"age": "age"}}
    settings |= {"k_anonymity": [2, 4], "current": str(tmp_path / "current.yaml")}
    report = engine.frontier(job_of(tmp_path, frontier=settings), table_of(RECORDS)).report
    compared = [
        *itertools.chain.from_iterable(report["k_anonymity"].values()),
        report["safe_harbor"],
        report["current"],
    ]
    frontier = points_of(report["frontier"])
    marks = [*frontier, *points_of(compared)]
    assert not any(beaten(point, marks) for point in frontier)
    assert not any("beaten_by_safe_harbor" in entry for entry in report["frontier"])
    for entry, point in zip(compared, points_of(compared), strict=True):
        assert (entry["beaten_by"] is not None) == beaten(point, marks)
        if entry["beaten_by"] is not None:
            assert beaten(point, [frontier[entry["beaten_by"] - 1]])
            assert entry["number"] is None
        if entry["number"] is not None:
            assert report["frontier"][entry["number"] - 1]["bits"] == entry["bits"]
    assert report["area_after"][-1] == [report["visited"], report["area"]]
    assert report["area"] == pytest.approx(area_under(frontier))


def test_the_policy_in_use_has_its_number(tmp_path, frontier):
    """A policy of the frontier that is in use is the same one, under the same number."""
    number = policy_number(frontier.report["shortlist"][1])
    (policy,) = (path for path in frontier.write_policies(tmp_path) if path.stem == f"policy-{number}")
    settings = {"population": written(tmp_path, PEOPLE), "current": str(policy)}
    report = engine.frontier(job_of(tmp_path, frontier=settings), table_of(RECORDS)).report
    assert (report["current"]["number"], report["current"]["beaten_by"]) == (number, None)
    assert report["current"]["policy"] == engine.frontier_policies(report)[number - 1]


def area_under(points):
    """Return the part of the unit square that no point dominates."""
    edges = [0.0, *(risk for risk, _ in points), 1.0]
    losses = [1.0, *(loss for _, loss in points)]
    return sum((after - before) * loss for before, after, loss in zip(edges, edges[1:], losses, strict=False))


def test_the_rule_of_safe_harbor_may_beat_policies_where_it_is_none(frontier):
    """Its own figures then are no policy's: the policies that it beats say so."""
    report = copy.deepcopy(frontier.report)
    harbor = {**report["safe_harbor"], "exact": False, "normalized_risk": 0.0, "normalized_utility_loss": 0.0}
    for entry in report["frontier"]:
        assert beats(harbor, entry)
        assert not beats(entry, harbor)
        assert not beats(entry, entry)
    assert standing(report["frontier"], harbor, is_policy=False) == {"number": None, "beaten_by": None}


def test_a_report_does_not_repeat_the_groups_of_its_policies(tmp_path):
    """The file grows by the figures and the bits of a policy, however many groups it has."""
    records = people_of(400)
    document = job_of(tmp_path, frontier={"policies": 300, "initialization": "random-path"})
    report = engine.frontier(document, table_of(records)).report
    assert len(report["frontier"]) > 5
    for entry in (*report["frontier"], *itertools.chain.from_iterable(report["k_anonymity"].values())):
        assert "policy" not in entry
        assert len(entry["bits"]) == 2 * -(-report["lattice_bits"] // 8)
    assert json.loads(json.dumps(engine.frontier_policies(report))) == engine.frontier_policies(report)


def test_the_short_list_is_written_as_policy_files(frontier, tmp_path):
    paths = frontier.write_policies(tmp_path / "policies")
    report = frontier.report
    numbers = [int(path.stem.removeprefix("policy-")) for path in paths]
    assert len(numbers) == len(report["shortlist"])
    assert numbers == [policy_number(item) for item in report["shortlist"]]
    assert [read_policy(path) for path in paths] == [engine.frontier_policies(report)[n - 1] for n in numbers]


def test_what_cannot_be_measured_is_refused(tmp_path):
    job = job_of(tmp_path, frontier={"population": written(tmp_path, [("30", "zz")])})
    with pytest.raises(InvalidData, match="column 'place': its hierarchy has no entry for 1 of the distinct values"):
        engine.frontier(job, table_of(RECORDS))
    job = job_of(tmp_path, frontier={"safe_harbor": {"sex": "kept"}})
    with pytest.raises(InvalidJob, match="safe_harbor: 'sex' is no quasi-identifying attribute"):
        engine.frontier(job, table_of(RECORDS))


@pytest.mark.parametrize("initialization", ["random-path", "full-domain", "greedy-path"])
def test_missing_values_join_the_others_only_in_one_group_of_all(tmp_path, initialization):
    records = [*RECORDS, (None, "ab"), (None, None), ("30", None)]
    report = engine.frontier(job_of(tmp_path, frontier={"initialization": initialization}), table_of(records)).report
    missing = {"value": None}
    documents = []
    for policy in every_policy():
        line = [{"from": None, "to": "95"}] if len(policy["age"]) == 1 else [missing, *policy["age"]]
        tree = policy["place"] if len(policy["place"]) == 1 else [*policy["place"], missing]
        documents.append({"age": line, "place": tree})
        if len(policy["age"]) == 1:
            documents.append({"age": [missing, *policy["age"]], "place": tree})
    cells = [(policy, regrouped(records, policy, ROWS, KEYS)) for policy in documents]
    allowed = {json.dumps(policy, sort_keys=True): len(set(cell)) / len(records) for policy, cell in cells}
    for entry, policy in zip(report["frontier"], engine.frontier_policies(report), strict=True):
        assert entry["risk"] == pytest.approx(allowed[json.dumps(policy, sort_keys=True)])
        document = job_of(tmp_path)
        (tmp_path / "policy.yaml").write_text(policy_text("night", policy))
        document["search"] = {"algorithm": "policy", "file": str(tmp_path / "policy.yaml")}
        result = engine.run(document, table_of(records))
        assert result.report["classes"]["number"] == round(entry["risk"] * len(records))


def test_a_job_that_counts_persons_has_no_frontier(tmp_path):
    """A frontier counts records: it is refused by name, also without a section of its own."""
    job = job_of(tmp_path, privacy=[{"model": "k-anonymity", "k": 2}], subject="mrn")
    job["attributes"]["mrn"] = {"role": "identifying"}
    job.pop("frontier")
    with pytest.raises(InvalidJob, match="subject: a frontier counts records"):
        engine.frontier(job, table_of(people_of(20)))
