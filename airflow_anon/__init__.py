"""Airflow operators that extract, de-identify, validate and publish clinical tables, and `read` for their releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_anon.engine_name import refuse_other_engine

if TYPE_CHECKING:
    from airflow_anon.share.reader import read

__all__ = ["read"]

refuse_other_engine()


def __getattr__(name: str) -> Any:
    """Import the reader when it is first used: Airflow imports this package each time it parses a DAG file."""
    if name != "read":
        raise AttributeError(f"module 'airflow_anon' has no attribute {name!r}")
    from airflow_anon.share.reader import read  # noqa: PLC0415

    return read
