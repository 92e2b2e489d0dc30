"""The provider's description, against Airflow's own schema and Airflow's own provider manager."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import airflow
import jsonschema

from airflow_anon.get_provider_info import get_provider_info


def test_it_is_valid_in_airflows_schema():
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)


def test_airflow_finds_the_provider():
    """The entry point's name and the distribution's must agree, or Airflow ends with an error."""
    from airflow.providers_manager import ProvidersManager  # noqa: PLC0415 (looks at every installed package)

    assert ProvidersManager().providers["airflow-anon"].data["name"] == "De-identification"


def test_every_operator_is_in_a_listed_module():
    operators = importlib.import_module("airflow_anon.operators")
    homes = {getattr(operators, name).__module__ for name in operators.__all__}
    assert homes == {module for entry in get_provider_info()["operators"] for module in entry["python-modules"]}
