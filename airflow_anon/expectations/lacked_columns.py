"""Columns that some of several linked tables lack: records of these have no value there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from engine import TABLE_COLUMN

if TYPE_CHECKING:
    from engine import Job


def having_tables(job: Job) -> dict[str, list[str]]:
    """Return, of each column that one of several linked tables lacks, those that have it; empty for a job of one."""
    found = {
        name: [table for table, columns in job.columns_of_tables.items() if name in columns]
        for name in job.attributes
        if name != TABLE_COLUMN
    }
    return {name: having for name, having in found.items() if 0 < len(having) < len(job.columns_of_tables)}


def in_their_tables(name: str, labels: pd.Series, source: Mapping[str, Any], texts: pd.DataFrame) -> pd.Series:
    """Return labels of the records of linked tables: missing where the table of a record lacks the column."""
    return labels if name not in source.get("having", {}) else labels.where(in_having_tables(name, source, texts), None)


def in_having_tables(name: str, source: Mapping[str, Any], texts: pd.DataFrame) -> pd.Series:
    """Tell of which records the table has a column; all of them if there is one table, or each of several has it."""
    having = source.get("having", {}).get(name)
    return pd.Series(True, index=texts.index) if having is None else texts[TABLE_COLUMN].isin(having)
