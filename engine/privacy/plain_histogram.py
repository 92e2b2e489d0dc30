"""Sensitive values as plain arrays: the `ClassHistogram` of some classes of a partition, or of some of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.hierarchy.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class PlainHistogram:
    """See `ClassHistogram`."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    labels: tuple[str | None, ...]
    hierarchy: Hierarchy | None
