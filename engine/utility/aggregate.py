"""How the losses of the attributes become one figure (definitions: aggregates).

In: one loss and one weight per quasi-identifier. Out: one float, or for `rank` the weighted losses in descending order.
The arithmetic mean is the weighted one, sum of w x / sum of w: where every loss is 1 it is 1. All others take weights
divided by the heaviest. Every aggregate is monotone in every loss, so that bounds of the parts give a bound of the
whole.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from engine.utility.information_loss import InformationLoss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AggregateName = Literal["arithmetic-mean", "geometric-mean", "sum", "maximum", "rank"]


def _geometric_mean(losses: Sequence[float]) -> float:
    # the product of all (loss + 1), to the power 1 / m, less 1: by logarithms, which keep the digits of small losses
    return math.expm1(math.fsum(math.log1p(loss) for loss in losses) / len(losses))


def _rank(losses: Sequence[float]) -> tuple[float, ...]:
    return tuple(sorted(losses, reverse=True))


_AGGREGATES: Mapping[str, Callable[[Sequence[float]], InformationLoss]] = {
    "geometric-mean": _geometric_mean,
    "sum": math.fsum,
    "maximum": max,
    "rank": _rank,
}


def aggregate(name: AggregateName, losses: Sequence[float], weights: Sequence[float]) -> InformationLoss:
    """Combine the losses of m >= 1 attributes; at least one weight must be above 0."""
    shares, divisor = _shares(tuple(weights))
    weighted = [loss * share for loss, share in zip(losses, shares, strict=True)]
    return math.fsum(weighted) / divisor if name == "arithmetic-mean" else _AGGREGATES[name](weighted)


def scales(name: AggregateName, weights: Sequence[float]) -> list[float]:
    """Return what the loss of each attribute is multiplied by before an aggregate combines them."""
    shares, total = _shares(tuple(weights))
    divisor = total if name == "arithmetic-mean" else 1.0
    return [share / divisor for share in shares]


@functools.lru_cache
def _shares(weights: tuple[float, ...]) -> tuple[tuple[float, ...], float]:
    """Return weights of at most 1, and their sum: it is finite, however heavy they are."""
    heaviest = max(weights)
    shares = tuple(weight / heaviest for weight in weights)
    return shares, math.fsum(shares)


def order_by_aggregate(name: AggregateName, losses: NDArray[np.float64], weights: Sequence[float]) -> NDArray[np.int64]:
    """Return the rank of each column of `losses`, shape (m, C), by its aggregate, 0 for the least."""
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    columns, column = np.unique(losses, axis=1, return_inverse=True)
    found = [aggregate(name, values, weights) for values in columns.T.tolist()]
    place = {loss: rank for rank, loss in enumerate(sorted(set(found)))}
    return np.array([place[loss] for loss in found], np.int64)[column.reshape(-1)]
