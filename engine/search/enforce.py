"""The classes that table-wide criteria suppress: the shortest prefix of the kept classes after which all criteria hold.

The classes are ordered by size, then by the loss of keeping them if the measure gives an order, then by their first
record in the source (definitions: privacy models).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.privacy.table_wide import TableWideModel
from engine.tables.counting.frequency import Classes


def smallest_classes(
    models: Sequence[TableWideModel],
    classes: Classes,
    kept: NDArray[np.bool_],
    order: NDArray[np.int64] | None,
    room: int,
) -> NDArray[np.int64] | None:
    """Return the classes that must be suppressed.

    Parameters
    ----------
    kept : bool, shape (C,)
        Classes that the other models keep.
    order : int64, shape (C,), optional
        Rank of each class by the loss of keeping it.
    room : int
        Records that may still be suppressed.

    Returns
    -------
    int64 or None
        None if these are more records than `room`.
    """
    if room < 0:
        return None
    candidates = np.flatnonzero(kept)
    sizes = classes.counts[candidates]
    ascending = np.sort(sizes)
    most = int(np.searchsorted(np.cumsum(ascending), room, side="right"))
    number = _shortest(models, ascending, most, int(classes.counts.sum()))
    if number is None or not number:
        return None if number is None else candidates[:0]
    keys = [classes.first[candidates], *([] if order is None else [order[candidates]]), sizes]
    return candidates[np.lexsort(keys)[:number]]


def _shortest(models: Sequence[TableWideModel], sizes: NDArray[np.int64], most: int, records: int) -> int | None:
    """Return the least number of smallest classes without which every model holds, None above `most`."""
    number, agreed = 0, 0
    while agreed < len(models):
        for model in models:
            needed = model.first_holding(sizes, number, most, records)
            if needed > most:
                return None
            agreed = agreed + 1 if needed == number else 1
            number = needed
            if agreed >= len(models):
                break
    return number
