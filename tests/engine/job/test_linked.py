"""Jobs with tables: what they may say."""

from __future__ import annotations

import copy

import pytest

from engine import InvalidJob, job_schema, load_job
from tests.engine.linked_jobs import PSEUDONYM, job


def changed(change, **keys):
    document = copy.deepcopy(job(**keys))
    change(document)
    return document


def of(table, **entry):
    return lambda document: document["tables"][table]["attributes"].update(entry)


FLAT = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
REFUSED = {
    "attributes beside tables": (lambda d: d.update(attributes={"age": FLAT}), "attributes and tables"),
    "a source beside tables": (lambda d: d.update(source={"path": "a.csv"}), "source and tables"),
    "one table": (lambda d: d.update(tables={"patient": d["tables"]["patient"]}), "names one table"),
    "no subject": (lambda d: [d.pop("subject"), d.pop("knows")], "need a subject"),
    "a table without the subject": (
        lambda d: d["tables"]["visit"]["attributes"].pop("person_id"),
        "'person_id' is no column of tables.visit",
    ),
    "another hierarchy": (of("visit", area=FLAT), "tables.visit.attributes.area: is not as in tables.patient"),
    "another case": (of("visit", SEX=FLAT), "differs from 'sex' of tables.patient only in case"),
    "the name of the index": (of("visit", Table=FLAT), "has a column of this name of its own"),
    "a name of a file": (
        lambda d: d["tables"].update({"Report": d["tables"].pop("visit")}),
        "'Report' is no name of a table",
    ),
    "a name with a path": (
        lambda d: d["tables"].update({"../x": d["tables"].pop("visit")}),
        "is no name of a table",
    ),
    "names that differ in case": (
        lambda d: d["tables"].update({"PATIENT": d["tables"]["patient"]}),
        "two names differ only in case",
    ),
    "another measure": (lambda d: d.update(utility={"measure": "precision"}), "utility.measure: precision"),
    "another backend": (lambda d: d.update(backend="duckdb"), "backend: duckdb"),
    "a start": (lambda d: d.update(search={"start": {"sex": 0}}), "search.start"),
    "a frontier": (lambda d: d.update(frontier={"policies": 10}), "frontier"),
    "missing values that are errors": (of("condition", code={**FLAT, "nulls": "error"}), "'code': nulls: error"),
    "sources in two places": (
        lambda d: [
            d["tables"]["patient"].update(source={"path": "a.csv"}),
            d["tables"]["visit"].update(source={"conn_id": "w", "table": "v"}),
            d["tables"]["condition"].update(source={"conn_id": "w", "table": "c"}),
        ],
        "their sources are in several places",
    ),
    "a source that is missing": (
        lambda d: d["tables"]["patient"].update(source={"path": "a.csv"}),
        "tables.visit.source, tables.condition.source: is missing",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_defined_over_tables_is_refused_by_name(case):
    change, match = REFUSED[case]
    with pytest.raises(InvalidJob) as refused:
        load_job(changed(change))
    assert match in str(refused.value)


def test_keys_between_tables_need_whole_persons_without_a_cap():
    accepted = {"role": "identifying", "action": "pseudonymize", "accept": "linked-rows"}
    with pytest.raises(InvalidJob, match=r"knows: with any-row single records .*'person_id', 'visit_id' join"):
        load_job(job(accepted, knows="any-row"))
    with pytest.raises(InvalidJob, match=r"max_rows: leaves out single records"):
        load_job(job(PSEUDONYM, max_rows=3))
    assert load_job(job(PSEUDONYM, knows={"rows": 2})).joining_keys == ["visit_id"]


def test_tables_have_the_columns_of_all_and_the_index_first():
    found = load_job(job())
    assert found.quasi_identifiers == ("table", "sex", "area", "ward", "code")
    assert found.attributes["table"].weight == 0
    assert found.attributes["table"].maximum_level == 0
    assert found.released_of_tables["visit"] == ("ward", "area")


def test_the_document_keeps_the_tables():
    found = load_job(job())
    assert "attributes" not in found.document()
    again = load_job(found.document())
    assert again == found
    assert again.sha256 == found.sha256


def test_paths_and_shared_hierarchies_of_tables_are_of_the_job_file(tmp_path):
    (tmp_path / "job.yaml").write_text("""
name: linked
subject: id
hierarchies: {sex: {builder: flat}}
tables:
  a:
    source: {path: a.csv}
    attributes: {id: {role: identifying}, sex: {role: quasi-identifying, hierarchy: {shared: sex}}}
  b: {source: {path: b.csv}, attributes: {id: {role: identifying}}}
privacy: [{model: k-anonymity, k: 2}]
""")
    found = load_job(tmp_path / "job.yaml")
    assert found.tables["a"].source.path == str(tmp_path / "a.csv")
    assert found.attributes["sex"].hierarchy.builder == "flat"


def test_a_job_needs_attributes_or_tables():
    document = job()
    del document["tables"]
    with pytest.raises(InvalidJob, match="attributes: this key is required; or tables, for a job of several"):
        load_job(document)
    with pytest.raises(InvalidJob, match="attributes: needs at least 1 entry"):
        load_job({**document, "attributes": {}})


def test_the_schema_has_tables():
    schema = job_schema()
    assert "LinkedTable" in schema["$defs"]
    assert "tables" in schema["properties"]
