"""The distribution of class sizes that a release's report states, counted by code of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby


def size_bins(sizes: Sequence[int], smallest: int, records: Sequence[int] | None = None) -> list[dict[str, int]]:
    """Return how many classes and records there are by class size, in bins from `smallest` on that double in width.

    Classes below `smallest`, which another expectation refuses, are in no bin. `records` has those of each class where
    sizes are in persons.
    """
    pairs = sorted(zip(sizes, sizes if records is None else records, strict=True))
    counted = {
        place: [own for _, own in found] for place, found in groupby(pairs, lambda pair: _place(pair[0], smallest))
    }
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
