"""One Airflow DAG for each job file in `jobs/` beside this file, or in the folder that AIRFLOW_ANON_JOBS names."""

from __future__ import annotations

from pathlib import Path

from airflow_anon.jobs import deidentification_dags

globals().update(deidentification_dags(Path(__file__).parent / "jobs"))
