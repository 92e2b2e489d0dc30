"""What a job may say of noise, randomized categories and groups; everything else names the key and the fix."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job


def document(**changes):
    attributes = {
        "mrn": {"role": "identifying"},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "cost": {"role": "sensitive", "noise": {"percent": 20}},
        "ward": {"role": "insensitive", "pram": {}},
        "age": {"role": "insensitive", "microaggregation": "mdav", "order": "integer", "missing": ["?"]},
        **changes.pop("attributes", {}),
    }
    privacy = [{"model": "k-anonymity", "k": 3}]
    return {"name": "drawn", "unit": "record", "attributes": attributes, "privacy": privacy, **changes}


def test_a_local_recoding_that_suppresses_nothing_goes_with_noise():
    assert load_job(document(transformation="local-recoding", suppression_limit=0.0)).recodes_locally


def test_perturbed_and_grouped_columns():
    job = load_job(document())
    assert (job.perturbed, job.grouped, job.quasi_identifiers) == (("cost", "ward"), ("age",), ("zip",))
    assert job.draws_rows
    assert job.document()["attributes"]["ward"]["pram"] == {"pd": 0.8, "alpha": 0.5}
    assert load_job(job.document()) == job


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "sensitive", "noise": {}}, ["percent", "required"]),
        ({"role": "sensitive", "noise": {"percent": 0}}, ["percent", "above 0"]),
        ({"role": "sensitive", "noise": {"percent": 1001}}, ["percent", "1000"]),
        ({"role": "sensitive", "noise": {"percent": float("nan")}}, ["percent"]),
        ({"role": "sensitive", "noise": {"percent": 5}, "order": "date"}, ["order is date", "integer or decimal"]),
        ({"role": "insensitive", "pram": {"pd": 1}}, ["pd", "below 1"]),
        ({"role": "insensitive", "pram": {"pd": 0}}, ["pd", "above 0"]),
        ({"role": "insensitive", "pram": {"alpha": 0}}, ["alpha", "above 0"]),
        ({"role": "insensitive", "pram": {"alpha": 1.1}}, ["alpha", "at most 1"]),
        ({"role": "insensitive", "pram": {}, "noise": {"percent": 5}}, ["noise and pram", "take one out"]),
        ({"role": "insensitive", "noise": {"percent": 5}, "coding": {"top": 9}}, ["noise", "coding", "take one out"]),
        ({"role": "identifying", "noise": {"percent": 5}}, ["noise: only for sensitive and insensitive"]),
        (
            {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "pram": {}},
            ["pram: only for sensitive and insensitive", "give a quasi-identifying column a hierarchy"],
        ),
        (
            {"role": "quasi-identifying", "microaggregation": "mdav"},
            ["mdav: only for sensitive and insensitive", "use mean or median"],
        ),
        ({"role": "insensitive", "microaggregation": "median"}, ["mdav only for others"]),
        ({"role": "sensitive", "microaggregation": "mdav", "noise": {"percent": 5}}, ["noise", "microaggregation"]),
        ({"role": "insensitive", "order": "integer"}, ["those with coding, noise or microaggregation"]),
    ],
)
def test_columns_that_are_refused(column, words):
    with pytest.raises(InvalidJob) as problem:
        load_job(document(attributes={"other": column}))
    assert all(word in str(problem.value) for word in words), problem.value


K = {"model": "k-anonymity", "k": 3}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"privacy": [K, {"model": "l-diversity", "variant": "distinct", "attribute": "cost", "l": 2}]},
            ["attributes.cost.noise: privacy.1: l-diversity would count", "take the model"],
        ),
        (
            {
                "attributes": {"age": {"role": "sensitive", "microaggregation": "mdav"}},
                "privacy": [K, {"model": "t-closeness", "distance": "equal", "attribute": "age", "t": 0.2}],
            },
            ["attributes.age.microaggregation: privacy.1: t-closeness would count"],
        ),
        (
            {"subject": "mrn", "unit": None, "attributes": {"age": {"role": "identifying"}}},
            ["noise", "subject", "equal values of a person"],
        ),
        ({"subject": "mrn", "unit": None}, ["microaggregation", "does not go with subject"]),
        ({"privacy": [{"model": "k-anonymity", "k": 2}]}, ["classes of 2 records", "k of at least 3"]),
        (
            {
                "attributes": {"age": {"role": "identifying"}},
                "privacy": [K, {"model": "k-map", "k": 3, "subset": "s.csv"}],
            },
            ["noise: does not go with a subset"],
        ),
        (
            {"transformation": "local-recoding", "suppression_limit": 0.1},
            ["attributes.cost.noise: does not go with transformation: local-recoding with a suppression_limit above 0"],
        ),
        (
            {"drift": {"facts": "facts.json", "new_values": {"zip": "quarantine"}}},
            ["attributes.cost.noise: does not go with drift.new_values: quarantine"],
        ),
        ({"usefulness": {"columns": ["cost"]}}, ["usefulness.columns.0", "'cost'"]),
        ({"usefulness": {"targets": ["ward"]}}, ["usefulness.targets.0", "'ward'"]),
    ],
)
def test_jobs_that_are_refused(changes, words):
    made = {key: value for key, value in document(**changes).items() if value is not None}
    with pytest.raises(InvalidJob) as problem:
        load_job(made)
    assert all(word in str(problem.value) for word in words), problem.value
