"""Policies executed as releases: the source comes out regrouped, and verification knows it from anything else."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine import InvalidData, InvalidJob, NoSolution, job_schema, load_job, run, verify
from engine.hierarchy.group_labels import group_labels
from engine.hierarchy.policy_groups import AnyHierarchy
from engine.job.policy_file import policy_text
from tests.reference.policy_documents import regrouped

AGES = [str(age) for age in range(15, 30)]
ROWS = {
    "age": [(age, "young" if int(age) < 20 else "older", "*") for age in AGES],
    "place": [("ab", "a", "*"), ("ac", "a", "*"), ("ba", "b", "*"), ("bb", "b", "*"), ("c", "c", "*")],
}
KEYS = {"age": int, "place": None}


def job_of(folder, **changes):
    """Write the hierarchies and return the job as a mapping."""
    for name, rows in ROWS.items():
        (folder / f"{name}.csv").write_text("".join(f"{';'.join(row)}\n" for row in rows))
    attributes = {
        "age": {"role": "quasi-identifying", "hierarchy": str(folder / "age.csv"), "order": "integer"},
        "place": {"role": "quasi-identifying", "hierarchy": str(folder / "place.csv")},
        "note": {"role": "insensitive"},
    }
    for name, entry in changes.pop("attributes", {}).items():
        attributes[name] = {**attributes[name], **entry}
    return {
        "name": "night",
        "attributes": attributes,
        "privacy": [{"model": "average-risk", "threshold": 1.0}],
        "allow_empty_information": True,
        **changes,
    }


def executing(folder, policy, **changes):
    """Return the job that executes a policy from a file."""
    (folder / "policy.yaml").write_text(policy_text("night", policy))
    search = {"algorithm": "policy", "file": str(folder / "policy.yaml")}
    return job_of(folder, transformation="policy", search=search, **changes)


def table_of(people):
    names = ("age", "place", "note")
    rows = [(*person, str(number)) for number, person in enumerate(people)]
    return pa.table(
        {name: pa.array(column, pa.string()) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


def failed(findings):
    return sorted(finding.check for finding in findings if not finding.holds)


PLACES = [
    [{"node": "*"}],
    [{"node": "a"}, {"node": "b"}, {"value": "c"}],
    [{"value": "ab"}, {"value": "ac"}, {"node": "b"}, {"value": "c"}],
    [{"value": row[0]} for row in ROWS["place"]],
]
MISSING = {"value": None}


@st.composite
def documents(draw, *, missing):
    cuts = sorted(draw(st.sets(st.integers(1, len(AGES) - 1), max_size=6)))
    runs = [AGES[i:j] for i, j in zip([0, *cuts], [*cuts, len(AGES)], strict=True)]
    ages = [{"value": run[0]} if len(run) == 1 else {"from": run[0], "to": run[-1]} for run in runs]
    places = draw(st.sampled_from(PLACES))
    if missing:
        ages = [MISSING, *ages]
        places = places if places == PLACES[0] else [*places, MISSING]
    return {"age": ages, "place": places}


@st.composite
def worlds(draw):
    missing = draw(st.booleans())
    none = [None] if missing else []
    person = st.tuples(st.sampled_from([*AGES, *none]), st.sampled_from([*(row[0] for row in ROWS["place"]), *none]))
    return draw(documents(missing=missing)), draw(st.lists(person, min_size=1, max_size=30))


@settings(deadline=None)
@given(worlds(), st.integers(2, 4))
def test_a_release_is_the_source_regrouped(tmp_path_factory, world, k):
    policy, people = world
    document = executing(
        tmp_path_factory.mktemp("run"), policy, privacy=[{"model": "k-anonymity", "k": k}], suppression_limit=1.0
    )
    source = table_of(people)
    result = run(document, source)
    released = {row["note"]: (row["age"], row["place"]) for row in result.table.to_pylist()}
    cells = regrouped(people, policy, ROWS, KEYS)
    sizes = Counter(cells)
    assert result.report["policy"] == policy
    assert result.report["solution"]["suppressed"] == sum(sizes[cell] < k for cell in cells)
    of_note = dict(zip(source["note"].to_pylist(), cells, strict=True))
    kept = {of_note[note]: labels for note, labels in released.items() if sizes[of_note[note]] >= k}
    # one pair of labels per cell and one cell per pair
    assert len(set(kept.values())) == len(kept) == sum(size >= k for size in sizes.values())
    gone = [note for note, cell in of_note.items() if sizes[cell] < k]
    if result.report["suppressed_class"]["form"] == "star":
        assert len(gone) >= k
        kept |= dict.fromkeys((of_note[note] for note in gone), ("*", "*"))
    else:
        assert not set(gone) & released.keys()
    assert all(labels == kept[of_note[note]] for note, labels in released.items())
    assert failed(verify(result.table, load_job(document), result.report)) == []


def test_labels_are_those_of_the_groups(tmp_path):
    policy = {"age": [{"from": "15", "to": "17"}, {"value": "18"}, {"from": "19", "to": "29"}], "place": PLACES[1]}
    result = run(executing(tmp_path, policy), table_of([("16", "ab"), ("18", "ba"), ("29", "c")]))
    assert result.table["age"].to_pylist() == ["15-17", "18", "19-29"]
    assert result.table["place"].to_pylist() == ["a", "b", "c"]
    whole = {"age": [{"from": "15", "to": "29"}], "place": PLACES[0]}
    result = run(executing(tmp_path, whole), table_of([("16", "ab"), (None, None)][:1]))
    assert result.table.select(["age", "place"]).to_pylist() == [{"age": "*", "place": "*"}]


@given(
    st.lists(
        st.tuples(st.text(alphabet='ab- to[]",1', max_size=5), st.text(alphabet='ab- to[]",1', max_size=5)),
        min_size=1,
        max_size=6,
        unique=True,
    )
)
def test_different_groups_have_different_labels(pairs):
    groups = [{"value": a} if a == b else {"from": a, "to": b} for a, b in pairs]
    groups += [{"node": a, "values": [b]} for a, b in pairs]
    labels = group_labels(groups)
    assert len(set(labels)) == len(groups)


def test_a_value_that_came_later_belongs_to_the_run_around_it(tmp_path):
    policy = {"age": [{"from": "15", "to": "17"}, {"from": "20", "to": "29"}], "place": PLACES[0]}
    result = run(executing(tmp_path, policy), table_of([("16", "ab"), ("25", "ba")]))
    assert result.table["age"].to_pylist() == ["15-17", "20-29"]
    with pytest.raises(
        InvalidData, match="column 'age': its hierarchy has no entry for 1 of the distinct values, in 2 of the records"
    ):
        run(executing(tmp_path, policy), table_of([("16", "ab"), ("18", "ba"), ("18", "ba")]))


def test_a_value_in_no_group_is_suppressed_where_the_job_says_so(tmp_path):
    policy = {"age": [{"from": "15", "to": "17"}, {"from": "20", "to": "29"}], "place": PLACES[0]}
    changes = {"attributes": {"age": {"unseen": "suppress"}}, "suppression_limit": 0.5}
    document = executing(tmp_path, policy, **changes)
    result = run(document, table_of([("16", "ab"), ("18", "ba")]))
    assert sorted(result.table["age"].to_pylist()) == ["*", "15-17"]
    assert failed(verify(result.table, load_job(document), result.report)) == []


def test_missing_values_need_a_group(tmp_path):
    policy = {"age": [{"from": "15", "to": "29"}], "place": PLACES[1]}
    with pytest.raises(InvalidData, match=r"columns 'age', 'place': have missing values.*the group \{value: null\}"):
        run(executing(tmp_path, policy), table_of([(None, None), ("16", "ab")]))
    joined = {"age": [{"from": None, "to": "17"}, {"from": "18", "to": "29"}], "place": PLACES[0]}
    with pytest.raises(InvalidJob, match="policy of column 'age': joins missing values with some others"):
        run(executing(tmp_path, joined), table_of([("16", "ab")]))
    whole = {"age": [{"from": None, "to": "29"}], "place": PLACES[0]}
    result = run(executing(tmp_path, whole), table_of([(None, "ab"), ("16", None)]))
    assert result.table.select(["age", "place"]).to_pylist() == [{"age": "*", "place": "*"}] * 2


@pytest.mark.parametrize(
    ("level", "text"),
    [({"minimum_level": 1}, "splits a label of level 1"), ({"maximum_level": 1}, "joins labels of level 1")],
)
def test_the_levels_of_the_job_bind_a_policy(tmp_path, level, text):
    policy = {"age": [{"from": "15", "to": "22"}, {"from": "23", "to": "29"}], "place": PLACES[0]}
    with pytest.raises(InvalidJob, match=text):
        run(executing(tmp_path, policy, attributes={"age": level}), table_of([("16", "ab")]))
    allowed = {"age": [{"from": "15", "to": "19"}, {"from": "20", "to": "29"}], "place": PLACES[0]}
    run(executing(tmp_path, allowed, attributes={"age": level}), table_of([("16", "ab")]))


def test_a_policy_that_fails_the_models_beyond_the_limit_releases_nothing(tmp_path):
    policy = {"age": [{"from": "15", "to": "29"}], "place": PLACES[3]}
    document = executing(tmp_path, policy, privacy=[{"model": "k-anonymity", "k": 2}])
    with pytest.raises(NoSolution, match="the policy does not do: no transformation by it"):
        run(document, table_of([("16", "ab"), ("17", "ba")]), output=tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_release_folder_holds_the_job_that_was_run(tmp_path):
    policy = {"age": [{"from": "15", "to": "19"}, {"from": "20", "to": "29"}], "place": PLACES[1]}
    result = run(executing(tmp_path, policy), table_of([("16", "ab"), ("25", "c")]), output=tmp_path / "release")
    (tmp_path / "policy.yaml").unlink()
    job = load_job(shutil.copy(tmp_path / "release" / "job.yaml", tmp_path / "again.yaml"))
    assert job.policy == policy
    report = json.loads((tmp_path / "release" / "report.json").read_text())
    assert report == result.published
    assert failed(verify(result.table, job, report)) == []
    assert run(job, table_of([("16", "ab"), ("25", "c")])).table.num_rows == result.table.num_rows == 2


def test_another_policy_s_labels_are_found(tmp_path):
    policy = {"age": [{"from": "15", "to": "19"}, {"from": "20", "to": "29"}], "place": PLACES[1]}
    result = run(executing(tmp_path, policy), table_of([("16", "ab"), ("25", "c")]))
    other = load_job(executing(tmp_path, {**policy, "age": [{"from": "15", "to": "18"}, {"from": "19", "to": "29"}]}))
    assert failed(verify(result.table, other, result.report)) == ["labels", "report"]


BAD_GROUPS = {
    "overlap": ([{"from": "15", "to": "20"}, {"from": "20", "to": "29"}], "groups.1: begins before groups.0 ends"),
    "order": ([{"from": "20", "to": "29"}, {"value": "15"}], "groups.1: begins before groups.0 ends"),
    "backwards": ([{"from": "29", "to": "15"}], "groups.0: from comes after to"),
    "type": ([{"from": "15", "to": "many"}], "groups.0: has a value that is not of the type integer"),
    "node": ([{"node": "young"}], "groups.0: the values are ordered"),
    "shape": ([{"from": "15"}], "must be {from, to}, {value} or {node}"),
    "number": ([{"from": 15, "to": 29}], "put them in quotes"),
    "empty": ([], "at least 1"),
}


@pytest.mark.parametrize("case", BAD_GROUPS)
def test_a_tampered_policy_is_refused_without_a_value(tmp_path, case):
    groups, text = BAD_GROUPS[case]
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps({"policy": {"age": groups, "place": PLACES[0]}}))
    document = job_of(tmp_path, search={"algorithm": "policy", "file": str(path)})
    with pytest.raises(InvalidJob) as caught:
        load_job(document)
    assert "policy of column 'age'" in str(caught.value)
    assert text.replace("at least 1", "at least 1 entry") in str(caught.value)
    assert "many" not in str(caught.value)


BAD_NODES = {
    "run": ([{"from": "ab", "to": "c"}], "a run needs an order"),
    "twice": ([{"node": "a"}, {"node": "a"}], "groups.1: equals groups.0"),
}


@pytest.mark.parametrize("case", BAD_NODES)
def test_groups_of_a_tree_are_nodes(tmp_path, case):
    groups, text = BAD_NODES[case]
    with pytest.raises(InvalidJob, match=text):
        load_job(executing(tmp_path, {"age": [{"value": "15"}], "place": groups}))


def test_groups_that_hold_one_another_are_refused(tmp_path):
    policy = {"age": [{"from": "15", "to": "29"}], "place": [{"node": "*"}, {"node": "a"}]}
    with pytest.raises(InvalidJob, match=r"groups\.0 and groups\.1 hold the same value"):
        run(executing(tmp_path, policy), table_of([("16", "ab")]))


def test_a_policy_of_other_columns_is_refused(tmp_path):
    with pytest.raises(InvalidJob, match="it lacks 'place'; others that it has: 1"):
        load_job(executing(tmp_path, {"age": [{"value": "15"}], "sex": [{"value": "F"}]}))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"search": {"algorithm": "policy"}}, "search.file: algorithm policy needs a policy file"),
        ({"search": {"file": "p.yaml"}}, "file: only for algorithm policy"),
        ({"search": {"algorithm": "policy", "file": "nowhere.yaml"}}, "policy file nowhere.yaml: cannot be read"),
        (
            {"search": {"algorithm": "ola"}, "choose": {"from": "frontier", "maximum_risk": 0.1}},
            "choose and search.algorithm",
        ),
        ({"choose": {"from": "frontier"}}, "names no rule"),
        ({"choose": {"from": "frontier", "maximum_risk": 2}}, "choose.maximum_risk"),
        ({"choose": {"maximum_risk": 0.1}}, "choose.from: this key is required"),
        ({"frontier": {"risk": "average"}}, "frontier.risk"),
        ({"frontier": {"policies": 1}}, "frontier.policies"),
        ({"frontier": {"k_anonymity": [5, 5]}}, "a class size is listed twice"),
        ({"frontier": {"safe_harbor": {"age": "years"}}}, "frontier.safe_harbor"),
        (
            {"frontier": {"population": "a.csv"}, "risk": {"population": "b.csv"}},
            "a job has one population",
        ),
    ],
)
def test_what_a_job_says_of_policies_is_checked(tmp_path, changes, text):
    with pytest.raises(InvalidJob) as caught:
        load_job(job_of(tmp_path, **changes))
    assert text in str(caught.value)


def test_a_document_of_a_job_is_the_job(tmp_path):
    policy = {"age": [{"value": None}, {"from": "15", "to": "29"}], "place": PLACES[2]}
    for document in (
        executing(tmp_path, policy),
        job_of(tmp_path, choose={"from": "frontier", "dominates": "safe-harbor"}, frontier={"population": "p.csv"}),
    ):
        job = load_job(document)
        again = load_job(job.document())
        assert again.document() == job.document()
        assert again.policy == job.policy
    assert job.population is not None
    assert job.population.endswith("p.csv")


@pytest.mark.parametrize(
    "changes",
    [
        {"choose": {"from": "frontier", "dominates": "safe-harbor", "maximum_risk": 0.01}},
        {"frontier": {"population": "p.csv", "safe_harbor": {"age": "age"}, "k_anonymity": [3], "seconds": 5}},
        {"search": {"algorithm": "policy", "file": "policy.yaml"}},
    ],
)
def test_the_schema_accepts_what_a_job_says_of_policies(tmp_path, changes):
    policy = {"age": [{"value": None}, {"from": "15", "to": "29"}], "place": PLACES[2]}
    search = executing(tmp_path, policy)["search"]
    document = job_of(tmp_path, **{**changes, **({"search": search} if "search" in changes else {})})
    validator = jsonschema.Draft202012Validator(job_schema())
    assert list(validator.iter_errors(document)) == []
    assert list(validator.iter_errors(load_job(document).document())) == []
    wrong = {**document, "choose": {"maximum_risk": 0.1}}
    assert list(validator.iter_errors(wrong)) != []


def test_an_order_is_for_sensitive_and_quasi_identifying_columns(tmp_path):
    job = load_job(job_of(tmp_path))
    assert (job.attributes["age"].domain_order, job.attributes["place"].domain_order) == ("integer", None)
    with pytest.raises(InvalidJob, match="order: only for sensitive and quasi-identifying columns"):
        load_job(job_of(tmp_path, attributes={"note": {"order": "text"}}))


def test_a_policy_over_a_policy_is_refused():
    groups = {"builder": "policy", "groups": [{"node": "*"}]}
    with pytest.raises(ValueError, match="does not match any of the expected tags"):
        TypeAdapter(AnyHierarchy).validate_python({**groups, "hierarchy": {**groups, "hierarchy": {"path": "a.csv"}}})
