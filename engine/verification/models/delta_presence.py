"""delta-presence, recounted: which share of the population in each class is released.

Nergiz, Atzori, Clifton, SIGMOD 2007, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import populated
from engine.verification.records.records import Records


def recount_delta_presence(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the released share of each class of the kept records.

    With a lowest share above 0 no class may have people but no released record: it would reveal that none of them is in
    the subset. If some model of the job demands a class size, such classes are left out instead (definitions:
    delta-presence). Nor may classes share people, as cells of a local recoding may: these have no one share.

    Raises
    ------
    InvalidData
        There is no population.
    """
    low, high = model["delta_min"], model["delta_max"]
    # no share is below 0, so a lowest share of 0 does not count as an end
    end = low if low > 0 else -math.inf
    classes = populated(records, "delta-presence")
    pairs = zip(classes.sizes.tolist(), classes.people.tolist(), strict=True)
    shares = [size / people if people else math.inf for size, people in pairs]
    beyond = sum(not low <= share <= high for share in shares)
    alone = classes.without_release if low > 0 and records.minimum_class_size <= 1 else 0
    shared = int((classes.shared > 0).sum())
    observed = _nearest(shares, end, high)
    near_low = observed is not None and observed - end < high - observed
    return Finding(
        "delta-presence",
        holds=beyond == 0 and alone == 0 and shared == 0,
        observed=observed if observed is not None and math.isfinite(observed) else None,
        required=low if near_low else high,
        sense="at-least" if near_low else "at-most",
        column=None,
        message=Message.of(
            "equivalence classes with a share outside {low:g} to {high:g}: {beyond} of {classes}{more}{common}",
            beyond=Count(beyond),
            classes=Count(len(shares)),
            low=low,
            high=high,
            more=Message.of("; with nobody who is released: {alone} more", alone=Count(alone)) if alone else "",
            common=Message.of("; with people in common with others: {shared}", shared=Count(shared)) if shared else "",
        ),
    )


def _nearest(shares: list[float], low: float, high: float) -> float | None:
    """Return the share furthest out of the range, or nearest to one of its ends; the highest where both are alike."""
    if not shares:
        return None
    lowest, highest = min(shares), max(shares)
    return lowest if lowest - low < high - highest else highest


RECOUNT = Recount(model="delta-presence", judge=recount_delta_presence)
