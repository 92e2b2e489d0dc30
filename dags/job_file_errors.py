"""No DAG, but an Airflow import error that names each broken job file; the DAGs of the other files keep running."""

from __future__ import annotations

from pathlib import Path

from airflow_anon.jobs import check_job_files

check_job_files(Path(__file__).parent / "jobs")
