"""The lineage of single columns: what was done to their values, and that pseudonyms and shifts mask them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine import load_job

pytest.importorskip("airflow.providers.openlineage", reason="needs apache-airflow-providers-openlineage")

from airflow_anon.observe.lineage_datasets import Column, Name, Origin
from airflow_anon.observe.lineage_facets import column_lineage

TABLE = Name("sqlite:///clinic.db", "visit")


def test_pseudonyms_and_shifted_dates_are_transformations_that_mask():
    date = {"builder": "date"}
    job = load_job(
        {
            "name": "visits",
            "subject": "mrn",
            "attributes": {
                "mrn": {"role": "identifying"},
                "visit": {"role": "identifying", "action": "pseudonymize"},
                "born": {"role": "quasi-identifying", "action": "shift", "hierarchy": date},
                "admitted": {"role": "insensitive", "action": "shift"},
                "ward": {"role": "insensitive"},
            },
            "shift": {"days": 30},
            "privacy": [{"model": "k-anonymity", "k": 5}],
        }
    )
    origin = Origin((TABLE,), {name: (Column(TABLE, name),) for name in job.attributes})
    facet = column_lineage(job, origin, {"born": SimpleNamespace(level=0, highest=5)})["columnLineage"]
    told = {name: field.inputFields[0].transformations[0] for name, field in facet.fields.items()}
    assert set(told) == {"visit", "born", "admitted", "ward"}
    assert {name: one.masking for name, one in told.items()} == {
        "visit": True,
        "born": True,
        "admitted": True,
        "ward": False,
    }
    assert told["visit"].description == "identifying: pseudonyms by a secret key"
    assert told["admitted"].description == "insensitive: dates, shifted by the days of each person"
    assert told["born"].description.startswith("level 0 of 5: shifted by the days of each person, not generalized")


def test_coded_and_aggregated_columns_are_transformations_that_mask():
    job = load_job(
        {
            "name": "visits",
            "attributes": {
                "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "zip"}},
                "age": {"role": "quasi-identifying", "microaggregation": "mean"},
                "cost": {"role": "sensitive", "coding": {"top": 1000}},
                "income": {"role": "insensitive", "noise": {"percent": 25}},
                "ward": {"role": "insensitive", "pram": {}},
                "height": {"role": "insensitive", "microaggregation": "mdav"},
            },
            "privacy": [{"model": "k-anonymity", "k": 5}],
        }
    )
    origin = Origin((TABLE,), {name: (Column(TABLE, name),) for name in job.attributes})
    facet = column_lineage(job, origin, {"zip": SimpleNamespace(level=1, highest=5)})["columnLineage"]
    told = {name: field.inputFields[0].transformations[0] for name, field in facet.fields.items()}
    assert (told["age"].subtype, told["age"].masking, told["cost"].masking) == ("AGGREGATION", True, True)
    assert told["age"].description == "quasi-identifying: the mean of its equivalence class for each record"
    assert told["cost"].description == "sensitive: coded numbers"
    assert told["income"].description == "insensitive: with random noise of 25% of the standard deviation"
    assert told["ward"].description == "insensitive: some categories changed at random"
    assert told["height"].description == "insensitive: the mean of its group of alike records for each record"
    assert all(told[name].masking for name in ("income", "ward", "height"))


def test_a_local_recoding_generalizes_record_by_record():
    job = load_job(
        {
            "name": "visits",
            "transformation": "local-recoding",
            "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}},
            "privacy": [{"model": "k-anonymity", "k": 5}],
        }
    )
    origin = Origin((TABLE,), {"age": (Column(TABLE, "age"),)})
    facet = column_lineage(job, origin, {"age": SimpleNamespace(level=None, highest=5)})["columnLineage"]
    (told,) = facet.fields["age"].inputFields[0].transformations
    assert told.masking
    assert told.description.startswith("generalized record by record to levels 0 to 5: mixed levels")
