"""Names of the files of a run and of its release, for every room that reads or writes one."""

from __future__ import annotations

from engine import MANIFEST

__all__ = ["MANIFEST", "REPORT", "SOURCE", "VALIDATION"]

SOURCE = "source.parquet"
REPORT = "report.json"
VALIDATION = "validation.json"
