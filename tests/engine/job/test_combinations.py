"""`docs/combinations.md` against what is refused: every pair of its keys, in a job that is sound but for them."""

from __future__ import annotations

import copy
import itertools
import re
from pathlib import Path

import pytest

from engine import InvalidJob, load_job

PAGE = Path(__file__).parents[3] / "docs" / "combinations.md"
JOB = {
    "name": "stays",
    "source": {"path": "stays.csv"},
    "attributes": {
        "mrn": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "sex": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
        "ward": {"role": "sensitive"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
    "suppression_limit": 0.05,
}


PARTS = {
    "tables": {"subject": "mrn"},
    "subject": {"subject": "mrn"},
    "sample": {"sample": {"fraction": 0.5}},
    "pseudonymize": {"attributes": {"stay": {"role": "identifying", "action": "pseudonymize", "key_file": "a.key"}}},
    "shift": {
        "subject": "mrn",
        "shift": {"days": 90, "key_file": "b.key"},
        "attributes": {"admitted": {"role": "insensitive", "action": "shift"}},
    },
    "series": {"subject": "mrn", "series": {"vault": "stays.sqlite", "key_file": "c.key"}},
    "drift": {"drift": {"facts": "facts.json"}},
    "local-recoding": {"transformation": "local-recoding"},
    "choose": {"transformation": "policy", "frontier": {}, "choose": {"from": "frontier", "maximum_risk": 0.05}},
    "coding": {"attributes": {"cost": {"role": "sensitive", "order": "integer", "coding": {"round_to": 10}}}},
    "microaggregation": {"attributes": {"bmi": {"role": "quasi-identifying", "microaggregation": "mean"}}},
    "noise": {"attributes": {"income": {"role": "insensitive", "noise": {"percent": 10}}}},
    "usefulness": {"usefulness": {"columns": ["age"]}},
    "small-classes": {"suppress": "small-classes"},
    "duckdb": {"backend": "duckdb"},
    "spark": {"backend": "spark"},
}
ONE_KEY = {("local-recoding", "choose"), ("duckdb", "spark")}
"""Values of one key, which no job can say at once."""


def joined(first, second):
    made = copy.deepcopy(first)
    for key, value in second.items():
        both = isinstance(value, dict) and isinstance(made.get(key), dict)
        made[key] = joined(made[key], value) if both else copy.deepcopy(value)
    return made


def in_two_tables(job):
    """Write a job of one table as one of two, of which the first has the ages."""
    columns, rest = job["attributes"], {key: job[key] for key in job if key not in {"source", "attributes"}}
    stays = {name: column for name, column in columns.items() if name != "age"}
    persons = {name: columns[name] for name in ("mrn", "age")}
    tables = {"person": persons, "stay": stays}
    return {
        **rest,
        "tables": {
            name: {"source": {"path": f"{name}.csv"}, "attributes": attributes} for name, attributes in tables.items()
        },
    }


def is_refused(*names):
    job = JOB
    for name in names:
        job = joined(job, PARTS[name])
    job = in_two_tables(job) if "tables" in names else job
    try:
        load_job(job if "subject" in job else {**job, "unit": "record"})
    except InvalidJob:
        return True
    return False


def told():
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: set(re.findall(r"`([a-z-]+)`", others)) for name, others in rows}


@pytest.mark.parametrize("name", PARTS)
def test_each_key_is_taken_by_itself(name):
    assert not is_refused(name)


def test_the_page_names_the_pairs_that_are_refused_and_no_others():
    refused = {pair for pair in itertools.combinations(PARTS, 2) if pair not in ONE_KEY and is_refused(*pair)}
    page = told()
    assert page == {
        name: {other for pair in refused if name in pair for other in pair if other != name} for name in PARTS
    }
