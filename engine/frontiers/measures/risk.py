"""What a measure of re-identification risk is.

It must be monotone: joining groups never raises it. A measure that the walk keeps up to date itself names its kernel;
any other is computed anew for every policy.
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
        As a job names it.
    of_cells : function of two int64 arrays, shape (cells,), to float
        Records f of each cell, at least 1, and its people F, at least f: the risk.
    kernel : int or None
        How the kernels know it; None: not at all.
    of_population : bool
        Whether it depends on F.
    """

    name: str
    of_cells: Callable[[NDArray[np.int64], NDArray[np.int64]], float]
    kernel: int | None = None
    of_population: bool = True
