"""The JSON Schema accepts and refuses what loading a job accepts and refuses."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

import engine
from engine import InvalidJob, job_schema, load_job
from tests.engine.jobs import DIVERSITY, changed


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
    ],
)
def test_the_schema_accepts_what_is_accepted(path, value):
    document = changed(path, value)
    job = load_job(document)
    assert list(validator().iter_errors(document)) == []
    assert list(validator().iter_errors(job.document())) == []


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
