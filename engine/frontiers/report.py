"""The report of a frontier: plain numbers and the documents of policies; charts and lists only render it.

In: the plane, the result of the search, and policies to compare with. Out: a `FrontierReport`. It counts no group of
records: policies are given by their labels, and the figures are of the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

from engine.frontiers.compare.entry import entry
from engine.frontiers.compare.shortlist import shortlist
from engine.frontiers.document import FrontierReport, ReportedPolicy, ReportedSafeHarbor, ShortlistedPolicy
from engine.frontiers.measures.along_paths import Point
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits


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
    safe_harbor : ReportedSafeHarbor or None
        See `safe_harbor_entry`.
    current : ReportedPolicy or None
        The policy in use.
    k_anonymity : mapping of class size to policies
    """

    safe_harbor: ReportedSafeHarbor | None
    current: ReportedPolicy | None
    k_anonymity: Mapping[int, Sequence[_Member]]


def frontier_report(
    name: str,
    plane: Plane,
    members: Iterable[_Member],
    search: Mapping[str, Any],
    beside: Beside,
    settings: Mapping[str, Any],
) -> FrontierReport:
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
        # without a population, the table is used as the population
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
        "shortlist": cast("list[ShortlistedPolicy]", shortlist(frontier, beside.safe_harbor)),
        "settings": dict(settings),
    }
