"""Names of the files of a release, for every room that reads or writes one."""

from __future__ import annotations

from engine import MANIFEST

__all__ = ["MANIFEST", "REPORT", "VALIDATION"]

REPORT = "report.json"
VALIDATION = "validation.json"
