"""Verification of an output, without any code of counting or search.

In: the output (a table, a reader or a file), the job and, if there is one, the report of the run. Out: a list of
findings, one per criterion. Everything is recounted from the output; a model that compares it with a population also
reads the population.
"""

from __future__ import annotations

from engine.verification.checks.source_rows import check_source_rows
from engine.verification.checks.stated import is_of_this_version
from engine.verification.finding import Finding
from engine.verification.output import class_table, has_structure, release_of, verify
from engine.verification.recount import recount

__all__ = [
    "Finding",
    "check_source_rows",
    "class_table",
    "has_structure",
    "is_of_this_version",
    "recount",
    "release_of",
    "verify",
]
