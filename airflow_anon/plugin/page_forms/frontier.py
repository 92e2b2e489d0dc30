"""The form of the page of a job's risk-utility frontier."""

from __future__ import annotations

from typing import Any, TypedDict

from airflow_anon.plugin.page_forms.parts import Chain, Chart


class Listed(TypedDict):
    """A policy of the short list, with only the number of groups per attribute.

    `policy` is its number, as everywhere: its place on the frontier, from 1.
    """

    policy: int
    risk: float
    utility_loss: float
    why: str
    groups: dict[str, int]


class InUse(TypedDict):
    """The policy in use: its number if it is on the frontier, or that of the policy that beats it."""

    risk: float
    utility_loss: float
    policy: int | None
    beaten_by: int | None


class Told(TypedDict):
    """The parts of a frontier's report that are shown."""

    name: str
    rows: int | None
    population_rows: int | None
    visited: int | None
    seconds: float | None
    area: float | None
    policies: int
    settings: dict[str, Any]
    shortlist: list[Listed]
    in_use: InUse | None
    chart: Chart


class Frontier(Told):
    """The frontier, and when it was made (UTC, ISO 8601)."""

    frontier_id: str
    created: str | None


class FrontierPage(TypedDict):
    """The frontier of a job, or why there is none, in words."""

    dag_id: str
    job: str
    jobs: list[str]
    chain: Chain
    frontier: Frontier | None
    why_none: str | None
