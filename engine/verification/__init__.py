"""Verification of an output by code of its own: it shares nothing with counting and search.

In: the output table and the job; the report of the run where there is one. Out: a list of findings, one per criterion.
Everything is recounted from what would be released; where a model compares it with a population, that is read too.
"""

from __future__ import annotations

from engine.verification.finding import Finding
from engine.verification.output import verify
from engine.verification.recount import recount

__all__ = ["Finding", "recount", "verify"]
