"""Hashes of texts, from the buffers in which Arrow holds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


@kernel
def text_hashes(offsets: NDArray[np.int32], data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash texts by FNV-1a, 64 bits, mixed by the finalizer of MurmurHash3 so that all bits are alike random.

    Fowler, Noll, Vo, Eastlake: The FNV non-cryptographic hash algorithm (RFC 9923). Appleby: MurmurHash3, fmix64.

    Parameters
    ----------
    offsets : int32, shape (texts + 1,)
        Text t is `data[offsets[t]:offsets[t + 1]]`.
    data : uint8
        The bytes of all texts, UTF-8.

    Returns
    -------
    uint64, shape (texts,)
    """
    found = np.empty(offsets.shape[0] - 1, np.uint64)
    for text in range(found.shape[0]):
        state = np.uint64(0xCBF29CE484222325)
        for place in range(offsets[text], offsets[text + 1]):
            state = (state ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        state = (state ^ (state >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        state = (state ^ (state >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        found[text] = state ^ (state >> np.uint64(33))
    return found
