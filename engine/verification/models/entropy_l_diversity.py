"""Entropy l-diversity, recounted from shares: the entropy of each class, in nats, against ln l.

Machanavajjhala et al., TKDD 1(1), 2007, definition 4.1; Grassberger, arXiv physics/0307138, 2003, whose G is written
with the digamma function here: G(2j) = G(2j + 1) = digamma(j + 1/2) + ln 2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.histograms import counted_values, histograms
from engine.verification.records.records import Records
from engine.verification.tolerance import at_least

_SERIES_FROM = 32.0
"""From here the asymptotic series of the digamma function is exact to the last digit of a double."""


def recount_entropy_l_diversity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount distinct values and entropy of each class of the kept records.

    The entropy must reach ln l to 1e-12 of it: the model itself compares doubles without tolerance, and another order
    of summation differs from it in the last digits where a class has l equal counts. No class that has less than the
    entropy of l values by more than rounding is accepted.
    """
    entropy = _ENTROPIES[model["variant"]]
    found = histograms(records, model["attribute"])
    classes = [(len(counts), entropy(counts.values())) for counts in counted_values(found, model)]
    least = math.log(model["l"])
    below = sum(not (distinct >= model["l"] and at_least(nats, least)) for distinct, nats in classes)
    return Finding(
        "l-diversity",
        holds=below == 0,
        observed=math.exp(min(nats for _, nats in classes)) if classes else None,
        required=model["l"],
        sense="at-least",
        column=model["attribute"],
        message=Message.of(
            "equivalence classes with less than the entropy of {l} values: {below} of {classes}",
            below=Count(below),
            classes=Count(len(classes)),
            l=model["l"],
        ),
    )


def _shannon(counts: Collection[int]) -> float:
    size = sum(counts)
    if not size:
        return -math.inf
    return -math.fsum(count / size * math.log(count / size) for count in counts)


def _grassberger(counts: Collection[int]) -> float:
    size = sum(counts)
    if not size:
        return -math.inf
    return _g(size) - math.fsum(count / size * _g(count) for count in counts)


@functools.lru_cache(maxsize=1 << 16)
def _g(count: int) -> float:
    """Estimate ln of a count, without bias for small ones."""
    x = count // 2 + 0.5
    steps = []
    while x < _SERIES_FROM:
        steps.append(-1.0 / x)
        x += 1.0
    # digamma(y + 1/2) = ln y + 1/(24 y^2) - 7/(960 y^4) + 31/(8064 y^6) - 127/(30720 y^8) + ...
    y = x - 0.5
    series = [math.log(y), 1 / (24 * y**2), -7 / (960 * y**4), 31 / (8064 * y**6), -127 / (30720 * y**8)]
    return math.fsum([*steps, *series, math.log(2.0)])


_ENTROPIES: Mapping[str, Callable[[Collection[int]], float]] = {
    "shannon-entropy": _shannon,
    "grassberger-entropy": _grassberger,
}


RECOUNT = Recount(model="l-diversity", judge=recount_entropy_l_diversity, variants=tuple(_ENTROPIES))
