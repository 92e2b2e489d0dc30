"""How the losses of the attributes become one figure (definitions: aggregates).

In: one loss per quasi-identifier and one weight each, weights divided by their maximum. Out: one float. Every
aggregate is monotone in every loss, so that bounds of the parts give a bound of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

AggregateName = Literal["arithmetic-mean", "geometric-mean", "sum", "maximum"]


def _arithmetic_mean(losses: Sequence[float]) -> float:
    return math.fsum(losses) / len(losses)


def _geometric_mean(losses: Sequence[float]) -> float:
    # the product of all (loss + 1), to the power 1 / m, less 1: by logarithms, which keep the digits of small losses
    return math.expm1(math.fsum(math.log1p(loss) for loss in losses) / len(losses))


_AGGREGATES: Mapping[AggregateName, Callable[[Sequence[float]], float]] = {
    "arithmetic-mean": _arithmetic_mean,
    "geometric-mean": _geometric_mean,
    "sum": math.fsum,
    "maximum": max,
}


def aggregate(name: AggregateName, losses: Sequence[float], weights: Sequence[float]) -> float:
    """Combine the losses of m >= 1 attributes; at least one weight must be above 0."""
    heaviest = max(weights)
    return _AGGREGATES[name]([loss * (weight / heaviest) for loss, weight in zip(losses, weights, strict=True)])
