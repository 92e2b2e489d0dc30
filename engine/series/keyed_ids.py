"""Keyed ids of persons: HMAC-SHA-256 (RFC 2104) under a key of one series, the first 16 bytes of it.

In: the identifiers of persons, and a secret key. Out: ids from which nobody without the key finds the person. A key of
one series tells nothing of that of another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.series.kept import any_gone, id_of_gone
from engine.tables.derived_keys import KeyedHash, derived_key

ID_BYTES = 16
_VALUE_BYTES = 8
_PURPOSE = "series"


class SeriesKey:
    """The keyed hashes of one series.

    Parameters
    ----------
    secret : bytes
    series : str
        Name of the series.
    """

    def __init__(self, secret: bytes, series: str) -> None:
        self._secret, self._series = secret, series
        self._ids = KeyedHash(derived_key(secret, _PURPOSE, series, "persons"))
        self._last: tuple[Sequence[str], NDArray[np.uint8]] | None = None

    @property
    def check(self) -> str:
        """Check value of the key, from which the key does not follow."""
        return derived_key(self._secret, _PURPOSE, self._series, "check")[:8].hex()

    def ids(self, persons: Sequence[str]) -> NDArray[np.uint8]:
        """Return the ids of persons, uint8, shape (persons, `ID_BYTES`); those of the last ones are kept."""
        # who decides and who verifies ask for the same persons, and a million hashes take seconds
        if self._last is None or self._last[0] != persons:
            hashes = self._ids.digests(persons, ID_BYTES)
            if any_gone(persons):
                named = zip(map(id_of_gone, persons), hashes, strict=True)
                hashes = [own if gone is None else gone for gone, own in named]
            self._last = (persons, np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, ID_BYTES))
        return self._last[1]

    def values(self, attribute: str, labels: Sequence[str | None]) -> list[bytes]:
        """Return the hashes of values of a sensitive attribute, so that the vault holds none; b"" of a missing one."""
        keyed = KeyedHash(derived_key(self._secret, _PURPOSE, self._series, "values", attribute))
        return [b"" if label is None else keyed.digest(label)[:_VALUE_BYTES] for label in labels]
