"""What compose.yaml must keep: no secret in it, each service with what it needs and no more, starts in order."""

from __future__ import annotations

import re
from typing import Any

import pytest

PLACEHOLDER = re.compile(r"\{secret:([a-z_]+)\}")
ONE_SHOT = {"demo-warehouse", "migrate"}
AIRFLOW = {"api-server", "scheduler", "dag-processor", "triggerer"}
DATABASES = {"metadata", "warehouse", "research"}

Compose = dict[str, Any]


def with_secret(compose: Compose, secret: str) -> set[str]:
    return {name for name, service in compose["services"].items() if secret in service.get("secrets", [])}


def on_network(compose: Compose, network: str) -> set[str]:
    return {name for name, service in compose["services"].items() if network in service["networks"]}


def used_secrets(service: Compose) -> set[str]:
    values = [str(value) for value in service.get("environment", {}).values()]
    used = {name for value in values for name in PLACEHOLDER.findall(value)}
    used |= {value.removeprefix("/run/secrets/") for value in values if value.startswith("/run/secrets/")}
    if "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE" in service.get("environment", {}):
        used.add("ui_passwords")
    return used


def test_services_are_the_known_ones(compose: Compose) -> None:
    """The tests below speak of these; a new service must be thought about here."""
    assert set(compose["services"]) == ONE_SHOT | AIRFLOW | DATABASES


def test_each_service_gets_exactly_the_secrets_that_it_uses(compose: Compose) -> None:
    for name, service in compose["services"].items():
        assert set(service.get("secrets", [])) == used_secrets(service), name


def test_secrets_are_files_of_the_ignored_folder(compose: Compose) -> None:
    assert {name: entry["file"] for name, entry in compose["secrets"].items()} == {
        name: f"secrets/{name}" for service in compose["services"].values() for name in service.get("secrets", [])
    }


def test_no_value_is_a_password(compose: Compose) -> None:
    """Every URL with a login, and every variable named like a secret, takes it from a file."""
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSW|SECRET|FERNET|KEY|TOKEN", name) and not name.endswith("_FILE"):
                assert PLACEHOLDER.fullmatch(str(value)), name
            login = re.search(r"://[^/@:]*:([^@]*)@", str(value))
            assert login is None or PLACEHOLDER.fullmatch(login[1]), name


def test_only_the_scheduler_reaches_patient_data(compose: Compose) -> None:
    assert on_network(compose, "clinical") == {"warehouse", "demo-warehouse", "scheduler"}
    mounts = {
        name
        for name, service in compose["services"].items()
        if any(volume.startswith("staging:") for volume in service.get("volumes", []))
    }
    assert mounts == {"scheduler"}
    assert with_secret(compose, "warehouse_reader_password") == {"demo-warehouse", "scheduler"}
    assert with_secret(compose, "warehouse_owner_password") == {"warehouse", "demo-warehouse"}


def test_airflow_reads_the_warehouse_with_the_account_made_for_it(compose: Compose) -> None:
    connection = compose["services"]["scheduler"]["environment"]["AIRFLOW_CONN_CLINICAL_WAREHOUSE"]
    reader = compose["services"]["demo-warehouse"]["environment"]["WAREHOUSE_READER"]
    owner = compose["services"]["warehouse"]["environment"]["POSTGRES_USER"]
    assert connection.startswith(f"postgres://{reader}:")
    assert reader != owner


def test_networks_of_data_have_no_way_out(compose: Compose) -> None:
    internal = {name for name, network in compose["networks"].items() if (network or {}).get("internal")}
    assert internal == {"control", "clinical", "research"}
    assert on_network(compose, "ui") == {"api-server"}


def test_ports_are_open_on_this_machine_only(compose: Compose) -> None:
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert set(ports) == {"api-server"}
    assert all(port.startswith("127.0.0.1:") for port in ports["api-server"])


def test_dependencies_wait_for_what_their_target_can_reach(compose: Compose) -> None:
    """A one-shot service never gets healthy, and a server never completes: either would hang the start for ever."""
    for name, service in compose["services"].items():
        for target, how in service.get("depends_on", {}).items():
            expected = "service_completed_successfully" if target in ONE_SHOT else "service_healthy"
            assert how["condition"] == expected, (name, target)


def test_one_shot_services_run_once_and_have_no_health(compose: Compose) -> None:
    for name in ONE_SHOT:
        assert compose["services"][name]["restart"] == "no"
        assert compose["services"][name]["healthcheck"] == {"disable": True}


@pytest.mark.parametrize(
    ("service", "component"),
    [
        ("api-server", "metadatabase"),
        ("scheduler", "scheduler"),
        ("dag-processor", "dag_processor"),
        ("triggerer", "triggerer"),
    ],
)
def test_each_part_of_airflow_asks_for_its_own_health(compose: Compose, service: str, component: str) -> None:
    assert compose["services"][service]["healthcheck"]["test"] == ["CMD", "healthcheck", component]


@pytest.mark.parametrize("service", sorted(DATABASES))
def test_databases_are_asked_over_tcp(compose: Compose, service: str) -> None:
    """PostgreSQL's image sets up with a server on the socket only, which must not count as healthy."""
    assert "--host 127.0.0.1" in compose["services"][service]["healthcheck"]["test"][1]


@pytest.mark.parametrize("service", sorted(AIRFLOW | ONE_SHOT))
def test_containers_of_the_image_are_read_only_and_without_privileges(compose: Compose, service: str) -> None:
    entry = compose["services"][service]
    assert entry["read_only"] is True
    assert entry["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in entry["security_opt"]
    private = next(mount for mount in entry["tmpfs"] if mount.startswith("/run/airflow:"))
    assert "mode=0700,uid=50000,gid=50000" in private


def test_databases_are_pinned(compose: Compose) -> None:
    assert all(re.fullmatch(r"postgres:\d+\.\d+-\w+", compose["services"][name]["image"]) for name in DATABASES)


def test_named_volumes_are_the_ones_in_use(compose: Compose) -> None:
    used = {volume.split(":")[0] for service in compose["services"].values() for volume in service.get("volumes", [])}
    assert used == set(compose["volumes"])


def test_servers_of_one_port_agree_on_its_address(compose: Compose) -> None:
    """Every part of Airflow must reach the API server by its name; `localhost` would be its own container."""
    for name in AIRFLOW:
        environment = compose["services"][name]["environment"]
        assert environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://api-server:8080/execution/"
        assert environment["AIRFLOW_ANON_HEALTH_URL"] == "http://api-server:8080/api/v2/monitor/health"
        assert "control" in compose["services"][name]["networks"]


def test_tokens_are_signed_with_one_key(compose: Compose) -> None:
    assert with_secret(compose, "jwt_secret") == {"api-server", "scheduler"}
