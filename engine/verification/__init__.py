"""Verification of an output by code of its own: it shares nothing with counting and search.

In: the output table and the job; the report of the run where there is one. Out: a list of findings, one per criterion.
It knows no source: everything is recounted from what would be released.
"""

from __future__ import annotations

from engine.verification.finding import Finding
from engine.verification.output import verify
from engine.verification.recount import recount

__all__ = ["Finding", "recount", "verify"]
