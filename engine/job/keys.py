"""The secret keys of a job's pseudonyms and shifted dates, opened before anything is read.

In: the job, and the keys of connections, which only an orchestrator knows. Out: the key of each place. A key that is
not the one that the job names is an error: with another key, pseudonyms would be others without a word. Keys are in no
error, report or document; what names one is its id.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InvalidJob
from engine.job.key_place import KeyPlace
from engine.key_file import KeyFile, sound_key
from engine.tables.derived_keys import key_id

if TYPE_CHECKING:
    from engine.job.job import Job

RELEASE_KEY_BYTES = 32
_COLUMN = "attributes."


@dataclass(frozen=True)
class Keys:
    """The keys of a job.

    Attributes
    ----------
    of_place : mapping of str to bytes
        By key of the job: `shift`, or `attributes.NAME`.
    """

    of_place: Mapping[str, bytes] = field(repr=False)

    @property
    def shift(self) -> bytes:
        """The key of shifted dates."""
        return self.of_place["shift"]

    def of_column(self, name: str) -> bytes:
        """Return the key of the pseudonyms of a column."""
        return self.of_place[f"{_COLUMN}{name}"]


def open_keys(job: Job, keys: Mapping[str, bytes] | None = None, release_key: bytes | None = None) -> Keys:
    """Open every key that a job needs.

    Parameters
    ----------
    keys : mapping of connection id to bytes, optional
        The keys of Airflow connections.
    release_key : bytes, optional
        The key of pseudonyms and shifts that are others in each release, `RELEASE_KEY_BYTES`; a random one if not
        given, which is kept nowhere.

    Raises
    ------
    InvalidJob
        A key is not given, or cannot be read, is too short, or is not the one whose id the job names; or the job names
        no id.
    """
    fresh = release_key or secrets.token_bytes(RELEASE_KEY_BYTES)
    found = {}
    for where, place in key_places(job):
        found[where] = open_key(where, place, keys or {}, make=True) if place.is_persistent else fresh
    return Keys(found)


def key_places(job: Job) -> Iterator[tuple[str, KeyPlace]]:
    """Yield each place of a key, with the key of the job that names it."""
    if job.shift is not None:
        yield "shift", job.shift
    for name in job.pseudonymized:
        yield f"{_COLUMN}{name}", job.attributes[name]


def open_key(where: str, place: KeyPlace, keys: Mapping[str, bytes], *, make: bool) -> bytes:
    """Return the key of a place, which must be the one that the job names.

    Parameters
    ----------
    where : str
        Key of the job that names the place.
    keys : mapping of connection id to bytes
    make : bool
        Make the file of a key whose id the job does not name yet.

    Raises
    ------
    InvalidJob
        As of `open_keys`.
    """
    if place.key_conn_id is not None:
        if place.key_conn_id not in keys:
            raise InvalidJob(
                f"{where}.key_conn_id: only Airflow's tasks know the connection {place.key_conn_id!r}; name a key_file "
                "to run the job elsewhere"
            )
        secret = sound_key(keys[place.key_conn_id], f"{where}.key_conn_id: {place.key_conn_id!r}", "its password")
    else:
        secret = _of_file(where, place, make=make)
    found = key_id(secret)
    if place.key_id is None:
        raise InvalidJob(
            f"{where}.key_id: is missing, so that nobody would notice another key; that of the key is {found}: say "
            f"key_id: {found}"
        )
    if place.key_id != found:
        raise InvalidJob(
            f"{where}.key_id: is {place.key_id}, and that of the key is {found}: the key was lost or replaced, and "
            f"with another one pseudonyms and dates would be others. Restore the key; or, if it is replaced on "
            f"purpose, say key_id: {found}"
        )
    return secret


def _of_file(where: str, place: KeyPlace, *, make: bool) -> bytes:
    # where the job names the id of a key there was one: another one must not be made in its place
    file = KeyFile(
        Path(place.key_file or ""),
        f"{where}.key_file",
        elsewhere="restore the key, or let the user that runs the job write into its folder; leave key_id out to have "
        "a new one made",
        renewal="remove it and key_id, and a new key is made, with other pseudonyms and dates",
        exposed="can find who is behind a pseudonym",
    )
    return file.read(make=make and place.key_id is None)[0]
