"""How a policy that a frontier is compared with stands to it: on it, beaten by one of it, or neither.

In: figures, normalized, and those of the frontier. Out: the number of a policy of the frontier, from 1, by ascending
risk.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.frontiers.document import ReportedPolicy, Standing

TOLERANCE = 1e-11
"""Normalized figures that differ by less are equal: a policy can be reached in two ways."""


def beats(one: ReportedPolicy, other: ReportedPolicy) -> bool:
    """Tell whether neither figure of the first policy is higher than that of the second, and one is lower."""
    risk = one["normalized_risk"] - other["normalized_risk"]
    loss = one["normalized_utility_loss"] - other["normalized_utility_loss"]
    return max(risk, loss) <= TOLERANCE and min(risk, loss) < -TOLERANCE


def standing(frontier: Sequence[ReportedPolicy], entry: ReportedPolicy, *, is_policy: bool = True) -> Standing:
    """Return how an entry stands to a frontier by ascending risk.

    Parameters
    ----------
    is_policy : bool
        Whether the entry's figures are those of its bits.
    """
    number = next((place for place, one in enumerate(frontier, 1) if is_policy and one["bits"] == entry["bits"]), None)
    # along the frontier the utility loss falls: the last of them is the one that keeps the most
    beating = [place for place, one in enumerate(frontier, 1) if beats(one, entry)]
    return {"number": number, "beaten_by": beating[-1] if beating else None}
