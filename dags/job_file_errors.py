"""Not a DAG, but an import error of Airflow that names each broken job file; the DAGs of the others keep running."""

from __future__ import annotations

from pathlib import Path

from airflow_anon.jobs import check_job_files

check_job_files(Path(__file__).parent / "jobs")
