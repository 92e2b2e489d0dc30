"""Airflow operators: those of a de-identification run, and the search for a risk-utility frontier."""

from __future__ import annotations

from airflow_anon.operators.broken_job import BrokenJobOperator
from airflow_anon.operators.deidentify import DeidentifyTableOperator
from airflow_anon.operators.deidentify_inside import DeidentifyInWarehouseOperator
from airflow_anon.operators.extract import ExtractTableOperator
from airflow_anon.operators.frontier import RiskUtilityFrontierOperator
from airflow_anon.operators.outcome import OutcomeOperator
from airflow_anon.operators.publish import PublishReleaseOperator
from airflow_anon.operators.record import RecordAttemptOperator
from airflow_anon.operators.staging import PrepareStagingOperator, RemoveStagingOperator
from airflow_anon.operators.validate import ValidateReleaseOperator

__all__ = [
    "BrokenJobOperator",
    "DeidentifyInWarehouseOperator",
    "DeidentifyTableOperator",
    "ExtractTableOperator",
    "OutcomeOperator",
    "PrepareStagingOperator",
    "PublishReleaseOperator",
    "RecordAttemptOperator",
    "RemoveStagingOperator",
    "RiskUtilityFrontierOperator",
    "ValidateReleaseOperator",
]
