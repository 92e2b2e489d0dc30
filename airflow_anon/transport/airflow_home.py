"""AIRFLOW_HOME, found without an import of Airflow: where files lie that no setting puts elsewhere."""

from __future__ import annotations

import os
from pathlib import Path


def airflow_home() -> Path:
    """Return the absolute path of AIRFLOW_HOME, as Airflow finds it."""
    home = os.path.expandvars(os.environ.get("AIRFLOW_HOME") or "~/airflow")
    return Path(home).expanduser().absolute()
