"""Which jobs may ask how useful their release is."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job

AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}


def job(usefulness, **changes):
    attributes = {
        "id": {"role": "identifying"},
        "age": AGE,
        "bmi": {"role": "quasi-identifying", "microaggregation": "mean"},
        "diagnosis": {"role": "sensitive"},
        "stay": {"role": "insensitive"},
    }
    document = {
        "name": "stays",
        "unit": "record",
        "attributes": attributes,
        "privacy": [{"model": "k-anonymity", "k": 5}],
        "usefulness": usefulness,
        **changes,
    }
    return load_job({key: value for key, value in document.items() if value is not None})


def test_what_a_job_may_ask_for():
    found = job({"targets": ["diagnosis"], "columns": ["age", "stay", "diagnosis"]}).usefulness
    assert (found.folds, found.records) == (5, 10_000)
    assert job(None).usefulness is None
    attributes = {"id": {"role": "identifying"}, "age": AGE, "stay": {"role": "insensitive"}}
    assert job({"columns": ["age"]}, subject="id", unit=None, attributes=attributes).usefulness is not None


@pytest.mark.parametrize(
    ("usefulness", "words"),
    [
        ({}, "name at least one column under targets or columns"),
        ({"targets": ["age"]}, r"usefulness\.targets\.0: 'age' must be a column whose values stay as they are"),
        ({"targets": ["nothing"]}, r"usefulness\.targets\.0: 'nothing' must be"),
        ({"columns": ["age", "id"]}, r"usefulness\.columns\.1: 'id' must be a released column"),
        ({"columns": ["bmi"]}, r"usefulness\.columns\.0: 'bmi' is aggregated"),
        ({"columns": ["age", "age"]}, "names a column twice"),
        ({"columns": ["age"], "folds": 1}, r"usefulness\.folds"),
        ({"columns": ["age"], "folds": 21}, r"usefulness\.folds"),
        ({"columns": ["age"], "records": 10}, r"usefulness\.records"),
        ({"columns": ["age"], "seed": 1}, r"usefulness\.seed"),
        ({"columns": ["age"], "model": "tree"}, r"usefulness\.model"),
    ],
)
def test_what_it_may_not_ask_for(usefulness, words):
    with pytest.raises(InvalidJob, match=words):
        job(usefulness)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"backend": "sql", "source": {"conn_id": "db", "table": "stays"}}, "backend: sql"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, words):
    attributes = {"id": {"role": "identifying"}, "age": AGE, "stay": {"role": "insensitive"}}
    with pytest.raises(InvalidJob, match=words):
        job({"columns": ["age"]}, attributes=attributes, **changes)


def test_linked_tables_are_refused():
    tables = {
        name: {"attributes": {"id": {"role": "identifying"}, name: {**AGE}}, "source": {"path": f"{name}.csv"}}
        for name in ("person", "visit")
    }
    with pytest.raises(InvalidJob, match="usefulness: does not go with tables"):
        job({"columns": ["person"]}, tables=tables, attributes=None, subject="id", unit=None)
