"""The weekly DAG of risk-utility frontiers, under the name by which DAG files import it."""

from airflow_anon.jobs.weekly_frontier import DAG_ID, NOTHING, frontier_asset, frontier_dag, frontier_task_group

__all__ = ["DAG_ID", "NOTHING", "frontier_asset", "frontier_dag", "frontier_task_group"]
