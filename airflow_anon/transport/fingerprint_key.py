"""The secret key of source fingerprints: from an Airflow connection, or from a private file that is made once.

Without a key, whoever knows all records but one could find that one: try every candidate until the fingerprint fits.
The key is never returned by a task, logged or recorded; its id is, so that fingerprints of two keys are not compared.
"""

from __future__ import annotations

import logging
import os
from logging import Logger
from pathlib import Path

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, BaseHook

from airflow_anon.transport.airflow_home import airflow_home
from engine import FINGERPRINTS, MAKE_ONE, SHORTEST_KEY, FingerprintKey, InvalidJob, KeyFile, sound_key

DEFAULT_FILE = "deidentification_fingerprint.key"
NOT_COMPARED = "Not known whether the hierarchies are those of the release"
"""What the lack of the key means to whoever looks at a release."""
_WHAT = "the key of source fingerprints"
_NOT_SHOWN = "what it is now is not shown, in case it is the key itself"

log = logging.getLogger(__name__)


def fingerprint_key(place: str | None = None, *, make: bool = True) -> FingerprintKey:
    """Return the key of this installation.

    Parameters
    ----------
    place : str, optional
        The id of an Airflow connection, whose password is the key, or the absolute path of a file. By default
        `AIRFLOW_ANON_FINGERPRINTS`, and without it the file `deidentification_fingerprint.key` in AIRFLOW_HOME.
    make : bool
        Make the file if there is none: the first task of a run does. One that a later task made would be a second key
        of the same run, in place of one that was lost meanwhile.

    Raises
    ------
    AirflowFailException
        The connection is not defined; the path is not absolute; the file cannot be read or made, or belongs to or may
        be opened by others; or the key is shorter than `SHORTEST_KEY` bytes.
    """
    place = _place(place)
    path = Path(place)
    if "/" in place and not path.is_absolute():
        raise AirflowFailException(
            f"the key of source fingerprints ({FINGERPRINTS}): must be named by the id of an Airflow connection, or by "
            f"the absolute path of a file; {_NOT_SHOWN}"
        )
    try:
        if "/" not in place:
            return FingerprintKey(sound_key(_password(place), f"{_WHAT}, connection {place!r}", "its password"))
        return FingerprintKey(_content(path, make=make))
    except InvalidJob as problem:
        raise AirflowFailException(str(problem)) from None


def key_file(place: str | None = None) -> Path | None:
    """Return the file of the key; None where it is the password of a connection."""
    found = _place(place)
    return Path(found) if "/" in found else None


def _place(place: str | None) -> str:
    return place or os.environ.get(FINGERPRINTS) or str(airflow_home() / DEFAULT_FILE)


def known_key(place: str | None, log: Logger, without: str) -> bytes | None:
    """Return the key for digests of hierarchies, which no night ends without; None, with a warning, if there is none.

    Parameters
    ----------
    place : str, optional
        As of `fingerprint_key`.
    without : str
        What the lack of it means, for the warning.
    """
    try:
        return fingerprint_key(place, make=False).secret
    except AirflowFailException as problem:
        log.warning("%s: %s", without, problem)
        return None


def _password(conn_id: str) -> bytes:
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise AirflowFailException(
            f"the key of source fingerprints ({FINGERPRINTS}): the connection is not defined; add it in Airflow under "
            f"Admin, Connections, of any type, with at least {SHORTEST_KEY} random bytes as its password, {MAKE_ONE}; "
            f"{_NOT_SHOWN}"
        ) from None
    return (connection.password or "").encode()


def _content(path: Path, *, make: bool) -> bytes:
    restore = "" if make else "restore it, or clear the whole run, whose first task makes a new one; "
    file = KeyFile(
        path,
        _WHAT,
        elsewhere=f"{restore}let the user that runs the tasks write into its folder, or name a connection in "
        f"{FINGERPRINTS}",
        renewal="remove it, and a new key is made",
        exposed="can guess records from fingerprints",
    )
    secret, made = file.read(make=make)
    if made:
        log.info("Made a new key of source fingerprints in %s", path)
    return secret
