"""One Airflow DAG per job file in `jobs/` next to this file, or in the folder that AIRFLOW_ANON_JOBS names.

Alerts of each run are logged; docs/alerts.md says how to send them.
"""

from __future__ import annotations

from pathlib import Path

from airflow_anon.jobs import deidentification_dags
from airflow_anon.notifications import ReleaseAlertNotifier

alert = ReleaseAlertNotifier()
made = deidentification_dags(Path(__file__).parent / "jobs", on_success_callback=alert, on_failure_callback=alert)
globals().update(made)
