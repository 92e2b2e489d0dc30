"""The JSON Schema accepts and refuses what loading a job accepts and refuses."""

from __future__ import annotations

import functools
from pathlib import Path

import jsonschema
import pytest
import yaml

import engine
from engine import InvalidJob, job_schema, load_job
from tests.engine.jobs import DIVERSITY, changed

PRESENCE = {"model": "delta-presence", "delta_min": 0.1, "delta_max": 0.5, "subset": "subset.csv"}


@functools.cache
def validator():
    schema = job_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["name"], "people"),
        (["attributes", "age", "hierarchy"], {"path": "age.csv"}),
        (["attributes", "age", "hierarchy"], {"path": "age.csv", "delimiter": ","}),
        (["utility"], {}),
        (["utility"], {"aggregate": "sum"}),
        (["utility"], {"measure": "precision"}),
        (["privacy"], [DIVERSITY]),
        (["dag"], {"schedule": None}),
        (["utility"], {"aggregate": "rank"}),
        (["privacy"], [{"model": "k-map", "k": 2, "population": "people.csv"}]),
        (["privacy"], [{"model": "k-map", "k": 2, "subset": "subset.csv"}, PRESENCE]),
        (["privacy"], [{"model": "average-risk", "threshold": 0.1}, {"model": "sample-uniqueness", "threshold": 0.0}]),
        (["privacy"], [{"model": "population-uniqueness", "threshold": 0.0, "sampling_fraction": 1.0}]),
        (["risk"], {"population": "people.csv", "sampling_fraction": 0.1, "threshold": 1.0}),
        (["attributes", "age", "missing"], [""]),
        (["attributes", "age", "unseen"], "suppress"),
    ],
)
def test_the_schema_accepts_what_is_accepted(path, value):
    document = changed(path, value)
    job = load_job(document)
    assert list(validator().iter_errors(document)) == []
    assert list(validator().iter_errors(job.document())) == []


@pytest.mark.parametrize(
    ("shared", "accepted"),
    [
        ({"extends": "a.yaml", "hierarchies": "b.yaml"}, True),
        ({"extends": ["a.yaml"], "hierarchies": {"age": {"path": "age.csv"}, "zip": "zip.csv"}}, True),
        ({"extends": 7}, False),
        ({"hierarchies": ["a"]}, False),
        ({"hierarchies": {"age": {"builder": "none"}}}, False),
    ],
)
def test_the_schema_knows_what_jobs_share(shared, accepted):
    """The files need not be there for an editor, so these are no jobs that can be loaded."""
    document = {**changed(["attributes", "age", "hierarchy"], {"shared": "age"}), **shared}
    assert (list(validator().iter_errors(document)) == []) is accepted


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["nmae"], 1),
        (["source", "delimeter"], ";"),
        (["attributes", "age", "wieght"], 1),
        (["attributes", "zip", "hierarchy", "lenght"], 1),
        (["attributes", "age", "role"], "quasi"),
        (["privacy", 0, "kk"], 1),
        (["privacy", 0, "k"], 1),
        (["privacy", 0], {"k": 5}),
        (["privacy"], []),
        (["attributes", "age", "hierarchy"], {}),
        (["utility"], {"measure": "losss"}),
        (["suppression_limit"], 1.5),
        (["output", "supressed"], "star"),
        (["name"], "../x"),
        (["utility"], {"aggregate": "ranked"}),
        (["privacy"], [{**PRESENCE, "delta_max": 1.1}]),
        (["privacy"], [{"model": "k-map", "k": 1, "subset": "subset.csv"}]),
        (["privacy"], [{"model": "average-risk", "threshold": 0.0}]),
        (["privacy"], [{"model": "population-uniqueness", "threshold": 0.1}]),
        (["risk"], {"sampling_fraction": 0.0}),
        (["risk"], {"populations": "people.csv"}),
        (["attributes", "age", "missing"], ""),
        (["attributes", "age", "unseen"], "drop"),
    ],
)
def test_the_schema_refuses_what_is_refused(path, value):
    document = changed(path, value)
    with pytest.raises(InvalidJob):
        load_job(document)
    assert list(validator().iter_errors(document)) != []


def test_the_schema_accepts_the_jobs_of_the_dags_folder():
    jobs = sorted((Path(engine.__file__).parents[1] / "dags" / "jobs").glob("*.yaml"))
    if not jobs:
        pytest.skip("no job file in dags/jobs")
    for path in jobs:
        assert list(validator().iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))) == [], path.name
