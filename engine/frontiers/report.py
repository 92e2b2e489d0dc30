"""The report of a frontier: plain numbers and the documents of policies; charts and lists only render it.

In: the plane, what the search found, and what stands beside it. Out: the dict of the contract (architecture: frontier
report). It counts no group of records: policies are given by their labels, and the figures are of the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from engine.frontiers.compare.shortlist import shortlist
from engine.frontiers.measures.measures import Point
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits
from engine.frontiers.space.policy import Policy


class _Member(Protocol):
    @property
    def bits(self) -> Bits: ...
    @property
    def risk(self) -> float: ...
    @property
    def utility_loss(self) -> float: ...


class Beside(NamedTuple):
    """What a frontier is compared with.

    Attributes
    ----------
    safe_harbor : dict or None
        Entry of the report; see `safe_harbor_entry`.
    current : dict or None
        Entry of the policy in use.
    k_anonymity : mapping of class size to policies
    """

    safe_harbor: dict[str, Any] | None
    current: dict[str, Any] | None
    k_anonymity: Mapping[int, Sequence[_Member]]


def entry(plane: Plane, bits: Bits, point: Point) -> dict[str, Any]:
    """Return a policy and where it lies, as the report has it."""
    normalized = plane.normalized(point)
    figures = {
        "risk": point.risk,
        "utility_loss": point.utility_loss,
        "normalized_risk": normalized.risk,
        "normalized_utility_loss": normalized.utility_loss,
    }
    assert all(map(math.isfinite, figures.values()))  # noqa: S101 (every measure is finite on a table with records)
    return {**{key: float(value) for key, value in figures.items()}, "policy": Policy(plane.space, bits).document()}


def frontier_report(
    name: str,
    plane: Plane,
    members: Iterable[_Member],
    search: Mapping[str, Any],
    beside: Beside,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Assemble the report.

    Parameters
    ----------
    name : str
        Of the job.
    members : iterable
        Policies of the frontier, by ascending risk.
    search : mapping
        `area`, `area_after`, `visited`, `seconds`.
    settings : mapping
        Plain data: how the frontier was searched for.
    """
    frontier = [entry(plane, one.bits, Point(one.risk, one.utility_loss)) for one in members]
    population = plane.table.population
    return {
        "name": name,
        "rows": plane.table.records,
        # without a population of its own the table stands for it
        "population_rows": None if population is None else int(population.sum()),
        "lattice_bits": plane.space.size,
        "frontier": frontier,
        "area": float(search["area"]),
        "area_after": [[int(policies), float(area)] for policies, area in search["area_after"]],
        "visited": int(search["visited"]),
        "seconds": float(search["seconds"]),
        "safe_harbor": beside.safe_harbor,
        "current": beside.current,
        "k_anonymity": {
            str(k): [entry(plane, one.bits, Point(one.risk, one.utility_loss)) for one in found]
            for k, found in beside.k_anonymity.items()
        },
        "shortlist": shortlist(frontier, beside.safe_harbor),
        "settings": dict(settings),
    }
