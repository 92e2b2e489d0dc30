"""The tables have the columns and types of the OMOP Common Data Model 5.4."""

from __future__ import annotations

import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.types import Date, DateTime, Float, Integer, String

from airflow_anon.demo.schema import METADATA

# Written down from the model's table definitions (OMOP_CDMv5.4_Field_Level.csv): name, type, whether required.
CDM = {
    "person": """person_id i! gender_concept_id i! year_of_birth i! month_of_birth i day_of_birth i birth_datetime t
        race_concept_id i! ethnicity_concept_id i! location_id i provider_id i care_site_id i person_source_value s
        gender_source_value s gender_source_concept_id i race_source_value s race_source_concept_id i
        ethnicity_source_value s ethnicity_source_concept_id i""",
    "location": """location_id i! address_1 s address_2 s city s state s zip s county s location_source_value s
        country_concept_id i country_source_value s latitude f longitude f""",
    "visit_occurrence": """visit_occurrence_id i! person_id i! visit_concept_id i! visit_start_date d!
        visit_start_datetime t visit_end_date d! visit_end_datetime t visit_type_concept_id i! provider_id i
        care_site_id i visit_source_value s visit_source_concept_id i admitted_from_concept_id i
        admitted_from_source_value s discharged_to_concept_id i discharged_to_source_value s
        preceding_visit_occurrence_id i""",
    "condition_occurrence": """condition_occurrence_id i! person_id i! condition_concept_id i! condition_start_date d!
        condition_start_datetime t condition_end_date d condition_end_datetime t condition_type_concept_id i!
        condition_status_concept_id i stop_reason s provider_id i visit_occurrence_id i visit_detail_id i
        condition_source_value s condition_source_concept_id i condition_status_source_value s""",
    "death": """person_id i! death_date d! death_datetime t death_type_concept_id i cause_concept_id i
        cause_source_value s cause_source_concept_id i""",
}
TYPES = {"i": Integer, "d": Date, "t": DateTime, "s": String, "f": Float}


@pytest.mark.parametrize("table", CDM)
def test_columns_and_types(warehouse, table):
    words = CDM[table].split()
    expected = [(name, TYPES[kind[0]], kind.endswith("!")) for name, kind in zip(words[::2], words[1::2], strict=True)]
    columns = inspect(warehouse).get_columns(table)
    assert [column["name"] for column in columns] == [name for name, _, _ in expected]
    assert [not column["nullable"] for column in columns] == [required for _, _, required in expected]
    for column, (_, kind, _) in zip(columns, expected, strict=True):
        assert isinstance(column["type"], kind)


@pytest.mark.postgres
def test_postgresql_reflects_the_same_columns(postgres_database):
    engine = create_engine(postgres_database)
    METADATA.create_all(engine)
    for name, table in METADATA.tables.items():
        reflected = {column["name"]: column for column in inspect(engine).get_columns(name)}
        assert list(reflected) == [column.name for column in table.columns]
        for column in table.columns:
            assert isinstance(reflected[column.name]["type"], column.type._type_affinity)
            assert reflected[column.name]["nullable"] == column.nullable
    engine.dispose()
