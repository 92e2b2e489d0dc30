"""Recomputes what a report says of each privacy model's bound: required figure, sense and margin.

The margin follows from the stated figure, which is compared with the recounted one elsewhere: so it is known even if
the sensitive values of the kept records are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.verification.finding import Finding
from engine.verification.tolerance import is_number, same


def bound_holds(stated: Mapping[str, Any], found: Finding) -> bool:
    """Compare one entry of the report with the recount of its model.

    Parameters
    ----------
    stated : mapping
        The entry: `required`, `sense`, `observed`, `margin`.
    found : Finding
        The recount, which declares bound and sense; what was not recounted has none, and no entry agrees with that.
    """
    required, sense = found.required, found.sense
    if required is None or sense is None or not is_figure(stated.get("required"), required):
        return False
    observed = stated.get("observed")
    if stated.get("sense") != sense or not (observed is None or is_number(observed)):
        return False
    return is_figure(stated.get("margin"), _margin(sense, required, observed, holds=found.holds))


def least_margin_holds(stated: Any, entries: Sequence[Any]) -> bool:
    """Compare the least margin of a report with those of its entries."""
    margins = [entry["margin"] for entry in entries if isinstance(entry, Mapping) and is_number(entry.get("margin"))]
    return is_figure(stated, min(margins) if margins else None)


def is_figure(stated: Any, found: float | None) -> bool:
    """Compare a figure of a privacy model: a distance of zero may be stated as the rounding of its sum."""
    return same(stated, found, relative=1e-9, absolute=1e-12)


def _margin(sense: str, required: float, observed: float | None, *, holds: bool) -> float | None:
    if not holds:
        return 0.0
    if observed is None:
        return None
    if sense == "at-least":
        return max(0.0, (observed - required) / observed) if observed > 0 else 0.0
    # a figure below 0 is the rounding of 0
    return min(1.0, max(0.0, (required - observed) / required)) if required > 0 else 0.0
