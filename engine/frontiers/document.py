"""The form of a frontier's report, and of the choice that a rule makes: plain numbers, text, documents of policies."""

from __future__ import annotations

from typing import Any

from typing_extensions import NotRequired, TypedDict

PolicyDocument = dict[str, list[dict[str, Any]]]
"""The groups of each quasi-identifier, as under `policy` in a policy file (docs/frontier.md)."""


class Place(TypedDict):
    """The point of a policy in the plane."""

    risk: float
    utility_loss: float


class StoredDomain(TypedDict):
    """The values of a quasi-identifier in their order, and what each bit keeps apart (docs/frontier.md)."""

    attribute: str
    ordered: bool
    values: list[str | None]
    names: list[str | None]
    parents: list[int]
    separators: list[int]


class ReportedPolicy(Place):
    """A policy and its point.

    Normalized figures are shares of those at the two ends of the plane, 0 to 1. `bits` are those of the report's
    `domains`, as hexadecimal digits; `engine.frontier_policies` makes groups of them.
    """

    normalized_risk: float
    normalized_utility_loss: float
    bits: str


class FrontierPolicy(ReportedPolicy):
    """A policy of the frontier; `beaten_by_safe_harbor` only where the rule of Safe Harbor, no policy, beats it."""

    beaten_by_safe_harbor: NotRequired[bool]


class Standing(TypedDict):
    """How something stands to the frontier: its number on it, or that of the policy that beats it; from 1."""

    number: int | None
    beaten_by: int | None


class ComparedPolicy(ReportedPolicy, Standing):
    """A policy that the frontier is compared with."""


class WrittenPolicy(ReportedPolicy):
    """A policy with its groups."""

    policy: PolicyDocument


class CurrentPolicy(WrittenPolicy, Standing):
    """The policy in use."""


class SafeHarborPolicy(WrittenPolicy):
    """The figures of Safe Harbor, and the nearest policy; `exact` tells whether it is the rule itself.

    `ages_on` is the day, as ISO 8601, on which no kept year tells an age of 90 or more.
    """

    exact: bool
    ages_on: str


class ReportedSafeHarbor(SafeHarborPolicy, Standing):
    """Safe Harbor beside a frontier."""


class ShortlistedPolicy(FrontierPolicy):
    """A policy worth a look, with its groups: its place in the frontier, from 0, and the reason in one sentence.

    Its number, in pages and in the name of its file, is one more: `policy_number`.
    """

    index: int
    why: str
    policy: PolicyDocument


def policy_number(listed: ShortlistedPolicy) -> int:
    """Return the number of a policy of the short list: its place in the frontier by ascending risk, from 1."""
    return listed["index"] + 1


class FrontierReport(TypedDict):
    """The report of a frontier.

    `frontier` is by ascending risk, so a policy's number is its place in it, from 1; `area` is normalized, and
    `area_after` has pairs of policies looked at and area; `k_anonymity` has the frontier of each k, as text;
    `rows` is None where it is not told, `population_rows` where the table is its own population; `domains` are what the
    bits of policies belong to.
    """

    name: str
    rows: int | None
    population_rows: int | None
    lattice_bits: int
    domains: list[StoredDomain]
    frontier: list[FrontierPolicy]
    area: float
    area_after: list[list[float]]
    visited: int
    seconds: float
    safe_harbor: ReportedSafeHarbor | None
    current: CurrentPolicy | None
    k_anonymity: dict[str, list[ComparedPolicy]]
    shortlist: list[ShortlistedPolicy]
    settings: dict[str, Any]


class Tried(TypedDict):
    """The policies that were tried on the current table, and how many of them were hindered by what.

    Keys of `hindered`: `levels` (the job's levels or the table's values forbid the policy), `privacy` (it fails the
    privacy models within the suppression limit), `nothing-left` (nothing would be left to tell apart), `risk` and
    `dominates` (its release does not meet this part of the rule).
    """

    policies: int
    hindered: dict[str, int]


class Choice(Place):
    """The choice of a rule on the current table.

    Risk and utility loss are those of the release, its suppressed records included. `policies` counts the policies of
    the frontier, `met` those that meet the rule before records are suppressed; `safe_harbor` is None if the rule does
    not name it. Reports of earlier versions lack `tried`, and have the figures before suppression.
    """

    rule: dict[str, Any]
    safe_harbor: Place | None
    policies: int
    met: int
    tried: NotRequired[Tried]
    seconds: float


class PublishedChoice(TypedDict):
    """`Choice` as it leaves the run: numbers of policies are the next powers of ten.

    All but `rule`, `risk` and `seconds` is None where few records are left out, because it is of these too.
    """

    rule: dict[str, Any]
    risk: float
    utility_loss: float | None
    safe_harbor: Place | None
    policies: int | None
    met: int | None
    tried: NotRequired[Tried | None]
    seconds: float
