"""The views that the jobs read, recomputed from the tables of the model in plain Python."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict

import pytest
from sqlalchemy import text

from airflow_anon.demo.warehouse import direct_identifiers


def mappings(engine, query):
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


def age(person, day):
    """Count birthdays."""
    birthday_passed = (day.month, day.day) >= (person["month_of_birth"], person["day_of_birth"])
    return day.year - person["year_of_birth"] - (not birthday_passed)


@pytest.fixture(scope="module")
def persons(warehouse):
    found = mappings(
        warehouse,
        "SELECT p.*, l.zip, i.given_name, i.family_name FROM person p JOIN location l ON l.location_id = p.location_id"
        " JOIN patient_identity i ON i.person_id = p.person_id",
    )
    return {person["person_id"]: person for person in found}


def test_demographics(warehouse, persons):
    codes = defaultdict(list)
    query = "SELECT person_id, condition_source_value FROM condition_occurrence ORDER BY condition_occurrence_id"
    for condition in mappings(warehouse, query):
        codes[condition["person_id"]].append(condition["condition_source_value"])
    expected = [
        {
            "mrn": person["person_source_value"],
            "given_name": person["given_name"],
            "family_name": person["family_name"],
            "age": age(person, dt.date(2026, 1, 1)),
            "gender": person["gender_source_value"],
            "race": person["race_source_value"],
            "ethnicity": person["ethnicity_source_value"],
            "zip": person["zip"],
            # most_common keeps the order of first appearance among equals
            "diagnosis": Counter(codes[key]).most_common(1)[0][0] if codes[key] else None,
        }
        for key, person in persons.items()
    ]
    view = mappings(warehouse, "SELECT * FROM deid_demographics")
    assert list(view[0]) == list(expected[0])
    assert sorted(view, key=lambda row: row["mrn"]) == sorted(expected, key=lambda row: row["mrn"])


def test_hospital_stays(warehouse, persons):
    expected = []
    query = (
        "SELECT v.*, c.condition_source_value FROM visit_occurrence v JOIN condition_occurrence c"
        " ON c.visit_occurrence_id = v.visit_occurrence_id AND c.condition_status_concept_id = 32903"
        " WHERE v.visit_concept_id = 9201"
    )
    for visit in mappings(warehouse, query):
        person = persons[visit["person_id"]]
        start, end = (dt.date.fromisoformat(visit[f"visit_{side}_date"]) for side in ("start", "end"))
        expected.append(
            {
                "mrn": person["person_source_value"],
                "admission_date": start.isoformat(),
                "length_of_stay": (end - start).days,
                "age": age(person, start),
                "gender": person["gender_source_value"],
                "zip": person["zip"],
                "diagnosis": visit["condition_source_value"],
                "discharge_disposition": visit["discharged_to_source_value"],
            }
        )
    view = mappings(warehouse, "SELECT * FROM deid_hospital_stays")
    assert list(view[0]) == list(expected[0])
    assert Counter(map(repr, view)) == Counter(map(repr, expected))


def test_direct_identifiers_are_all_there_and_in_no_released_column(warehouse):
    identifiers = list(direct_identifiers(warehouse))
    found = set()
    for table in ("patient_identity", "location", "person"):
        for row in mappings(warehouse, f"SELECT * FROM {table}"):
            names = ("mrn", "given_name", "family_name", "phone", "email", "ssn", "address_1", "person_source_value")
            found.update(row[name] for name in names if row.get(name) is not None)
    assert set(identifiers) == found
    assert len(identifiers) == len(set(identifiers))
    assert min(map(len, identifiers)) >= 6
    released = set()
    for view in ("deid_demographics", "deid_hospital_stays"):
        for row in mappings(warehouse, f"SELECT * FROM {view}"):
            released.update(str(value) for name, value in row.items() if not name.endswith(("mrn", "_name")))
    cells = "\n".join(released)
    assert [identifier for identifier in identifiers if identifier in cells] == []
