"""Run a job's DAG in a process of its own: Airflow makes up its mind about OpenLineage when it is imported.

`python -m tests.airflow_anon.observe.lineage_process JOB.yaml STATE.txt` writes the state that the run came to into a
file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

from airflow_anon.jobs import deidentification_dag


def main(job: str, state: str) -> None:
    """Run it once."""
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(dag_folder=str(folder), bundle_path=folder)
    dag = deidentification_dag(job, schedule=None)
    bag.bag_dag(dag)
    sync_bag_to_db(bag, "dags-folder", None)
    Path(state).write_text(str(dag.test(logical_date=None).state))


if __name__ == "__main__":
    main(*sys.argv[1:])
