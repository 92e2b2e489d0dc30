"""What a job says of persons: `subject` and `knows`, and what does not go with them."""

from __future__ import annotations

import copy

import pytest

from engine import InvalidJob, load_job
from tests.engine.jobs import BASE, DIVERSITY


def job(**changes):
    return load_job({**copy.deepcopy(BASE), "subject": "person_id", **changes})


def test_a_job_names_whose_records_are():
    found = job(privacy=[{"model": "k-anonymity", "k": 5}, {**DIVERSITY, "l": 7}], knows="any-row")
    assert (found.subject, found.minimum_persons, found.minimum_class_size) == ("person_id", 5, 7)
    assert found.document()["subject"] == "person_id"
    assert "person_id" not in found.released
    assert [model.describe() for model in found.counted_privacy] == [
        "5-anonymity, counted in persons",
        "distinct 7-diversity of diagnosis (missing values not counted), counted in persons",
    ]


def test_a_job_without_a_subject_is_as_before():
    found = load_job(BASE)
    assert found.counted_privacy == found.privacy
    assert {"subject", "knows"} & set(found.document()) == set()


@pytest.mark.parametrize("subject", ["age", "diagnosis", "note", "nobody"])
def test_a_subject_is_an_identifying_column(subject):
    with pytest.raises(InvalidJob, match=r"subject: .* must be a column with role identifying"):
        job(subject=subject)


def test_either_persons_or_records_are_counted():
    with pytest.raises(InvalidJob, match="subject and unit"):
        job(unit="record")


def test_what_is_known_is_of_persons():
    with pytest.raises(InvalidJob, match=r"knows: .*subject"):
        load_job({**BASE, "knows": "any-row"})
    with pytest.raises(InvalidJob, match=r"knows: .*'any-row' or 'all-rows'"):
        job(knows="some-rows")


@pytest.mark.parametrize(
    ("knows", "told"),
    [
        (
            "any-rows",
            "knows: is 'any-rows', allowed are 'any-row' or 'all-rows', or a mapping; did you mean 'any-row'?",
        ),
        (3, "knows: is 3, allowed are 'any-row' or 'all-rows', or a mapping"),
        ({"rows": 9}, "knows.rows: must be at least 1 and at most 3, and is 9"),
        (
            {"row": 1},
            (
                "knows.rows: this key is required, at least 1 and at most 3; knows.row: unknown key 'row', did you "
                "mean 'rows'?"
            ),
        ),
    ],
)
def test_what_is_known_is_told_once_where_it_is_neither_a_word_nor_a_mapping(knows, told):
    with pytest.raises(InvalidJob) as refused:
        job(knows=knows)
    assert str(refused.value) == f"job: {told}"


@pytest.mark.parametrize(
    ("knows", "known"),
    [(None, "any-row"), ("any-row", "any-row"), ("all-rows", "all-rows"), ({"rows": 1}, 1), ({"rows": 3}, 3)],
)
def test_three_attackers_are_named(knows, known):
    found = job(privacy=[{"model": "k-anonymity", "k": 5}], knows=knows)
    assert found.known == known
    assert found.suppresses_persons is (known != "any-row")
    assert found.document().get("knows") == knows
    assert load_job(found.document()).known == known


@pytest.mark.parametrize("rows", [0, 4, 1.5, "two"])
def test_an_attacker_knows_one_to_three_rows_or_all(rows):
    with pytest.raises(InvalidJob, match=r"knows\.rows"):
        job(privacy=[{"model": "k-anonymity", "k": 5}], knows={"rows": rows})


def test_suppressed_persons_are_left_out():
    size = [{"model": "k-anonymity", "k": 5}]
    output = {"path": "share", "suppressed": "star"}
    assert job(privacy=size, knows="all-rows", output=output).prefers == "drop"
    assert job(privacy=size, output=output).prefers == "star"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"utility": {"measure": "discernibility"}}, "utility.measure: discernibility"),
        ({"utility": {"measure": "average-class-size"}}, "utility.measure: average-class-size"),
        ({"utility": {"measure": "kl-divergence"}}, "utility.measure: kl-divergence"),
        ({"search": {"algorithm": "depth-first"}}, "search.algorithm: depth-first"),
    ],
)
@pytest.mark.parametrize("knows", ["all-rows", {"rows": 2}], ids=str)
def test_what_suppresses_parts_of_persons_is_refused_by_its_name(changes, named, knows):
    size = [{"model": "k-anonymity", "k": 5}]
    with pytest.raises(InvalidJob) as problem:
        job(privacy=size, knows=knows, **changes)
    assert named in str(problem.value)
    assert f"knows: {'all-rows' if knows == 'all-rows' else '{rows: 2}'}" in str(problem.value)
    job(privacy=size, **changes)


def test_records_are_not_suppressed_alone():
    attributes = copy.deepcopy(BASE["attributes"])
    attributes["age"]["unseen"] = "suppress"
    with pytest.raises(InvalidJob, match=r"attributes\.age\.unseen: suppress"):
        job(privacy=[{"model": "k-anonymity", "k": 5}], knows="all-rows", attributes=attributes)


OTHERS = [
    {"model": "l-diversity", "variant": "shannon-entropy", "attribute": "diagnosis", "l": 2},
    {"model": "l-diversity", "variant": "recursive", "attribute": "diagnosis", "l": 2, "c": 1.0},
    {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.3},
    {"model": "delta-disclosure-privacy", "attribute": "diagnosis", "delta": 1.0},
    {"model": "beta-likeness", "variant": "basic", "attribute": "diagnosis", "beta": 1.0},
]


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: model.get("variant", model["model"]))
def test_of_some_rows_only_distinct_values_are_demanded(model):
    models = [{"model": "k-anonymity", "k": 5}, model]
    with pytest.raises(InvalidJob, match=r"privacy\.1: .*, which a set of persons may fail that contains one"):
        job(privacy=models, knows={"rows": 2})
    assert job(privacy=models, knows="all-rows").known == "all-rows"
    assert job(privacy=[models[0], DIVERSITY], knows={"rows": 2}).known == 2


def test_rows_are_limited_of_persons():
    assert job(max_rows=3).max_rows == 3
    with pytest.raises(InvalidJob, match=r"max_rows: .*subject"):
        load_job({**BASE, "max_rows": 3})
    for most in (0, 1.5, "many"):
        with pytest.raises(InvalidJob, match="max_rows"):
            job(max_rows=most)


def test_a_subject_needs_a_number_of_persons():
    with pytest.raises(InvalidJob, match="subject: needs k-anonymity"):
        job(privacy=[DIVERSITY])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"privacy": [{"model": "k-map", "k": 5, "population": "p.csv"}]}, "privacy.1: k-map"),
        ({"privacy": [{"model": "average-risk", "threshold": 0.2}]}, "privacy.1: average-risk"),
        ({"privacy": [{"model": "sample-uniqueness", "threshold": 0.2}]}, "privacy.1: sample-uniqueness"),
        (
            {"privacy": [{"model": "population-uniqueness", "threshold": 0.2, "sampling_fraction": 0.1}]},
            "privacy.1: population-uniqueness",
        ),
        (
            {"privacy": [{"model": "delta-presence", "delta_min": 0, "delta_max": 0.5, "subset": "s.csv"}]},
            "privacy.1: delta-presence",
        ),
        ({"suppress": "small-classes"}, "suppress: small-classes"),
        ({"frontier": {"policies": 100}}, "frontier"),
        ({"choose": {"from": "frontier", "maximum_risk": 0.1}}, "choose"),
        ({"risk": {"population": "p.csv"}}, "risk.population"),
        ({"risk": {"sampling_fraction": 0.5}}, "risk.sampling_fraction"),
    ],
)
def test_what_counts_records_is_refused_by_its_name(changes, named):
    size = {"model": "k-anonymity", "k": 5}
    changes = {**changes, "privacy": [size, *changes.get("privacy", [])]}
    with pytest.raises(InvalidJob) as problem:
        job(**changes)
    assert named in str(problem.value)
    assert "unit: record instead of subject" in str(problem.value)


def test_duckdb_counts_the_persons_of_one_night():
    assert job(backend="duckdb").backend == "duckdb"
    series = {"vault": "vault.sqlite", "key_file": "vault.key", "memory": 30}
    with pytest.raises(InvalidJob, match="series: backend duckdb does not count the persons of several nights"):
        job(backend="duckdb", series=series)
