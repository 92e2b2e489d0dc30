"""Records put together by class, in an order within a class that is as random as the numbers that are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel


@kernel
def shuffled(places: NDArray[np.int64], lowest: int, width: int, random: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order of records by their places, at random where these are equal.

    All records are shuffled (Durstenfeld, Communications of the ACM 7/7, 1964, algorithm 235), and then counted into
    their places one after the other: what is a uniform order of all is one of each class. No number is compared, which
    takes a tenth of what sorting takes.

    Parameters
    ----------
    places : int64, shape (records,)
        From `lowest` on, fewer than `width` further ones.
    random : uint64, shape (records,)
        Independent and uniform: two orders within the classes then differ in likelihood by records^2 / 2^64 of it at
        most.

    Returns
    -------
    int64, shape (records,)
    """
    records = places.size
    mixed = np.arange(records)
    for last in range(records - 1, 0, -1):
        chosen = np.int64(random[last] % np.uint64(last + 1))
        mixed[last], mixed[chosen] = mixed[chosen], mixed[last]
    begin = np.zeros(width + 1, np.int64)
    for record in range(records):
        begin[places[record] - lowest + 1] += 1
    for place in range(width):
        begin[place + 1] += begin[place]
    order = np.empty(records, np.int64)
    for rank in range(records):
        at = places[mixed[rank]] - lowest
        order[begin[at]] = mixed[rank]
        begin[at] += 1
    return order
