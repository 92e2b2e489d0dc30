"""Labels as numbers: the values of the source, and the middle of an interval of the release.

The middle of an interval of whole numbers or days is that of those in it: of [20, 30) it is 24.5. A label without an
end on one side, such as 90 or more, counts as the end that it has; `*` and a missing value are no numbers.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.builder import SUPPRESSED, Extent, HierarchyBuilder
from engine.hierarchy.hierarchy import Label


def are_numbers(hierarchy: HierarchyBuilder, leaves: Sequence[Label]) -> bool:
    """Tell whether all values of a hierarchy are numbers or dates."""
    extents = [hierarchy.extent(leaf, 0) for leaf in leaves if leaf is not None and leaf != SUPPRESSED]
    return bool(extents) and all(extent is not None for extent in extents)


def numbers_of(
    hierarchy: HierarchyBuilder, labels: Sequence[Label], levels: Sequence[int], *, whole: bool
) -> NDArray[np.float64]:
    """Return the number of each label, NaN for one that has none.

    Parameters
    ----------
    levels : sequence of int
        Possible levels, the most detailed first; a label is one of the first that may have it.
    whole : bool
        Whether values are whole numbers or dates.
    """
    return np.array([_number(_extent(hierarchy, label, levels), whole=whole) for label in labels], np.float64)


def span_of(hierarchy: HierarchyBuilder, labels: Sequence[Label], levels: Sequence[int]) -> tuple[float, float] | None:
    """Return the least and the greatest end of labels, None if none has any; an open end is none.

    Parameters
    ----------
    levels : sequence of int
        As of `numbers_of`.
    """
    extents = [_extent(hierarchy, label, levels) for label in labels]
    ends = [end for extent in extents if extent is not None for end in map(_plain, extent) if end is not None]
    return (min(ends), max(ends)) if ends else None


def are_whole(values: NDArray[np.float64], records: NDArray[np.int64]) -> bool:
    """Tell whether most records have whole numbers, of those that have any: that of one record must not decide.

    Parameters
    ----------
    records : int64, shape (values,)
        With each value, of those that the file shows.
    """
    there = ~np.isnan(values)
    whole = there & (values == np.floor(values))
    return bool(2 * records[whole].sum() >= records[there].sum())


def _extent(hierarchy: HierarchyBuilder, label: Label, levels: Sequence[int]) -> Extent | None:
    if label is None or label == SUPPRESSED:
        return None
    found = (hierarchy.extent(label, level) for level in levels)
    return next((extent for extent in found if extent is not None), None)


def _number(extent: Extent | None, *, whole: bool) -> float:
    begin, below = (None, None) if extent is None else map(_plain, extent)
    if begin is None or below is None:
        known = begin if below is None else below
        return float("nan") if known is None else known
    return begin if begin == below else (begin + below - whole) / 2


def _plain(end: Decimal | dt.date | None) -> float | None:
    if end is None:
        return None
    return float(end.toordinal() if isinstance(end, dt.date) else end)
