"""The form of a measure of re-identification risk.

It must be monotone: joining groups never raises it. A measure that the walk updates names its kernel; any other is
computed again for every policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Risk:
    """A measure of risk.

    Attributes
    ----------
    name : str
        Its name in a job.
    of_cells : function of two int64 arrays, shape (cells,), to float
        Records f of each cell, at least 1, and its people F, at least f: the risk.
    kernel : int or None
        Its number in the kernels; None if it has none.
    of_population : bool
        Whether it depends on F.
    """

    name: str
    of_cells: Callable[[NDArray[np.int64], NDArray[np.int64]], float]
    kernel: int | None = None
    of_population: bool = True
