"""What a worker of Airflow has loaded before it forks a task: no task pays for it.

A worker of `LocalExecutor` imports Airflow once, and starts each task by `fork` (`supervisor.py` of Airflow's task SDK,
on Linux). Measured in a real `airflow standalone`: a task had spent 0.1 CPU seconds and had 2,000 modules at its first
line, where importing them takes 2 to 3 s. What a task imports besides, the operators of this package and its hook, is
its own. A pod of its own, and macOS, pay for Airflow each time.
"""

from __future__ import annotations


def load_airflow() -> None:
    """Import what an executor has, and Airflow's own part of a task."""
    import airflow.executors.local_executor  # noqa: PLC0415 (only measured processes need it)
    import airflow.sdk.execution_time.task_runner  # noqa: F401, PLC0415
