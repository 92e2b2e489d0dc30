"""Columns of the OMOP Common Data Model 5.4 (OHDSI), whose names say what they hold.

In: the name of a table of the model, and profiles of its columns. Out: proposals for the columns that the model names;
all others are proposed as in any table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.draft.profile import Profile
from engine.draft.roles import Proposal, proposal, with_fewer_quasi
from engine.errors import InvalidJob

CONCEPTS: Mapping[str, tuple[str, ...]] = {
    "person": (),
    "observation_period": (),
    "visit_occurrence": ("visit_concept_id", "discharged_to_concept_id"),
    "visit_detail": ("visit_detail_concept_id", "discharged_to_concept_id"),
    "condition_occurrence": ("condition_concept_id",),
    "drug_exposure": ("drug_concept_id",),
    "procedure_occurrence": ("procedure_concept_id",),
    "device_exposure": ("device_concept_id",),
    "measurement": ("measurement_concept_id", "value_as_number", "value_as_concept_id"),
    "observation": ("observation_concept_id", "value_as_number", "value_as_concept_id"),
    "death": ("cause_concept_id",),
    "note": ("note_class_concept_id",),
    "note_nlp": ("note_nlp_concept_id",),
    "specimen": ("specimen_concept_id",),
    "location": (),
    "care_site": ("place_of_service_concept_id",),
    "provider": ("specialty_concept_id",),
    "payer_plan_period": ("payer_concept_id",),
    "cost": ("total_charge", "total_cost"),
    "drug_era": ("drug_concept_id",),
    "dose_era": ("drug_concept_id",),
    "condition_era": ("condition_concept_id",),
    "episode": ("episode_concept_id",),
}
"""The tables of the model that hold records of persons or providers, and the columns of each that are its content."""
_QUASI = frozenset(
    {"gender_concept_id", "race_concept_id", "ethnicity_concept_id", "state", "county", "country_concept_id"}
)
_LEFT_OUT: Mapping[str, str] = {
    "_source_value": "the value of the source system, which may be anything",
    "_source_concept_id": "the code of the source system; the standard concept is beside it",
    "_type_concept_id": "where the record comes from, not what it says",
    "_datetime": "the moment; the date is beside it",
    "_time": "the moment; the date is beside it",
}
_TEXTS = frozenset(
    {
        "note_text",
        "note_title",
        "value_as_string",
        "sig",
        "stop_reason",
        "lot_number",
        "unique_device_id",
        "snippet",
        "lexical_variant",
        "location_source_value",
        "care_site_name",
        "provider_name",
        "npi",
        "dea",
        "address_1",
        "address_2",
        "month_of_birth",
        "day_of_birth",
        "production_id",
    }
)


def omop_proposals(table: str, found: Mapping[str, Profile]) -> dict[str, Proposal]:
    """Propose a role for each column of a table of the model.

    Raises
    ------
    InvalidJob
        The model has no such table.
    """
    name = table.rpartition(".")[2].strip('"').lower()
    if name not in CONCEPTS:
        raise InvalidJob(
            f"--omop: {name!r} is no table of OMOP CDM 5.4 with records of persons; these are {', '.join(CONCEPTS)}"
        )
    made = {column: _of_model(name, column.lower(), one) for column, one in found.items()}
    return with_fewer_quasi(made, max((one.records for one in found.values()), default=0))


def _of_model(table: str, column: str, profile: Profile) -> Proposal:
    if profile.type in {"empty", "other"}:
        return proposal(profile)
    if column in CONCEPTS[table] and not profile.is_nearly_unique:
        reason = "what the table is about; released as it is, and limited under privacy"
        return _made(profile, {"role": "sensitive"}, reason)
    if column in _QUASI:
        return _flat(profile, "known of a person")
    if column == "year_of_birth":
        hierarchy = {"builder": "interval", "widths": [5, 10, 20]}
        settings = {"role": "quasi-identifying", "hierarchy": hierarchy, "minimum_level": 1}
        return _made(profile, settings, "a year of birth tells ages over 89: decide whether to release ages instead")
    why = _why_left_out(table, column)
    return proposal(profile) if why is None else _made(profile, {"role": "identifying"}, f"{why}; left out")


def _why_left_out(table: str, column: str) -> str | None:
    if column in CONCEPTS[table]:
        return "nearly unique: round it in a query to release it"
    if column in _TEXTS:
        return "text or a detail that identifies"
    if column.endswith("_id") and not column.endswith("_concept_id"):
        return "a number of a person, record, provider or place"
    return next((reason for end, reason in _LEFT_OUT.items() if column.endswith(end)), None)


def _flat(profile: Profile, reason: str) -> Proposal:
    settings: dict[str, Any] = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}}
    if profile.missing_texts:
        settings["missing"] = list(profile.missing_texts)
    return _made(profile, settings, reason)


def _made(profile: Profile, settings: Mapping[str, Any], reason: str) -> Proposal:
    return Proposal(profile.column, settings, reason, profile=profile)
