"""The report of a frontier: plain numbers and the documents of policies; charts and lists only render it.

In: the plane, the result of the search, and policies to compare with. Out: a `FrontierReport`. It counts no group of
records: policies are given by their bits or labels, and the figures are of the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

from engine.frontiers.compare.entry import entry
from engine.frontiers.compare.shortlist import shortlist
from engine.frontiers.compare.standing import beats, standing
from engine.frontiers.document import (
    FrontierPolicy,
    FrontierReport,
    ReportedPolicy,
    SafeHarborPolicy,
    ShortlistedPolicy,
    WrittenPolicy,
)
from engine.frontiers.measures.along_paths import Point
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits
from engine.frontiers.space.policy import Policy
from engine.frontiers.space.stored import read_bits, stored_space


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
    safe_harbor : SafeHarborPolicy or None
        See `safe_harbor_entry`.
    current : WrittenPolicy or None
        The policy in use.
    k_anonymity : mapping of class size to policies
    """

    safe_harbor: SafeHarborPolicy | None
    current: WrittenPolicy | None
    k_anonymity: Mapping[int, Sequence[_Member]]

    def policies(self, size: int) -> list[Bits]:
        """Return the bits of all its policies, shape (size,) each."""
        named = [one["bits"] for one in (self.safe_harbor, self.current) if one is not None]
        found = [one.bits for members in self.k_anonymity.values() for one in members]
        return [*(read_bits(text, size) for text in named), *found]


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
        Policies of the frontier, by ascending risk, joined with those of `beside`.
    search : mapping
        `area`, `area_after`, `visited`, `seconds`.
    settings : mapping
        Plain data: how the frontier was searched for.
    """
    frontier = [_of_frontier(_entry(plane, one), beside.safe_harbor) for one in members]
    harbor, current = beside.safe_harbor, beside.current
    population = plane.table.population
    return {
        "name": name,
        "rows": plane.table.records,
        # without a population, the table is used as the population
        "population_rows": None if population is None else int(population.sum()),
        "lattice_bits": plane.space.size,
        "domains": stored_space(plane.space),
        "frontier": frontier,
        "area": float(search["area"]),
        "area_after": [[int(policies), float(area)] for policies, area in search["area_after"]],
        "visited": int(search["visited"]),
        "seconds": float(search["seconds"]),
        "safe_harbor": None if harbor is None else {**harbor, **standing(frontier, harbor, is_policy=harbor["exact"])},
        "current": None if current is None else {**current, **standing(frontier, current)},
        "k_anonymity": {
            str(k): [{**one, **standing(frontier, one)} for one in (_entry(plane, member) for member in found)]
            for k, found in beside.k_anonymity.items()
        },
        "shortlist": _shortlist(plane, frontier, harbor),
        "settings": dict(settings),
    }


def _entry(plane: Plane, member: _Member) -> ReportedPolicy:
    return entry(plane, member.bits, Point(member.risk, member.utility_loss))


def _of_frontier(found: ReportedPolicy, harbor: SafeHarborPolicy | None) -> FrontierPolicy:
    """Return an entry of the frontier, which no policy beats; only Safe Harbor may, where it is no policy."""
    told = cast("FrontierPolicy", found)
    if harbor is not None and beats(harbor, found):
        told["beaten_by_safe_harbor"] = True
    return told


def _shortlist(
    plane: Plane, frontier: Sequence[FrontierPolicy], harbor: SafeHarborPolicy | None
) -> list[ShortlistedPolicy]:
    """Return the short list, with the groups of its policies."""
    found = cast("list[ShortlistedPolicy]", shortlist(frontier, harbor))
    size = plane.space.size
    return [{**one, "policy": Policy(plane.space, read_bits(one["bits"], size)).document()} for one in found]
