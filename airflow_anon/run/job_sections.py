"""Single sections of a job file, read separately.

A job's document cannot be read again as a whole, because its paths are relative to an unknown folder.
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
    """Return the smallest job that has these sections, with their defaults.

    Raises
    ------
    InvalidJob
        A section is invalid.
    """
    return load_job({**_SMALLEST, **written})
