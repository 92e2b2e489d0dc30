"""The key of fingerprints on the command line: a private file that `AIRFLOW_ANON_FINGERPRINTS` names, as for Airflow.

Where the variable has the id of a connection of Airflow there is none here: nothing but Airflow reads connections.
"""

from __future__ import annotations

import os
from pathlib import Path

from engine.key_file import FINGERPRINTS, KeyFile


def fingerprint_key(*, make: bool) -> bytes | None:
    """Return the key; None where the variable names no file.

    Parameters
    ----------
    make : bool
        Make the file, if there is none.

    Raises
    ------
    InvalidJob
        The file cannot be read or made, belongs to somebody else, or may be opened by others, or the key is too short.
    """
    place = os.environ.get(FINGERPRINTS, "")
    if not Path(place).is_absolute():
        return None
    file = KeyFile(
        Path(place),
        f"the key of fingerprints ({FINGERPRINTS})",
        elsewhere="name the private file of the key, or unset the variable",
        renewal="remove it, and a new key is made",
        exposed="can guess records from fingerprints",
    )
    return file.read(make=make)[0]
