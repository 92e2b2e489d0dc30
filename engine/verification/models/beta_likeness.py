"""beta-likeness, recounted: how much more frequent a value is in a class than in the table, relative to the table.

Cao, Karras, PVLDB 5(11), 2012, definitions 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.histograms import histograms
from engine.verification.records.records import Records
from engine.verification.tolerance import at_most


def recount_beta_likeness(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the gain `(p - q) / q` of the values of each class of the kept records.

    With f of c records in the class and F of N in the table it is `(f N - F c) / (F c)`, one division of whole
    numbers; it may exceed its bound by 1e-12, which is rounding.
    """
    found = histograms(records, model["attribute"])
    bounds = [_bound(total / found.records, model) for total in found.totals]
    largest = []
    beyond = 0
    for counts in found:
        size = sum(counts.values())
        gains = {v: (f * found.records - found.totals[v] * size) / (found.totals[v] * size) for v, f in counts.items()}
        beyond += not all(at_most(gain, bounds[value]) for value, gain in gains.items())
        largest.append(max(gains.values()))
    return Finding(
        "beta-likeness",
        holds=beyond == 0,
        observed=max(largest, default=None),
        required=model["beta"],
        sense="at-most",
        column=model["attribute"],
        message=Message.of(
            "equivalence classes in which a value gains too much over the table: {beyond} of {classes}",
            beyond=Count(beyond),
            classes=Count(len(largest)),
        ),
    )


def _bound(share: float, model: Mapping[str, Any]) -> float:
    beta: float = model["beta"]
    return min(beta, -math.log(share)) if model["variant"] == "enhanced" else beta


RECOUNT = Recount(model="beta-likeness", judge=recount_beta_likeness, variants=("basic", "enhanced"))
