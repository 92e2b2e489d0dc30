"""The rows of the warehouse: the drawn people, visits and diagnoses in the columns of the tables.

In: the number of persons, and a seed. Out: one Arrow table for each table of `schema`, with its column names; columns
for which the generator has no values are left out. The same arguments give the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_anon.demo import visits as kinds
from airflow_anon.demo.conditions import Conditions, code_names, draw_conditions, main_codes
from airflow_anon.demo.dates import REFERENCE_DAY, age_in_years, year_month_day
from airflow_anon.demo.diagnoses import Catalogue, catalogue
from airflow_anon.demo.geography import RACES
from airflow_anon.demo.names import street_addresses
from airflow_anon.demo.population import People, draw_identities, draw_people
from airflow_anon.demo.visits import DISPOSITIONS, Visits, draw_visits

_RECORD_OF_CARE = 32817  # OMOP type concept "EHR"
_UNITED_STATES = 42046186
_PRINCIPAL, _SECONDARY = 32903, 32908  # OMOP condition status concepts
_NO_CONCEPT = 0
# Source value and OMOP concept, by code; the last one means unknown (codes 2 and -1).
_GENDERS = (("M", 8507), ("F", 8532), ("U", _NO_CONCEPT))
_RACES = (*RACES, (None, _NO_CONCEPT))
_ETHNICITIES = (("Not Hispanic or Latino", 38003564), ("Hispanic or Latino", 38003563), (None, _NO_CONCEPT))
_VISIT_KINDS = (("inpatient", 9201), ("emergency", 9203), ("outpatient", 9202))
_DISPOSITIONS = (*DISPOSITIONS, (None, _NO_CONCEPT))


@dataclass(frozen=True)
class _Drawn:
    people: People
    visits: Visits
    conditions: Conditions
    catalogue: Catalogue

    @property
    def code_names(self) -> np.ndarray:
        return code_names(self.catalogue)


def _ids(count: int) -> pa.Array:
    return pa.array(np.arange(1, count + 1, dtype=np.int32))


def _id(index: np.ndarray) -> pa.Array:
    """Turn indices (from 0) into keys (from 1)."""
    return pa.array((index + 1).astype(np.int32))


def _same(value: Any, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.int32() if isinstance(value, int) else pa.string()), count)


def _texts(values: np.ndarray, known: np.ndarray | None = None) -> pa.Array:
    """Make a text column, null where `known` is false."""
    return pa.array(values, type=pa.string(), mask=None if known is None else ~known)


def _integers(values: np.ndarray) -> pa.Array:
    return pa.array(values.astype(np.int32))


def _days(values: np.ndarray) -> pa.Array:
    return pa.array(values.astype("datetime64[D]"), type=pa.date32())


def _coded(codes: np.ndarray, meaning: tuple[tuple[str | None, int], ...]) -> tuple[pa.Array, pa.Array]:
    """Look up source value and concept of each code."""
    index = pa.array(np.where(codes < 0, len(meaning) - 1, codes).astype(np.int32))
    texts, concepts = zip(*meaning, strict=True)
    return pa.array(texts, pa.string()).take(index), pa.array(concepts, pa.int32()).take(index)


def _location(people: People, rng: np.random.Generator) -> pa.Table:
    places, homes = people.places, people.homes
    return pa.table(
        {
            "location_id": _ids(len(homes)),
            "address_1": pa.array(street_addresses(len(homes), rng)),
            "city": _texts(places.city[homes]),
            "state": _texts(places.state[homes]),
            "zip": _texts(places.zip[homes], people.zip_known),
            "county": _texts(places.county[homes]),
            "location_source_value": pa.array([f"L{number}" for number in range(1, len(homes) + 1)]),
            "country_concept_id": _same(_UNITED_STATES, len(homes)),
            "country_source_value": _same("US", len(homes)),
        }
    )


def _person(people: People, mrn: list[str | None]) -> pa.Table:
    year, month, day = year_month_day(people.birth)
    gender, gender_concept = _coded(people.sex, _GENDERS)
    race, race_concept = _coded(people.race, _RACES)
    ethnicity, ethnicity_concept = _coded(people.hispanic, _ETHNICITIES)
    return pa.table(
        {
            "person_id": _ids(len(year)),
            "gender_concept_id": gender_concept,
            "year_of_birth": _integers(year),
            "month_of_birth": _integers(month),
            "day_of_birth": _integers(day),
            "birth_datetime": pa.array(people.birth.astype("datetime64[s]"), type=pa.timestamp("s")),
            "race_concept_id": race_concept,
            "ethnicity_concept_id": ethnicity_concept,
            "location_id": _id(people.home),
            "person_source_value": pa.array(mrn, pa.string()),
            "gender_source_value": gender,
            "race_source_value": race,
            "ethnicity_source_value": ethnicity,
        }
    )


def _visit_occurrence(visits: Visits) -> pa.Table:
    count = len(visits.person)
    kind, kind_concept = _coded(visits.kind, _VISIT_KINDS)
    disposition, disposition_concept = _coded(visits.disposition, _DISPOSITIONS)
    return pa.table(
        {
            "visit_occurrence_id": _ids(count),
            "person_id": _id(visits.person),
            "visit_concept_id": kind_concept,
            "visit_start_date": _days(visits.start),
            "visit_end_date": _days(visits.end),
            "visit_type_concept_id": _same(_RECORD_OF_CARE, count),
            "visit_source_value": kind,
            "discharged_to_concept_id": disposition_concept,
            "discharged_to_source_value": disposition,
        }
    )


def _condition_occurrence(drawn: _Drawn) -> pa.Table:
    conditions, count = drawn.conditions, len(drawn.conditions.visit)
    status, status_concept = _coded(
        np.where(conditions.principal, 0, 1), (("principal", _PRINCIPAL), ("secondary", _SECONDARY))
    )
    return pa.table(
        {
            "condition_occurrence_id": _ids(count),
            "person_id": _id(drawn.visits.person[conditions.visit]),
            "condition_concept_id": _same(_NO_CONCEPT, count),
            "condition_start_date": _days(conditions.start),
            "condition_type_concept_id": _same(_RECORD_OF_CARE, count),
            "condition_status_concept_id": status_concept,
            "visit_occurrence_id": _id(conditions.visit),
            "condition_source_value": _texts(drawn.code_names[conditions.code]),
            "condition_source_concept_id": _same(_NO_CONCEPT, count),
            "condition_status_source_value": status,
        }
    )


def _death(drawn: _Drawn, main: np.ndarray) -> pa.Table:
    dead = np.flatnonzero(~np.isnat(drawn.people.death))
    return pa.table(
        {
            "person_id": _id(dead),
            "death_date": _days(drawn.people.death[dead]),
            "death_type_concept_id": _same(_RECORD_OF_CARE, len(dead)),
            "cause_concept_id": _same(_NO_CONCEPT, len(dead)),
            "cause_source_value": _texts(drawn.code_names[main[dead]], main[dead] >= 0),
        }
    )


def _person_summary(drawn: _Drawn, main: np.ndarray) -> pa.Table:
    return pa.table(
        {
            "person_id": _ids(len(main)),
            "age_in_years": _integers(age_in_years(drawn.people.birth, REFERENCE_DAY)),
            "main_condition_source_value": _texts(drawn.code_names[main], main >= 0),
        }
    )


def _stay_summary(drawn: _Drawn) -> pa.Table:
    visits, conditions = drawn.visits, drawn.conditions
    stays = np.flatnonzero(visits.kind == kinds.INPATIENT)
    principal = conditions.code[conditions.principal]
    return pa.table(
        {
            "visit_occurrence_id": _id(stays),
            "length_of_stay": _integers((visits.end - visits.start)[stays]),
            "age_in_years": _integers(visits.age[stays]),
            "principal_condition_source_value": _texts(drawn.code_names[principal[stays]]),
        }
    )


def generate(persons: int, seed: int) -> dict[str, pa.Table]:
    """Draw the warehouse.

    Parameters
    ----------
    persons : int
        Number of persons, 1 or more; the other tables follow from it.
    seed : int
        0 or more.

    Returns
    -------
    dict of str to pyarrow.Table
        By table name.
    """
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)]
    people, codes = draw_people(persons, streams[0]), catalogue()
    visits = draw_visits(people, streams[1])
    drawn = _Drawn(people, visits, draw_conditions(people, visits, codes, streams[2]), codes)
    identities = draw_identities(people, streams[3])
    main = main_codes(people, visits, drawn.conditions)
    identity = {"person_id": _ids(persons)} | {name: pa.array(texts, pa.string()) for name, texts in identities.items()}
    return {
        "location": _location(people, streams[4]),
        "person": _person(people, identities["mrn"]),
        "patient_identity": pa.table(identity),
        "visit_occurrence": _visit_occurrence(visits),
        "condition_occurrence": _condition_occurrence(drawn),
        "death": _death(drawn, main),
        "person_summary": _person_summary(drawn, main),
        "stay_summary": _stay_summary(drawn),
    }
