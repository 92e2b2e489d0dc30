"""Bounds, margins and size bins of a release's report, computed by independent code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

_LOWER_BOUNDS = {"k-anonymity": "k", "k-map": "k", "l-diversity": "l"}
_UPPER_BOUNDS = {
    "t-closeness": "t",
    "delta-disclosure-privacy": "delta",
    "beta-likeness": "beta",
    "average-risk": "threshold",
    "sample-uniqueness": "threshold",
    "population-uniqueness": "threshold",
}


def bound(model: Mapping[str, Any], observed: float | None) -> tuple[float, str]:
    """Return what a privacy model requires of its observed figure, and in which sense.

    Parameters
    ----------
    model : mapping
        The model and its parameters.
    observed : float, optional
        It decides which of the two bounds of delta-presence is nearer; a lower bound of 0 is ignored.
    """
    name = model["model"]
    if name == "delta-presence":
        low, high = model["delta_min"], model["delta_max"]
        near_low = low > 0 and observed is not None and observed - low < high - observed
        return (low, "at-least") if near_low else (high, "at-most")
    if model.get("variant") == "recursive":
        return model["c"], "at-most"
    if name in _LOWER_BOUNDS:
        return model[_LOWER_BOUNDS[name]], "at-least"
    return model[_UPPER_BOUNDS[name]], "at-most"


def margin(required: float, sense: str, observed: float | None, *, holds: bool) -> float | None:
    """Return the margin of a requirement, 0 to 1; None if the model holds and observed nothing."""
    if observed is None and holds:
        return None
    if observed is None or not holds:
        return 0.0
    larger = observed if sense == "at-least" else required
    left = observed - required if sense == "at-least" else required - observed
    return min(max(left, 0.0), larger) / larger if larger > 0 else 0.0


def size_bins(sizes: Sequence[int], smallest: int) -> list[dict[str, int]]:
    """Return the numbers of classes and records by class size, in bins that begin at `smallest` and double in width.

    Classes below `smallest`, which another expectation refuses, are in no bin.
    """
    counted = {place: list(found) for place, found in groupby(sorted(sizes), lambda size: _place(size, smallest))}
    return [
        {"from": start, "to": 2 * start - 1, "classes": len(found), "records": sum(found)}
        for start, found in _filled(counted, smallest)
    ]


def _filled(counted: Mapping[int, list[int]], smallest: int) -> Iterator[tuple[int, list[int]]]:
    for place in range(max(counted, default=-1) + 1):
        yield smallest * 2**place, counted.get(place, [])


def _place(size: int, smallest: int) -> int:
    """Return the number of the bin; -1 below the first."""
    place = -1
    while smallest * 2 ** (place + 1) <= size:
        place += 1
    return place
