"""What a report says of linked tables, compared with the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.message import Message
from engine.tables.class_table import ClassTable
from engine.tables.sources.linked_name import TABLE
from engine.verification.finding import Finding

if TYPE_CHECKING:
    from engine.job.job import Job


def check_tables(table: ClassTable, job: Job, report: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Compare the records and columns of each table with those of the report."""
    if job.tables is None or report is None:
        return
    names = table.labels[TABLE].column().to_pylist()
    found = {
        name: {
            "released": sum(n for of, n in zip(names, table.records.tolist(), strict=True) if of == name),
            "columns": list(columns),
        }
        for name, columns in job.released_of_tables.items()
    }
    agrees = report.get("tables") == found
    text = (
        "tables in the report are those of the output" if agrees else "tables in the report are not those of the output"
    )
    yield Finding("figures", agrees, None, None, None, Message(text))
