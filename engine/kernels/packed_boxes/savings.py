"""What raising an attribute takes off the cost of a suppressed record at most, for each pair of levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


@kernel
def largest_savings(
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    widths: NDArray[np.int64],
    more: NDArray[np.int64],
    more_at: NDArray[np.int64],
    ups: NDArray[np.int32],
    ups_at: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the largest fall of the additional cost of a label, `savings` of `Labels`.

    Parameters
    ----------
    low, high : int64, shape (m,)
        Levels between which an attribute may be raised.
    widths, more, more_at, ups, ups_at
        See `Labels`.
    """
    found = np.zeros(ups_at.shape, np.int64)
    for a in range(low.shape[0]):
        for level in range(low[a], high[a]):
            for above in range(level + 1, high[a] + 1):
                largest = np.int64(0)
                for label in range(widths[a, level]):
                    higher = ups[ups_at[a, level, above] + label]
                    largest = max(largest, more[more_at[a, level] + label] - more[more_at[a, above] + higher])
                found[a, level, above] = largest
    return found
