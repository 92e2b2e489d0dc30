"""Recursive (c,l)-diversity, recounted: each class's counts, sorted.

Machanavajjhala et al., TKDD 1(1), 2007, definition 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.histograms import counted_values, histograms
from engine.verification.records.records import Records


def recount_recursive_l_diversity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount r1 < c (r_l + ... + r_m) in each class of the kept records.

    The counts are whole and their ratio is rounded once, so there is no other rounding to allow for: equality fails. So
    does a class without an l-th value.
    """
    found = histograms(records, model["attribute"])
    ordered = [sorted(counts.values(), reverse=True) for counts in counted_values(found, model)]
    extremes = [(sum(counts[:1]), sum(counts[model["l"] - 1 :])) for counts in ordered]
    ratios = [largest / tail if tail else math.inf for largest, tail in extremes]
    below = sum(not ratio < model["c"] for ratio in ratios)
    worst = max(ratios, default=math.inf)
    return Finding(
        "l-diversity",
        holds=below == 0,
        observed=worst if math.isfinite(worst) else None,
        required=model["c"],
        sense="at-most",
        column=model["attribute"],
        message=Message.of(
            "equivalence classes whose most frequent value is too frequent: {below} of {classes}",
            below=Count(below),
            classes=Count(len(ratios)),
        ),
    )


RECOUNT = Recount(model="l-diversity", judge=recount_recursive_l_diversity, variants=("recursive",))
