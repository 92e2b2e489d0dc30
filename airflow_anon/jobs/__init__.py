"""Makes DAGs of job files: of one job or of many, and a weekly one for frontiers (`airflow_anon.frontier_dag`)."""

from airflow_anon.jobs.folder import check_job_files, deidentification_dags, job_files
from airflow_anon.jobs.nightly import deidentification_dag, deidentification_task_group, release_asset
from airflow_anon.jobs.tables import tables_dag

__all__ = [
    "check_job_files",
    "deidentification_dag",
    "deidentification_dags",
    "deidentification_task_group",
    "job_files",
    "release_asset",
    "tables_dag",
]
