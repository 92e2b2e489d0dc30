"""What a class still lacks of a privacy model, as a guide for algorithms that join classes until they satisfy it.

In: the sensitive attribute of a model. Out: a `Lack`, from which a number of records follows for each class and for the
union of two. It only says which unions are promising; whether a class satisfies a model is the model's own decision.
Where there are many features, neighbouring ones are put together before any is made: an attribute may have as many
values as the table has records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_FEATURES = 64
"""Of a model."""


class Lack(NamedTuple):
    """Of a class with n records and sums S of the features of their values, T those of the table as shares.

    It lacks `max(0, sum(weights * abs(S - n * T)) - allowed * n)` records, and as many as it has fewer distinct
    values than `distinct`.

    Attributes
    ----------
    features : float64, shape (V, F)
        Of each value of the attribute; F is at most `MOST_FEATURES`.
    weights : float64, shape (F,)
        At least 0.
    allowed : float
    distinct : float
        0 if their number does not matter.
    """

    features: NDArray[np.float64]
    weights: NDArray[np.float64]
    allowed: float
    distinct: float


def of_shares(nodes: NDArray[np.int64], weight: float, allowed: float) -> Lack:
    """Return a lack by the shares of groups of values.

    Parameters
    ----------
    nodes : int, shape (levels, V)
        Group of each value at each level.
    """
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    widths = nodes.max(axis=1, initial=-1) + 1
    begins = _begins(int(widths.sum()))
    features = np.zeros((nodes.shape[1], begins.size))
    for of_value, first in zip(nodes, np.cumsum(widths) - widths, strict=True):
        place = np.searchsorted(begins, of_value + first, side="right") - 1
        features[np.arange(place.size), place] += 1.0
    return Lack(features, np.full(begins.size, weight), allowed, 0.0)


def of_cumulative_shares(values: int, weight: float, allowed: float) -> Lack:
    """Return a lack by the shares of the values up to each of V, in their order."""
    import numpy as np  # noqa: PLC0415

    begins = _begins(values)
    ends = np.append(begins[1:], values)
    # a value counts in each of the shares from its own on
    counted = ends - np.maximum(begins, np.arange(values)[:, None])
    return Lack(np.maximum(counted, 0).astype(np.float64), np.full(begins.size, weight), allowed, 0.0)


def _begins(number: int) -> NDArray[np.int64]:
    """Return the first of the features that are put together, for each group of them, int64, shape (F,)."""
    import numpy as np  # noqa: PLC0415

    return np.linspace(0, number, min(number, MOST_FEATURES), endpoint=False).astype(np.int64)
