"""The tables of the warehouse: five of the OMOP Common Data Model 5.4, and further tables of the site.

Names, columns and types of `person`, `location`, `visit_occurrence`, `condition_occurrence` and `death` are those of
the model. `patient_identity` has data that hospitals keep outside the model; `person_summary` and `stay_summary` have
figures that portable SQL cannot compute. The jobs read the views; their SQL is the same on SQLite and PostgreSQL.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Date, DateTime, Float, Integer, MetaData, String, Table

METADATA = MetaData()

_TYPES = {"integer": Integer, "date": Date, "datetime": DateTime, "float": Float, "bigint": BigInteger}


def _table(name: str, key: str | None, columns: str) -> Table:
    """Make a table from lines `type: column column ...`; a type is a name or `text LENGTH`, with `!` for NOT NULL."""
    made = []
    for line in columns.strip().splitlines():
        kind, names = line.split(":")
        kind, required = kind.strip().rstrip("!"), kind.strip().endswith("!")
        type_ = String(int(kind.removeprefix("text "))) if kind.startswith("text ") else _TYPES[kind]()
        made += [
            Column(column, type_, primary_key=column == key, autoincrement=False, nullable=not required)
            for column in names.split()
        ]
    return Table(name, METADATA, *made)


LOCATION = _table("location", "location_id", """
    integer!: location_id
    text 50: address_1 address_2 city
    text 2: state
    text 9: zip
    text 20: county
    text 50: location_source_value
    integer: country_concept_id
    text 80: country_source_value
    float: latitude longitude""")  # fmt: skip

PERSON = _table("person", "person_id", """
    integer!: person_id gender_concept_id year_of_birth
    integer: month_of_birth day_of_birth
    datetime: birth_datetime
    integer!: race_concept_id ethnicity_concept_id
    integer: location_id provider_id care_site_id
    text 50: person_source_value gender_source_value
    integer: gender_source_concept_id
    text 50: race_source_value
    integer: race_source_concept_id
    text 50: ethnicity_source_value
    integer: ethnicity_source_concept_id""")  # fmt: skip

VISIT_OCCURRENCE = _table("visit_occurrence", "visit_occurrence_id", """
    integer!: visit_occurrence_id person_id visit_concept_id
    date!: visit_start_date
    datetime: visit_start_datetime
    date!: visit_end_date
    datetime: visit_end_datetime
    integer!: visit_type_concept_id
    integer: provider_id care_site_id
    text 50: visit_source_value
    integer: visit_source_concept_id admitted_from_concept_id
    text 50: admitted_from_source_value
    integer: discharged_to_concept_id
    text 50: discharged_to_source_value
    integer: preceding_visit_occurrence_id""")  # fmt: skip

CONDITION_OCCURRENCE = _table("condition_occurrence", "condition_occurrence_id", """
    integer!: condition_occurrence_id person_id condition_concept_id
    date!: condition_start_date
    datetime: condition_start_datetime
    date: condition_end_date
    datetime: condition_end_datetime
    integer!: condition_type_concept_id
    integer: condition_status_concept_id
    text 20: stop_reason
    integer: provider_id visit_occurrence_id visit_detail_id
    text 50: condition_source_value
    integer: condition_source_concept_id
    text 50: condition_status_source_value""")  # fmt: skip

DEATH = _table("death", "person_id", """
    integer!: person_id
    date!: death_date
    datetime: death_datetime
    integer: death_type_concept_id cause_concept_id
    text 50: cause_source_value
    integer: cause_source_concept_id""")  # fmt: skip

PATIENT_IDENTITY = _table("patient_identity", "person_id", """
    integer!: person_id
    text 50!: mrn given_name family_name
    text 50: phone
    text 120: email
    text 11: ssn""")  # fmt: skip

PERSON_SUMMARY = _table("person_summary", "person_id", """
    integer!: person_id age_in_years
    text 50: main_condition_source_value""")  # fmt: skip

STAY_SUMMARY = _table("stay_summary", "visit_occurrence_id", """
    integer!: visit_occurrence_id length_of_stay age_in_years
    text 50: principal_condition_source_value""")  # fmt: skip

MARKER = _table("demo_warehouse", "seed", """
    bigint!: seed
    integer!: persons
    text 50!: version""")  # fmt: skip

INDEXES = {
    "idx_visit_person_id_1": "visit_occurrence (person_id)",
    "idx_condition_person_id_1": "condition_occurrence (person_id)",
    "idx_condition_visit_id_1": "condition_occurrence (visit_occurrence_id)",
}
"""Not part of METADATA: they are created after the rows, and in this order, so that equal warehouses are equal
files."""

VIEWS = {
    "deid_demographics": """
        SELECT i.mrn, i.given_name, i.family_name, s.age_in_years AS age, p.gender_source_value AS gender,
               p.race_source_value AS race, p.ethnicity_source_value AS ethnicity, l.zip,
               s.main_condition_source_value AS diagnosis
        FROM person p
        JOIN person_summary s ON s.person_id = p.person_id
        JOIN patient_identity i ON i.person_id = p.person_id
        LEFT JOIN location l ON l.location_id = p.location_id""",
    "deid_hospital_stays": """
        SELECT p.person_source_value AS mrn, v.visit_start_date AS admission_date, s.length_of_stay,
               s.age_in_years AS age, p.gender_source_value AS gender, l.zip,
               s.principal_condition_source_value AS diagnosis,
               v.discharged_to_source_value AS discharge_disposition
        FROM stay_summary s
        JOIN visit_occurrence v ON v.visit_occurrence_id = s.visit_occurrence_id
        JOIN person p ON p.person_id = v.person_id
        LEFT JOIN location l ON l.location_id = p.location_id""",
}
"""The views that the jobs read: one row per person, and one row per inpatient stay."""
