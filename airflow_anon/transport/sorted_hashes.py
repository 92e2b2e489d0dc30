"""Hashes in ascending order, however many there are: those that memory does not hold wait on disk.

In: arrays of hashes in any order. Out: arrays that follow one another in ascending order. `HELD` bytes of hashes at a
time are sorted and written behind one another into a file without a name, which is gone with the process. At the end
that file is read by ranges of the hashes, the same range of each sorted run together. Memory is the held hashes, twice
while these are sorted; then twice a 64th of all hashes, or those of all records that are alike.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HELD = 1 << 25
"""Bytes of hashes in memory, at most and but for one batch: 32 MB."""
NUMBER = "<u8"
"""Hashes of 64 bits, as whole numbers."""
DIGEST = "V32"
"""Hashes of 256 bits, as bytes, of which the first counts most."""
_PARTS = 64


class SortedHashes:
    """Hashes to be sorted.

    Parameters
    ----------
    folder : Path or None
        Where the file is, beside the records; None is the system's folder of temporary files.
    kind : str
        Type of NumPy of a hash: `NUMBER` or `DIGEST`.
    """

    def __init__(self, folder: Path | None, kind: str = NUMBER) -> None:
        self._folder = folder
        self._kind = kind
        self._held: list[NDArray[Any]] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self._runs: list[NDArray[np.int64]] = []
        """For each sorted run the places in the file where its parts begin and the last one ends, in hashes."""

    def add(self, hashes: NDArray[Any]) -> None:
        """Take hashes, shape (n,).

        Raises
        ------
        OSError
            The disk is full.
        """
        self._held.append(hashes)
        self._size += hashes.nbytes
        if self._size >= HELD:
            self._write()

    def ascending(self) -> Iterator[NDArray[Any]]:
        """Yield all hashes in ascending order, in arrays that follow one another; afterwards there are none.

        Raises
        ------
        OSError
            See `add`.
        """
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        if self._file is None:
            yield self._sorted()
            return
        self._write()
        for part in range(_PARTS):
            hashes = np.concatenate([self._read(*run[part : part + 2].tolist()) for run in self._runs])
            hashes.sort()
            yield hashes

    def close(self) -> None:
        """Forget all hashes."""
        self._held, self._size, self._runs = [], 0, []
        if self._file is not None:
            self._file.close()

    def _sorted(self) -> NDArray[Any]:
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        hashes = np.concatenate([np.empty(0, self._kind), *self._held])
        self._held, self._size = [], 0
        hashes.sort()
        return hashes

    def _write(self) -> None:
        """Write the held hashes as one sorted run."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by `close`)
        run = self._sorted()
        begin = int(self._runs[-1][-1]) if self._runs else 0
        ends = [0, *np.searchsorted(run, self._bounds()).tolist(), len(run)]
        self._file.write(run.data)
        self._runs.append(np.array(ends, np.int64) + begin)

    def _read(self, begin: int, end: int) -> NDArray[Any]:
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        assert self._file is not None  # noqa: S101 (a run was written)
        size = np.dtype(self._kind).itemsize
        self._file.seek(size * begin)
        return np.frombuffer(self._file.read(size * (end - begin)), self._kind)

    def _bounds(self) -> NDArray[Any]:
        """Return the first hash of each part but the first one."""
        import numpy as np  # noqa: PLC0415 (heavy imports belong into execute)

        first = np.arange(1, _PARTS, dtype=np.uint64) * np.uint64(2**64 // _PARTS)
        if self._kind == NUMBER:
            return first
        bounds = np.zeros((len(first), np.dtype(self._kind).itemsize // first.itemsize), ">u8")
        bounds[:, 0] = first
        return bounds.view(self._kind)[:, 0]
