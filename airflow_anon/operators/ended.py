"""An operator whose work ends where it is when its task is killed."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator

from airflow_anon.transport.killed_task import Work


class EndedWhenKilled(BaseOperator):
    """An operator that does its work within `self._work.going_on()`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._work = Work()

    def on_kill(self) -> None:
        """End the work; what it wrote is removed on the way out, and queries of Spark are cancelled.

        Airflow calls this in the thread of the task and goes on with it.

        Raises
        ------
        SystemExit
            The task works.
        """
        self._work.end()
