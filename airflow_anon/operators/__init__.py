"""Airflow operators: those of a de-identification run, and the search for a risk-utility frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_anon.operators.broken_job import BrokenJobOperator
from airflow_anon.operators.check import PrepareRunOperator
from airflow_anon.operators.deidentify import DeidentifyTableOperator
from airflow_anon.operators.deidentify_inside import DeidentifyInWarehouseOperator
from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.operators.extract_linked import ExtractLinkedTablesOperator
from airflow_anon.operators.frontier import RiskUtilityFrontierOperator
from airflow_anon.operators.outcome import OutcomeOperator, always_at_the_end
from airflow_anon.operators.publish import PublishReleaseOperator
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.operators.staging import PrepareStagingOperator, RemoveStagingOperator
from airflow_anon.operators.validate import ValidateReleaseOperator

if TYPE_CHECKING:
    from airflow_anon.operators.approve import ApproveReleaseOperator

__all__ = [
    "ApproveReleaseOperator",
    "BrokenJobOperator",
    "DeidentifyInWarehouseOperator",
    "DeidentifyTableOperator",
    "ExtractLinkedTablesOperator",
    "ExtractTableOperator",
    "OutcomeOperator",
    "PrepareRunOperator",
    "PrepareStagingOperator",
    "PublishReleaseOperator",
    "RecordAttemptOperator",
    "RemoveStagingOperator",
    "RiskUtilityFrontierOperator",
    "ValidateReleaseOperator",
    "always_at_the_end",
]


def __getattr__(name: str) -> Any:
    """Import the operator that asks for approval on first use: Airflow's own below it is not loaded by other DAGs."""
    if name != "ApproveReleaseOperator":
        raise AttributeError(f"module 'airflow_anon.operators' has no attribute {name!r}")
    from airflow_anon.operators.approve import ApproveReleaseOperator  # noqa: PLC0415

    return ApproveReleaseOperator
