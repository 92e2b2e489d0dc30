"""The first job file of several tables of OMOP CDM: it runs as it is, and holds no value."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from engine import InvalidData, InvalidJob, draft_linked_job, load_job, run
from engine.draft.linked import PERSON


def tables(persons=150, seed=1):
    rng = random.Random(seed)
    people = {
        "person_id": [90_000 + n for n in range(persons)],
        "gender_concept_id": [rng.choice([8507, 8532]) for _ in range(persons)],
        "year_of_birth": [rng.randint(1940, 2010) for _ in range(persons)],
        "person_source_value": [f"SECRET-{n}" for n in range(persons)],
    }
    owners = [person for person in people["person_id"] for _ in range(rng.randint(1, 2))]
    visits = {
        "visit_occurrence_id": [70_000 + n for n in range(len(owners))],
        "person_id": owners,
        "visit_concept_id": [rng.choice([9201, 9202]) for _ in owners],
        "provider_id": [rng.randint(1, 9) for _ in owners],
    }
    return {"person": pa.table(people), "visit_occurrence": pa.table(visits)}


def drafted(given=None, **keys):
    given = given or tables()
    sources = {name: {"path": f"{name}.parquet"} for name in given}
    return draft_linked_job(given, sources, {"path": "release"}, name="my omop", **keys)


def test_it_runs_as_it_is(tmp_path):
    draft = drafted()
    document = yaml.safe_load(draft.text)
    assert document["name"] == draft.name == "my-omop"
    assert (document["subject"], document["knows"]) == (PERSON, {"rows": 2})
    job = load_job(document)
    assert job.released_of_tables == {
        "person": ("gender_concept_id", "year_of_birth"),
        "visit_occurrence": ("visit_concept_id",),
    }
    assert document["tables"]["visit_occurrence"]["source"] == {"path": "visit_occurrence.parquet"}
    result = run(job, tables(), output=tmp_path / "release")
    assert result.report["risk"]["prosecutor"] <= 1 / job.minimum_persons
    files = [tmp_path / "release" / f"{name}.parquet" for name in tables()]
    assert sum(pq.read_metadata(file).num_rows for file in files) > 300


def test_neither_the_file_nor_what_is_said_holds_a_value():
    draft = drafted()
    told = draft.text + "\n".join(draft.lines)
    values = {str(value) for one in tables().values() for column in one.columns for value in column.to_pylist()}
    assert not any(value in told for value in values if len(value) > 3 and value != "2000")
    assert "person:" in draft.lines
    assert "visit_occurrence:" in draft.lines


def test_what_a_table_is_about_is_generalized():
    entry = yaml.safe_load(drafted().text)["tables"]["visit_occurrence"]["attributes"]["visit_concept_id"]
    assert entry == {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}


def test_a_column_of_several_tables_has_one_entry():
    given = tables()
    given["person"] = given["person"].append_column("provider_id", pa.nulls(given["person"].num_rows, pa.int64()))
    job = load_job(yaml.safe_load(drafted(given).text))
    assert job.tables["person"].attributes["provider_id"] == job.tables["visit_occurrence"].attributes["provider_id"]


def test_what_cannot_be_drafted():
    given = tables()
    with pytest.raises(InvalidJob, match="--table: names one table"):
        drafted({"person": given["person"]})
    with pytest.raises(InvalidJob, match="--omop: 'visits' is no table of OMOP CDM"):
        drafted({"person": given["person"], "visits": given["visit_occurrence"]})
    with pytest.raises(InvalidData, match="visit_occurrence lack the column 'person_id'"):
        drafted({**given, "visit_occurrence": given["visit_occurrence"].drop_columns([PERSON])})
    with pytest.raises(InvalidData, match="visit_occurrence has no records"):
        drafted({**given, "visit_occurrence": given["visit_occurrence"].slice(0, 0)})
