"""How the losses of the attributes become one figure (definitions: aggregates).

In: one loss per quasi-identifier and one weight each, weights divided by their maximum. Out: one float, or for `rank`
the weighted losses in descending order. Every aggregate is monotone in every loss, so bounds of the parts give a bound
of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from engine.utility.information_loss import InformationLoss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AggregateName = Literal["arithmetic-mean", "geometric-mean", "sum", "maximum", "rank"]


def _arithmetic_mean(losses: Sequence[float]) -> float:
    return math.fsum(losses) / len(losses)


def _geometric_mean(losses: Sequence[float]) -> float:
    # the product of all (loss + 1), to the power 1 / m, less 1: by logarithms, which keep the digits of small losses
    return math.expm1(math.fsum(math.log1p(loss) for loss in losses) / len(losses))


def _rank(losses: Sequence[float]) -> tuple[float, ...]:
    return tuple(sorted(losses, reverse=True))


_AGGREGATES: Mapping[AggregateName, Callable[[Sequence[float]], InformationLoss]] = {
    "arithmetic-mean": _arithmetic_mean,
    "geometric-mean": _geometric_mean,
    "sum": math.fsum,
    "maximum": max,
    "rank": _rank,
}


def aggregate(name: AggregateName, losses: Sequence[float], weights: Sequence[float]) -> InformationLoss:
    """Combine the losses of m >= 1 attributes; at least one weight must be above 0."""
    heaviest = max(weights)
    return _AGGREGATES[name]([loss * (weight / heaviest) for loss, weight in zip(losses, weights, strict=True)])


def order_by_aggregate(name: AggregateName, losses: NDArray[np.float64], weights: Sequence[float]) -> NDArray[np.int64]:
    """Return the rank of each column of `losses`, shape (m, C), by its aggregate, 0 for the least."""
    import numpy as np  # noqa: PLC0415 (job files parse without numpy)

    columns, column = np.unique(losses, axis=1, return_inverse=True)
    found = [aggregate(name, values, weights) for values in columns.T.tolist()]
    place = {loss: rank for rank, loss in enumerate(sorted(set(found)))}
    return np.array([place[loss] for loss in found], np.int64)[column.reshape(-1)]
