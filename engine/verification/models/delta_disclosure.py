"""delta-disclosure privacy, recounted: how many times more or less frequent a value is in a class than in the table.

Brickell, Shmatikov, KDD 2008, definition 1; without `strict` only the values that a class has are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.histograms import histograms
from engine.verification.records.records import Records
from engine.verification.tolerance import TOLERANCE


def recount_delta_disclosure(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount `|log2(p / q)| < delta` for the values of each class of the kept records."""
    name, delta = model["attribute"], model["delta"]
    found = histograms(records, name)
    logs = []
    beyond = 0
    for counts in found:
        size = sum(counts.values())
        ratios = [Fraction(count * found.records, found.totals[value] * size) for value, count in counts.items()]
        lacking = model.get("strict", False) and len(counts) < len(found.values)
        beyond += lacking or not all(_within(ratio, delta) for ratio in ratios)
        logs.append(max(abs(math.log2(ratio)) for ratio in ratios))
    return Finding(
        "delta-disclosure-privacy",
        holds=beyond == 0,
        observed=max(logs, default=None),
        required=delta,
        sense="at-most",
        column=name,
        message=Message.of(
            "equivalence classes in which a value is too frequent or too rare: {beyond} of {classes}",
            beyond=Count(beyond),
            classes=Count(len(logs)),
        ),
    )


def _within(ratio: Fraction, delta: float) -> bool:
    """Tell whether `|log2(ratio)| < delta`.

    Near the bound: a ratio of whole numbers is 2 to the power of a double only where that is whole, and then the
    comparison is exact, so that equality fails. Else there is no equality, and up to 1e-12 of `delta` is rounding.
    """
    log: float = abs(math.log2(ratio))
    if abs(log - delta) > TOLERANCE * max(1.0, delta):
        return log < delta
    if float(delta).is_integer():
        bound = 2 ** int(delta)  # no larger than the ratio is, as they are near
        return bool(Fraction(1, bound) < ratio < bound)
    return log < delta * (1 + TOLERANCE)


RECOUNT = Recount(model="delta-disclosure-privacy", judge=recount_delta_disclosure)
