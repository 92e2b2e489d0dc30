"""The secrets of one run."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.errors import InvalidJob
from engine.job.job import Job
from engine.job.keys import RELEASE_KEY_BYTES, Keys, open_keys
from engine.tables.altered.row_cap import KEY_BYTES


@dataclass(frozen=True)
class Secrets:
    """The secrets of a run: of rows that are left out or drawn, of pseudonyms and shifted dates, of fingerprints."""

    rows: bytes = field(repr=False)
    release: bytes = field(repr=False)
    given: Mapping[str, bytes] | None = field(repr=False)
    keys: Keys
    fingerprints: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        job: Job,
        rows_key: bytes | None,
        given: Mapping[str, bytes] | None,
        release_key: bytes | None,
        fingerprints: bytes | None = None,
    ) -> Secrets:
        """Open those of the job, and make those that are not given, but for the key of fingerprints.

        Raises
        ------
        InvalidJob
            A key of the job cannot be opened, or one that is given has another length than a random one has.
        """
        rows = _given_or_new("rows_key", rows_key, KEY_BYTES)
        release = _given_or_new("release_key", release_key, RELEASE_KEY_BYTES)
        return cls(rows, release, given, open_keys(job, given, release), fingerprints)


def _given_or_new(name: str, key: bytes | None, length: int) -> bytes:
    if key is None:
        return secrets.token_bytes(length)
    if not isinstance(key, bytes) or len(key) != length:
        raise InvalidJob(f"{name}: must be {length} random bytes, such as secrets.token_bytes({length}) makes")
    return key
