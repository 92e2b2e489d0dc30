"""Sections of a job file read by themselves.

A job's document cannot be read again as a whole: in it the paths of files are relative to a folder that is not known.
"""

from __future__ import annotations

from typing import Any

from engine import Job, load_job

_SMALLEST = {
    "name": "section",
    "attributes": {"column": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 1}}},
    "privacy": [{"model": "k-anonymity", "k": 2}],
}


def sections(**written: Any) -> Job:
    """Return the smallest job that has these sections, their defaults filled in.

    Raises
    ------
    InvalidJob
        A section is invalid.
    """
    return load_job({**_SMALLEST, **written})
