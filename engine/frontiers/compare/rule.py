"""The rule that chooses a policy of a frontier: the least utility loss of all that are safe enough.

In: the risk and utility loss of policies, and the rule. Out: the policies that meet it, the preferred one first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.frontiers.space.domain import Bits


class Candidate(NamedTuple):
    """A policy with its risk and utility loss."""

    risk: float
    utility_loss: float
    bits: Bits


class Reference(NamedTuple):
    """Risk and utility loss of the policy that is to be dominated."""

    risk: float
    utility_loss: float


def eligible(
    candidates: Iterable[Candidate], maximum_risk: float | None, dominated: Reference | None
) -> list[Candidate]:
    """Return the candidates that meet a rule, by utility loss, then risk, then bits.

    Parameters
    ----------
    maximum_risk : float, optional
        The highest risk allowed.
    dominated : Reference, optional
        The point that must be strictly dominated: neither figure is higher, and one is lower.
    """
    found = [
        candidate
        for candidate in candidates
        if (maximum_risk is None or candidate.risk <= maximum_risk)
        and (dominated is None or dominates(candidate, dominated))
    ]
    return sorted(found, key=lambda one: (one.utility_loss, one.risk, tuple(one.bits.tolist())))


def dominates(candidate: Candidate, other: Reference) -> bool:
    """Tell whether a candidate is no worse than another policy by either figure, and better by one."""
    no_worse = candidate.risk <= other.risk and candidate.utility_loss <= other.utility_loss
    return no_worse and (candidate.risk < other.risk or candidate.utility_loss < other.utility_loss)
