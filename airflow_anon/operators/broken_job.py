"""The operator that stands for a job file that cannot be used."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import BaseOperator, Context


class BrokenJobOperator(BaseOperator):
    """Fails with the reason why a job file could not be used.

    Parameters
    ----------
    reason : str
        What is wrong, as the engine says it.
    """

    ui_color = "#f5c6c6"

    def __init__(self, *, reason: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reason = reason

    def execute(self, context: Context) -> None:  # noqa: ARG002 (Airflow's signature)
        """Fail.

        Raises
        ------
        AirflowFailException
            Always.
        """
        raise AirflowFailException(self.reason)
