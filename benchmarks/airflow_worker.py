"""What a worker of Airflow has loaded before it forks a task: no task pays for it.

`LocalExecutor` and Celery's workers import Airflow once, and start each task by `fork` (`supervisor.py` of Airflow's
task SDK, on Linux). Measured in a real `airflow standalone`: a task had 0.1 CPU seconds and 2,000 modules at its first
line, where importing them takes 2 to 3 s. What a task imports besides, the operators of this package and its hook, is
its own. A pod of its own, and macOS, pay for Airflow each time.
"""

from __future__ import annotations


def load_airflow() -> None:
    """Import what an executor has, and Airflow's own part of a task."""
    import airflow.executors.local_executor  # noqa: PLC0415 (only measured processes need it)
    import airflow.sdk.execution_time.task_runner  # noqa: F401, PLC0415
