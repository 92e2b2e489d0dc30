"""Keyed ids of persons: HMAC-SHA-256 (RFC 2104) under a key of one series, the first 16 bytes of it.

In: the identifiers of persons, and a secret key. Out: ids from which nobody without the key finds the person. A key of
one series tells nothing of that of another one. A person has one id however case and blanks are written: else, on the
night on which they change, all would be gone and as many new ones there, and whoever really left would go uncovered.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.kernels.hmac_sha256 import hmac_sha256, key_states
from engine.series.kept import ids_of_gone
from engine.tables.derived_keys import KeyedHash, derived_key
from engine.tables.sources.person_texts import plain_persons

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
    spelled : callable, optional
        Tells whether ids are of persons as they are written, as in series that earlier versions began.
    """

    def __init__(self, secret: bytes, series: str, spelled: Callable[[], bool] = lambda: False) -> None:
        self._secret, self._series, self._spelled = secret, series, spelled
        self._persons = derived_key(secret, _PURPOSE, series, "persons")
        self._last: tuple[pa.ChunkedArray, NDArray[np.uint8]] | None = None

    @property
    def checks(self) -> tuple[str, str]:
        """Check values of the key, from which it does not follow; the second one where ids are of spelled persons."""
        plain, spelled = (
            derived_key(self._secret, _PURPOSE, self._series, purpose)[:8].hex() for purpose in ("plain", "check")
        )
        return plain, spelled

    def ids(self, persons: pa.ChunkedArray | Sequence[str]) -> NDArray[np.uint8]:
        """Return the ids of persons, uint8, shape (persons, `ID_BYTES`); those of the last ones are kept.

        Parameters
        ----------
        persons : texts
            None is missing.

        Raises
        ------
        InvalidData
            One is missing, or the compiled hash is not that of the standard library.
        """
        texts = persons if isinstance(persons, pa.ChunkedArray) else pa.chunked_array([persons], pa.string())
        if texts.null_count:
            raise InvalidData("series: a record says of nobody whose it is; fill the column of persons in the source")
        # who decides and who verifies ask for the same persons
        if self._last is None or not self._last[0].equals(texts):
            named = texts if self._spelled() else plain_persons(texts)
            found = np.concatenate([np.zeros((0, ID_BYTES), np.uint8), *map(self._hashed, named.chunks)])
            for place, keyed in ids_of_gone(texts):
                found[place] = np.frombuffer(keyed, np.uint8)
            self._last = (texts, found)
        return self._last[1]

    def values(self, attribute: str, labels: Sequence[str | None]) -> list[bytes]:
        """Return the hashes of values of a sensitive attribute, so that the vault holds none; b"" of a missing one."""
        keyed = KeyedHash(derived_key(self._secret, _PURPOSE, self._series, "values", attribute))
        return [b"" if label is None else keyed.digest(label)[:_VALUE_BYTES] for label in labels]

    def _hashed(self, texts: pa.Array) -> NDArray[np.uint8]:
        """Return the first bytes of the HMAC of each text; some are compared with those of the standard library."""
        if not len(texts):
            return np.zeros((0, ID_BYTES), np.uint8)
        _, places, content = texts.buffers()
        offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1]
        data = np.frombuffer(b"" if content is None else content, np.uint8)
        offsets.setflags(write=False)  # Arrow may say either of its buffers, and each would be compiled for
        data.setflags(write=False)
        found: NDArray[np.uint8] = hmac_sha256(*key_states(self._persons), offsets, data, ID_BYTES)
        for place in (0, len(texts) // 2, len(texts) - 1):
            if found[place].tobytes() != hmac.digest(self._persons, texts[place].as_py().encode(), "sha256")[:ID_BYTES]:
                raise InvalidData(
                    "series: keyed ids are not those of the standard library, so that nobody would be known again; "
                    "remove the compiled kernels (the folder NUMBA_CACHE_DIR, or __pycache__ of engine/kernels), and "
                    "run again"
                )
        return found
