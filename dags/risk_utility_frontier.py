"""One weekly DAG that searches the risk-utility frontier of each job file with a `frontier` section."""

from __future__ import annotations

from pathlib import Path

from airflow_anon.frontier_dag import frontier_dag

dag = frontier_dag(Path(__file__).parent / "jobs")
