"""The demo's environment: one folder with an Airflow home, a warehouse, a research share and a private staging area.

In: the folder and a port. Out: the environment of all Airflow processes of the demo, separate from the user's Airflow.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

JOB_FILE = "demographics_with_diagnosis.yaml"
FRONTIER_DAG = "risk_utility_frontier"
USER = "admin"


@dataclass(frozen=True)
class DemoFolders:
    """The paths of the parts of the demo, below one folder."""

    home: Path

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME: metadata database, logs, configuration."""
        return self.home / "airflow"

    @property
    def warehouse(self) -> Path:
        """The clinical warehouse, a SQLite file."""
        return self.home / "clinical_warehouse.sqlite"

    @property
    def research(self) -> Path:
        """The research share's database, a SQLite file."""
        return self.home / "research_share.sqlite"

    @property
    def share(self) -> Path:
        """The research share's folder."""
        return self.home / "share"

    @property
    def staging(self) -> Path:
        """The private folder in which runs stage patient data."""
        return self.home / "staging"

    @property
    def ledger_url(self) -> str:
        """SQLAlchemy URL of the release ledger."""
        return f"sqlite:///{self.home / 'release_ledger.sqlite'}"

    @property
    def research_url(self) -> str:
        """SQLAlchemy URL of the research share's database."""
        return f"sqlite:///{self.research}"

    @property
    def passwords(self) -> Path:
        """The login of the UI."""
        return self.home / "ui_passwords.json"

    @property
    def warehouse_url(self) -> str:
        """SQLAlchemy URL of the warehouse."""
        return f"sqlite:///{self.warehouse}"


def dags_folder() -> Path:
    """Return the DAG folder: beside the package in a source checkout, inside it when installed from a wheel."""
    beside = Path(__file__).resolve().parents[2] / "dags"
    return beside if (beside / "jobs" / JOB_FILE).is_file() else Path(__file__).resolve().parent / "dags"


def airflow_environment(folders: DemoFolders, port: int = 8080) -> dict[str, str]:
    """Return the environment of the demo's Airflow processes; without settings of another Airflow."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    return {
        **inherited,
        # Airflow starts its components by the name `airflow`, which is not on the path without an active environment.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), inherited.get("PATH", os.defpath)]),
        "AIRFLOW_HOME": str(folders.airflow),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags_folder()),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://localhost:{port}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(folders.passwords),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://localhost:{port}",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "AIRFLOW_CONN_CLINICAL_WAREHOUSE": f"sqlite:///{folders.warehouse}",
        "AIRFLOW_CONN_RESEARCH_SHARE": folders.research_url,
        "AIRFLOW_ANON_STAGING": str(folders.staging),
        "AIRFLOW_ANON_SHARE": str(folders.share),
        "AIRFLOW_ANON_LEDGER": folders.ledger_url,
        "PYTHONWARNINGS": "ignore",
    }


def check_command(folders: DemoFolders) -> str:
    """Return what one types to check releases of the demo; an Airflow of one's own does not know its share."""
    share, ledger = shlex.quote(folders.research_url), shlex.quote(folders.ledger_url)
    return f"AIRFLOW_CONN_RESEARCH_SHARE={share} .venv/bin/airflow-anon ledger verify --files --ledger {ledger}"


def password(folders: DemoFolders) -> str:
    """Return the UI's password, generated at the first call."""
    if not folders.passwords.is_file():
        folders.passwords.touch(mode=0o600)
        folders.passwords.write_text(json.dumps({USER: secrets.token_urlsafe(12)}), encoding="utf-8")
    known: dict[str, str] = json.loads(folders.passwords.read_text(encoding="utf-8"))
    return known[USER]
