"""What a job says of drift, and what does not go with it."""

from __future__ import annotations

import copy

import pytest

from engine import InvalidJob, load_job
from tests.engine.jobs import BASE, DIVERSITY

FACTS = {"facts": "facts.json"}


def job(drift, **changes):
    return load_job({**copy.deepcopy(BASE), "drift": {**FACTS, **drift}, **changes})


def test_defaults_and_the_path_of_the_facts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = job({})
    assert found.drift.facts == str(tmp_path / "facts.json")
    assert (found.drift.least_records, found.drift.most_records, found.drift.distance) == (0.5, 2.0, 0.2)
    assert str(tmp_path) not in str(found)
    assert found.prefers == "star"


def test_quarantined_records_are_left_out():
    assert job({"new_values": {"zip": "quarantine"}}).prefers == "drop"


@pytest.mark.parametrize(
    ("drift", "changes", "named"),
    [
        ({"facts": "release/facts.json"}, {}, r"drift\.facts: .*outside"),
        ({"new_values": {"note": "refuse"}}, {}, r"drift\.new_values: 'note'"),
        ({"new_values": {"person_id": "refuse"}}, {}, r"drift\.new_values: 'person_id'"),
        ({"new_values": {"diagnosis": "refuse"}}, {}, "in a privacy model"),
        ({"new_values": {"zip": "ignore"}}, {}, "drift.new_values.zip"),
        ({"least_records": 1.5}, {}, "drift.least_records"),
        ({"most_records": 0.5}, {}, "drift.most_records"),
        (
            {"new_values": {"zip": "quarantine"}},
            {"suppress": "small-classes"},
            r"small-classes \(a quarantine [^:]*\): does not go",
        ),
        (
            {"new_values": {"zip": "quarantine"}},
            {"risk": {"population": "people.csv"}},
            r"population \(beside a quarantine\): does not go",
        ),
        ({}, {"choose": {"from": "frontier", "maximum_risk": 0.1}}, r"choose \(its policy [^:]*\): does not go"),
    ],
)
def test_what_does_not_go_with_it_is_named(drift, changes, named):
    with pytest.raises(InvalidJob, match=named):
        job(drift, **changes)


def test_a_sensitive_column_of_a_model_can_be_refused_and_not_quarantined():
    privacy = [*BASE["privacy"], DIVERSITY]
    assert job({"new_values": {"diagnosis": "refuse"}}, privacy=privacy).drift.new_values == {"diagnosis": "refuse"}
    with pytest.raises(InvalidJob, match="must be a column that is quasi-identifying"):
        job({"new_values": {"diagnosis": "quarantine"}}, privacy=privacy)


def test_it_does_not_run_inside_a_warehouse():
    with pytest.raises(InvalidJob, match="drift: backend sql does not do that inside a warehouse"):
        job({}, backend="sql", source={"conn_id": "w", "table": "people"}, output={"conn_id": "w", "table": "out"})
