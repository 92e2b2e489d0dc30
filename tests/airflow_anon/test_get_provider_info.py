"""The provider's description, against Airflow's own schema and Airflow's own provider manager."""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path

import airflow
import jsonschema
import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.get_provider_info import get_provider_info
from airflow_anon.transport.connection import driver_parameters, engine_of, hook_of


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


def test_airflow_knows_the_connection_type_of_mariadb(monkeypatch):
    pytest.importorskip("pymysql")
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "mariadb://reader:pa%2Fss@db.example.org:3307/clinic?ssl_ca=%2Fca.pem")
    hook = hook_of("warehouse")
    url = hook.sqlalchemy_url
    assert (url.drivername, url.host, url.port, url.password) == ("mariadb+pymysql", "db.example.org", 3307, "pa/ss")
    assert url.database == "clinic"
    assert driver_parameters(hook) == {"ssl_ca": "/ca.pem"}


def test_mariadb_without_its_driver_says_what_to_install(monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "mariadb://reader@db.example.org/clinic")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(AirflowFailException, match=r"pip install airflow-anon\[mariadb\]"):
        engine_of(hook_of("warehouse"))
