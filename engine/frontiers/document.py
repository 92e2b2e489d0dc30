"""The form of a frontier's report, and of the choice that a rule makes: plain numbers, text, documents of policies."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

PolicyDocument = dict[str, list[dict[str, Any]]]
"""The groups of each quasi-identifier, as under `policy` in a policy file (docs/frontier.md)."""


class Place(TypedDict):
    """The point of a policy in the plane."""

    risk: float
    utility_loss: float


class ReportedPolicy(Place):
    """A policy and its point; normalized figures are shares of those at the two ends of the plane, 0 to 1."""

    normalized_risk: float
    normalized_utility_loss: float
    policy: PolicyDocument


class ReportedSafeHarbor(ReportedPolicy):
    """The figures of Safe Harbor, and the nearest policy; `exact` tells whether it is the rule itself.

    `ages_on` is the day, as ISO 8601, on which no kept year tells an age of 90 or more.
    """

    exact: bool
    ages_on: str


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
    """The choice of a rule on the current table.

    `policies` counts the policies checked, `met` those that meet the rule; `safe_harbor` is None if the rule does not
    name it.
    """

    rule: dict[str, Any]
    safe_harbor: Place | None
    policies: int
    met: int
    seconds: float
