"""Numbers from their bytes, where bytes of the same rank stand together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


@kernel
def joined_planes(planes: NDArray[np.uint8], less: int) -> NDArray[np.int32]:
    """Return numbers, less a constant, int32, shape (n,), from their bytes, the lowest first, shape (1 to 4, n)."""
    found: NDArray[np.int32] = planes[0].astype(np.int32)
    for rank in range(1, planes.shape[0]):
        for i in range(found.shape[0]):
            found[i] |= np.int32(planes[rank, i]) << np.int32(8 * rank)
    for i in range(found.shape[0]):
        found[i] -= np.int32(less)
    return found
