"""What a job says of a source that tells changes, and what does not go with it."""

from __future__ import annotations

import copy

import pytest

from engine import InvalidJob, load_job
from tests.engine.jobs import BASE

SETTINGS = {"key": "person_id", "changed": "version", "list_keys": True, "overlap": 10, "kept_in": "kept"}


def job(settings=None, **changes):
    document = {**copy.deepcopy(BASE), "source": {"conn_id": "warehouse", "table": "person"}, **changes}
    document["attributes"]["version"] = {"role": "identifying"}
    given = {name: value for name, value in {**SETTINGS, **(settings or {})}.items() if value is not None}
    return load_job({**document, "incremental": given})


def test_defaults_and_the_path_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = job()
    assert found.incremental.kept_in == str(tmp_path / "kept")
    assert found.incremental.full_every == 7
    assert str(tmp_path) not in str(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"list_keys": None, "query": "SELECT person_id, number FROM log", "changed": "number"},
        {"list_keys": None, "deleted": "version"},
    ],
)
def test_each_way_to_see_deletions(settings):
    assert job(settings).incremental.overlap == 10


@pytest.mark.parametrize(
    ("settings", "changes", "named"),
    [
        ({"list_keys": None}, {}, "query, deleted, list_keys: rows that are deleted would stay"),
        ({"list_keys": False}, {}, "rows that are deleted would stay"),
        ({"deleted": "version"}, {}, "deleted, list_keys: say one of these alone"),
        ({"overlap": None}, {}, r"incremental\.overlap: this key is required"),
        ({"overlap": -1}, {}, r"incremental\.overlap"),
        ({"full_every": 0}, {}, r"incremental\.full_every"),
        ({"key": "number"}, {}, r"incremental\.key: is 'number', must be a column of attributes"),
        ({"changed": "number"}, {}, r"incremental\.changed: is 'number'"),
        ({"list_keys": None, "deleted": "note"}, {}, r"incremental\.deleted: column 'note' .* role identifying"),
        ({"kept_in": "release/kept"}, {}, r"incremental\.kept_in: .*outside"),
        ({"kept_in": "release"}, {}, r"incremental\.kept_in: .*outside"),
        ({}, {"source": {"path": "people.csv"}}, "a file does not tell what changed"),
    ],
)
def test_what_does_not_go_with_it_is_named(settings, changes, named):
    with pytest.raises(InvalidJob, match=named):
        job(settings, **changes)


def test_it_does_not_run_inside_a_warehouse():
    output = {"conn_id": "warehouse", "table": "released"}
    with pytest.raises(InvalidJob, match="incremental"):
        job(backend="sql", output=output)


def test_several_tables_are_read_in_full():
    """The state is of one table."""
    person = {"source": {"conn_id": "warehouse", "table": "person"}, "attributes": job().document()["attributes"]}
    document = {name: part for name, part in job().document().items() if name not in {"source", "attributes"}}
    with pytest.raises(InvalidJob, match="tables: does not go with incremental"):
        load_job({**document, "subject": "person_id", "tables": {"person": person, "visit": person}})
