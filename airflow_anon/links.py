"""Buttons on the tasks of a job that lead to the audit pages of the run.

The plugin registers them, so the API server computes the address on each request: tasks that are running, failed or
were killed have their buttons too, and no worker needs to know the address of Airflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow.sdk import BaseOperatorLink

from airflow_anon.operators import DeidentifyTableOperator, PublishReleaseOperator, ValidateReleaseOperator
from airflow_anon.operators.approve import ApproveReleaseOperator
from airflow_anon.operators.record import RecordAttemptOperator

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

    from airflow_anon.observe.addresses import Addresses


class ReleaseAuditLink(BaseOperatorLink):
    """The audit page of the task's run."""

    name: ClassVar[str] = "Release audit"
    operators: ClassVar[list[type[BaseOperator]]] = [
        DeidentifyTableOperator,
        ValidateReleaseOperator,
        ApproveReleaseOperator,
        PublishReleaseOperator,
        RecordAttemptOperator,
    ]

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 (Airflow's signature)
        """Return the path of the page on the host that answers; ids are percent-encoded."""
        return _addresses().release(ti_key.dag_id, ti_key.run_id, ti_key.task_id)


class ReleaseCertificateLink(BaseOperatorLink):
    """The printable certificate of the run's release."""

    name: ClassVar[str] = "Release certificate"
    operators: ClassVar[list[type[BaseOperator]]] = [PublishReleaseOperator]

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 (Airflow's signature)
        """Return the path of the page on the host that answers; ids are percent-encoded."""
        return _addresses().certificate(ti_key.dag_id, ti_key.run_id)


def _addresses() -> Addresses:
    from airflow_anon.observe.addresses import PREFIX, Addresses, base_path  # noqa: PLC0415 (the plugin imports this)

    return Addresses(base_path() + PREFIX)
