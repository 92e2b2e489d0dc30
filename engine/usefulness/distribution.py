"""The distribution of a column before and after, by labels that have enough records.

In: the labels of a column, the records that show each in the file, and those of the source that do not show it because
they are suppressed. Out: the counts of the labels that can be told. Which labels are listed, and which numbers share a
bin, depends on the file alone: who has it learns nothing from the choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Label
from engine.usefulness.document import LabelCount
from engine.usefulness.intervals import of_proportion, overlap

MOST_LABELS = 24
"""Labels that are listed; the rarer ones are one bar together."""
MOST_BINS = 12
_NICE = (1.0, 2.0, 5.0, 10.0)


def distribution(
    labels: Sequence[Label], shown: NDArray[np.int64], unshown: NDArray[np.int64], fewest: int
) -> list[LabelCount]:
    """Count the records of each label that at least `fewest` records of the file show, and of all others together.

    Parameters
    ----------
    labels : sequence of L labels
        In the order in which they are to be listed.
    shown, unshown : int64, shape (L,)
        Records that show the label, and records of the source that would, if they were not suppressed.

    Returns
    -------
    list of LabelCount
        Records that show none of the labels are in no entry. The others are an entry only where enough show them.
    """
    order = np.argsort(-shown, kind="stable")
    listed = [place for place in order[:MOST_LABELS].tolist() if shown[place] >= fewest]
    rest = int(shown.sum() - shown[listed].sum())
    while 0 < rest < fewest and listed:
        rest += int(shown[listed.pop()])
    told: list[LabelCount] = [_entry(labels[place], int(shown[place]), int(unshown[place])) for place in sorted(listed)]
    if rest >= fewest:
        hidden = int(unshown.sum() - unshown[listed].sum())
        told.append({**_entry(None, rest, hidden), "other": True})
    return told


def overlap_of_shares(labels: Sequence[LabelCount], before: int, after: int) -> tuple[float, float] | None:
    """Return the mean and the least overlap of the intervals of the labels' shares; None without labels.

    Parameters
    ----------
    before, after : int
        Records of which the counts of labels are shares.
    """
    found = [overlap(of_proportion(one["before"], before), of_proportion(one["after"], after)) for one in labels]
    return (float(np.mean(found)), min(found)) if found else None


def binned(
    values: NDArray[np.float64], shown: NDArray[np.int64], unshown: NDArray[np.int64]
) -> tuple[list[Label], NDArray[np.int64], NDArray[np.int64]]:
    """Return bins of numbers of equal width, with round ends, and open to both sides; a missing number is the last one.

    The width follows from the middle 98% of the numbers in the file, so that no end is the value of an outlier.
    """
    missing = np.isnan(values)
    edges = _edges(values[~missing], shown[~missing])
    bins = np.where(missing, len(edges) + 1, np.searchsorted(edges, values, side="right"))
    counts = [np.bincount(bins, weights=one, minlength=len(edges) + 2).astype(np.int64) for one in (shown, unshown)]
    if not len(edges):
        return ["all values", None], counts[0], counts[1]
    ends = [f"{edge:.6g}" for edge in edges]
    inner = [f"[{low}, {high})" for low, high in itertools.pairwise(ends)]
    return [f"below {ends[0]}", *inner, f"{ends[-1]} or more", None], counts[0], counts[1]


def _edges(values: NDArray[np.float64], shown: NDArray[np.int64]) -> NDArray[np.float64]:
    finite = np.isfinite(values) & (shown > 0)
    values, shown = values[finite], shown[finite]
    if values.size < 2:  # noqa: PLR2004 (one value needs no ends between values)
        return np.empty(0)
    order = np.argsort(values)
    reached = np.cumsum(shown[order]) / shown.sum()
    low, high = (float(values[order][np.searchsorted(reached, share)]) for share in (0.01, 0.99))
    if high <= low:
        return np.empty(0)
    width = _nice((high - low) / MOST_BINS)
    steps = np.arange(math.ceil(low / width), math.floor(high / width) + 1)
    return np.asarray(width * steps, np.float64)


def _nice(width: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is not below a width."""
    power = 10.0 ** math.floor(math.log10(width))
    return power * next(nice for nice in _NICE if nice * power >= width * (1 - 1e-12))


def _entry(label: Label, shown: int, unshown: int) -> LabelCount:
    return {"label": label, "before": shown + unshown, "after": shown}
