"""The secret key of source fingerprints: from an Airflow connection, or from a private file that is made once.

Without a key, whoever knows all records but one could find that one: try every candidate until the fingerprint fits.
The key is never returned by a task, logged or recorded; its id is, so that fingerprints of two keys are not compared.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, BaseHook

from airflow_anon.transport.airflow_home import airflow_home

VARIABLE = "AIRFLOW_ANON_FINGERPRINTS"
DEFAULT_FILE = "deidentification_fingerprint.key"
SHORTEST = 32
"""Bytes of the shortest key. The key's id lets a short one be found by trial."""

_MAKE_ONE = "such as the output of `openssl rand -hex 32`"
_NOT_SHOWN = "what it is now is not shown, in case it is the key itself"
_LONGEST = 4096

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FingerprintKey:
    """A key.

    Attributes
    ----------
    secret : bytes
        At least `SHORTEST` random bytes.
    """

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """Name of the key, 16 hexadecimal digits, from which the key does not follow."""
        return self.derived("id").hex()[:16]

    def derived(self, purpose: str) -> bytes:
        """Return the 32 bytes of a key for one purpose, so that no key serves two of them."""
        return hmac.digest(self.secret, f"airflow-anon source fingerprint: {purpose}".encode(), "sha256")


def fingerprint_key(place: str | None = None) -> FingerprintKey:
    """Return the key of this installation; make its file if there is none.

    Parameters
    ----------
    place : str, optional
        The id of an Airflow connection, whose password is the key, or the absolute path of a file. By default
        `AIRFLOW_ANON_FINGERPRINTS`, and without it the file `deidentification_fingerprint.key` in AIRFLOW_HOME.

    Raises
    ------
    AirflowFailException
        The connection is not defined; the path is not absolute; the file cannot be read or made, or belongs to or may
        be opened by others; or the key is shorter than `SHORTEST` bytes.
    """
    place = place or os.environ.get(VARIABLE) or str(airflow_home() / DEFAULT_FILE)
    if "/" not in place:
        return _key(_password(place), f"connection {place!r}", "its password")
    path = Path(place)
    if not path.is_absolute():
        raise AirflowFailException(
            f"the key of source fingerprints ({VARIABLE}): must be named by the id of an Airflow connection, or by the "
            f"absolute path of a file; {_NOT_SHOWN}"
        )
    return _key(_content(path), f"file {path}", "its content")


def _key(secret: bytes, place: str, what: str) -> FingerprintKey:
    secret = secret.strip()
    if len(secret) < SHORTEST:
        raise AirflowFailException(
            f"the key of source fingerprints, {place}: {what} has {len(secret)} bytes, must have at least {SHORTEST}, "
            f"{_MAKE_ONE}"
        )
    return FingerprintKey(secret)


def _password(conn_id: str) -> bytes:
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise AirflowFailException(
            f"the key of source fingerprints ({VARIABLE}): the connection is not defined; add it in Airflow under "
            f"Admin, Connections, of any type, with at least {SHORTEST} random bytes as its password, {_MAKE_ONE}; "
            f"{_NOT_SHOWN}"
        ) from None
    return (connection.password or "").encode()


def _content(path: Path) -> bytes:
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as problem:
        raise AirflowFailException(
            f"the key of source fingerprints, file {path}: cannot be read or made ({problem.strerror}); let the user "
            f"that runs the tasks write into its folder, or name a connection in {VARIABLE}"
        ) from None


def _read(path: Path) -> bytes:
    # A pipe must not block the task.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise AirflowFailException(f"the key of source fingerprints, file {path}: is not a file; remove it")
        if found.st_uid not in (0, os.geteuid()):
            raise AirflowFailException(
                f"the key of source fingerprints, file {path}: belongs to user {found.st_uid}, who can read it; it "
                f"must belong to user {os.geteuid()}, who runs the tasks. Remove it, and a new key is made"
            )
        if found.st_mode & 0o077:
            raise AirflowFailException(
                f"the key of source fingerprints, file {path}: has mode {stat.S_IMODE(found.st_mode):04o}, must be "
                "closed to group and others. Who may have read it can guess records from fingerprints: remove it, and "
                "a new key is made; if nobody could reach its folder, run `chmod 600` instead"
            )
        return file.read(_LONGEST)


def _make(path: Path) -> None:
    """Write a random key to a file that appears complete; of several processes one makes it, and all take that one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.token_hex(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link never replaces the key of another process.
        os.link(partial, path)
        log.info("Made a new key of source fingerprints in %s", path)
    except FileExistsError:
        pass
    finally:
        partial.unlink(missing_ok=True)
