"""The form of a frontier's report, and of the choice that a rule makes: plain numbers, text, documents of policies."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

PolicyDocument = dict[str, list[dict[str, Any]]]
"""Of each quasi-identifier its groups: what a policy file holds under `policy` (docs/frontier.md)."""


class Place(TypedDict):
    """Where a policy lies in the plane."""

    risk: float
    utility_loss: float


class ReportedPolicy(Place):
    """A policy and where it lies; normalized figures are shares of those at the two ends of the plane, 0 to 1."""

    normalized_risk: float
    normalized_utility_loss: float
    policy: PolicyDocument


class ReportedSafeHarbor(ReportedPolicy):
    """The figures of Safe Harbor, and the policy that comes nearest; `exact` tells whether it is the rule itself."""

    exact: bool


class ShortlistedPolicy(ReportedPolicy):
    """A policy worth a look: its place in the frontier, from 0, and the reason in one sentence."""

    index: int
    why: str


class FrontierReport(TypedDict):
    """The report of a frontier.

    `frontier` is by ascending risk; `area` is normalized, and `area_after` has pairs of policies looked at and area;
    `k_anonymity` has the frontier of each k, as text; `population_rows` is None where the table is its own population.
    """

    name: str
    rows: int
    population_rows: int | None
    lattice_bits: int
    frontier: list[ReportedPolicy]
    area: float
    area_after: list[list[float]]
    visited: int
    seconds: float
    safe_harbor: ReportedSafeHarbor | None
    current: ReportedPolicy | None
    k_anonymity: dict[str, list[ReportedPolicy]]
    shortlist: list[ShortlistedPolicy]
    settings: dict[str, Any]


class Choice(Place):
    """What a rule chose on the table at hand.

    `policies` counts those that were looked at, `met` those of them that meet the rule; `safe_harbor` is None where the
    rule does not name it.
    """

    rule: dict[str, Any]
    safe_harbor: Place | None
    policies: int
    met: int
    seconds: float
