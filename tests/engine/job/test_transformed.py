"""What a job may say of coded and aggregated columns; everything else names the key and the fix."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job


def document(**changes):
    attributes = {
        "mrn": {"role": "identifying"},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "age": {"role": "quasi-identifying", "microaggregation": "mean", "coding": {"top": 89}},
        "cost": {"role": "sensitive", "coding": {"round_to": 100}},
        **changes.pop("attributes", {}),
    }
    privacy = [{"model": "k-anonymity", "k": 3}]
    return {"name": "coded", "unit": "record", "attributes": attributes, "privacy": privacy, **changes}


def test_columns_with_aggregates_form_no_classes():
    job = load_job(document())
    assert (job.quasi_identifiers, job.aggregated, job.coded) == (("zip",), ("age",), ("age", "cost"))
    assert job.released == ("zip", "age", "cost")


def test_the_document_of_a_job_is_the_same_job():
    job = load_job(document())
    entry = job.document()["attributes"]["age"]
    assert entry == {
        "role": "quasi-identifying",
        "microaggregation": "mean",
        "coding": {"top": 89},
        "nulls": "value",
    }
    assert load_job(job.document()) == job


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "sensitive", "coding": {}}, ["coding", "at least one of bottom, top, round_to"]),
        ({"role": "sensitive", "coding": {"bottom": 5, "top": 5}}, ["bottom", "must be below top"]),
        ({"role": "sensitive", "coding": {"round_to": 0}}, ["round_to", "above 0"]),
        ({"role": "sensitive", "coding": {"top": "5"}}, ["top"]),
        ({"role": "sensitive", "coding": {"top": True}}, ["top"]),
        ({"role": "sensitive", "coding": {"top": float("inf")}}, ["top"]),
        ({"role": "sensitive", "coding": {"top": 5}, "order": "date"}, ["order is date", "integer or decimal"]),
        ({"role": "identifying", "coding": {"top": 5}}, ["coding", "only for sensitive and insensitive"]),
        (
            {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "coding": {"top": 5}},
            ["coding", "minimum_level"],
        ),
        ({"role": "sensitive", "microaggregation": "mean"}, ["microaggregation: only for quasi-identifying"]),
        ({"role": "quasi-identifying", "microaggregation": "sum"}, ["microaggregation"]),
        (
            {"role": "quasi-identifying", "microaggregation": "mean", "hierarchy": {"builder": "flat"}},
            ["hierarchy: not for a column with microaggregation"],
        ),
        ({"role": "quasi-identifying", "microaggregation": "mean", "weight": 2.0}, ["weight: not for a column"]),
        ({"role": "quasi-identifying", "microaggregation": "mean", "order": "text"}, ["use mode"]),
        (
            {"role": "quasi-identifying"},
            ["needs a hierarchy, such as hierarchy: {builder: flat}", "or microaggregation"],
        ),
    ],
)
def test_columns_that_are_refused(column, words):
    with pytest.raises(InvalidJob) as problem:
        load_job(document(attributes={"other": column}))
    assert all(word in str(problem.value) for word in words), problem.value


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"subject": "mrn", "unit": None},
            ["microaggregation", "does not go with subject", "give the column a hierarchy"],
        ),
        ({"privacy": [{"model": "k-anonymity", "k": 2}]}, ["classes of 2 records", "k of at least 3"]),
        (
            {"attributes": {"zip": {"role": "quasi-identifying", "microaggregation": "mode"}}},
            ["at least one column must be quasi-identifying and have a hierarchy"],
        ),
        (
            {"privacy": [{"model": "k-anonymity", "k": 3}, {"model": "k-map", "k": 9, "population": "people.csv"}]},
            ["does not go with privacy.1: k-map", "give the column a hierarchy"],
        ),
        (
            {
                "privacy": [
                    {"model": "k-anonymity", "k": 3},
                    {"model": "population-uniqueness", "threshold": 0.1, "sampling_fraction": 0.1},
                ]
            },
            ["does not go with privacy.1: population-uniqueness"],
        ),
        ({"risk": {"population": "people.csv"}}, ["does not go with risk.population"]),
        (
            {"privacy": [{"model": "k-anonymity", "k": 3}, {"model": "k-map", "k": 3, "subset": "some.csv"}]},
            ["does not go with a subset"],
        ),
    ],
)
def test_jobs_that_are_refused(changes, words):
    made = {key: value for key, value in document(**changes).items() if value is not None}
    with pytest.raises(InvalidJob) as problem:
        load_job(made)
    assert all(word in str(problem.value) for word in words), problem.value
