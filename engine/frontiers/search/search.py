"""The search for a risk-utility frontier: an initialization, then an improvement until the budget is used up.

Xia et al., R-U policy frontiers for health data de-identification. JAMIA 22:1029, 2015: sublattice heuristic search. If
the budget covers the lattice twice, its last part is kept for the policies that the search has not visited: then the
frontier is that of all policies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.along_paths import Measures
from engine.frontiers.search.exploration import Exploration
from engine.frontiers.search.full_domain import full_domain
from engine.frontiers.search.greedy_path import greedy_path
from engine.frontiers.search.random_path import random_path
from engine.frontiers.search.random_sublattice import random_sublattice
from engine.frontiers.search.sublattice_chain import sublattice_chain
from engine.frontiers.space.domain import Bits
from engine.search.problem import Progress

INITIAL = 1000
"""Policies of an initialization, as in the paper; at most half of the budget."""
GREEDY_PER_BIT = 4
"""Policies of the greedy initialization; at most seven eighths of the budget. The improvement uses the rest better."""

INITIALIZATIONS: Mapping[str, Callable[[Exploration, int], None]] = {
    "random-path": random_path,
    "full-domain": full_domain,
    "greedy-path": greedy_path,
}
IMPROVEMENTS: Mapping[str, Callable[[Exploration], Iterator[None]]] = {
    "random-sublattice": random_sublattice,
    "sublattice-chain": sublattice_chain,
}


class SearchSettings(Protocol):
    """Settings of a search; `engine.job.frontier_settings` describes each."""

    @property
    def initialization(self) -> str: ...  # noqa: D102 (see the class)
    @property
    def improvement(self) -> str: ...  # noqa: D102
    @property
    def policies(self) -> int: ...  # noqa: D102
    @property
    def seconds(self) -> float | None: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def threshold(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Found:
    """A frontier.

    Attributes
    ----------
    bits : bool, shape (policies, size)
        Its policies, by ascending risk.
    risk, utility_loss : float64, shape (policies,)
    normalized_risk, normalized_utility_loss : float64, shape (policies,)
        Divided by the risk of the bottom, and by the utility loss of the top.
    area : float
        The part of the unit square of normalized figures that no policy of the frontier dominates.
    area_after : list of [policies, area]
        The area after each number of policies.
    visited : int
        Policies measured.
    seconds : float
    """

    bits: Bits
    risk: NDArray[np.float64]
    utility_loss: NDArray[np.float64]
    normalized_risk: NDArray[np.float64]
    normalized_utility_loss: NDArray[np.float64]
    area: float
    area_after: list[tuple[int, float]]
    visited: int
    seconds: float


def search(measures: Measures, settings: SearchSettings, progress: Progress | None = None) -> Found:
    """Search for the frontier of a table.

    The same settings find the same frontier, unless `seconds` ends the search.
    """
    exploration = Exploration(
        measures,
        policies=settings.policies,
        seconds=settings.seconds,
        seed=settings.seed,
        threshold=settings.threshold,
        progress=progress,
    )
    # if the budget covers the lattice twice, one half is for the policies that the search does not visit
    held = exploration.space.count if exploration.remembers else 0
    exploration.policies -= held
    initial = exploration.policies
    if settings.improvement != "none":
        initial = _initial(settings.initialization, exploration)
    INITIALIZATIONS[settings.initialization](exploration, initial)
    exploration.record()
    if settings.improvement != "none":
        turns = IMPROVEMENTS[settings.improvement](exploration)
        while exploration.unseen and exploration.remaining:
            next(turns)
    exploration.policies += held
    _complete(exploration)
    exploration.record()
    return _found(exploration)


def _initial(initialization: str, exploration: Exploration) -> int:
    if initialization == "greedy-path":
        return min(GREEDY_PER_BIT * exploration.space.size, exploration.policies * 7 // 8)
    return min(INITIAL, exploration.policies // 2)


def _complete(exploration: Exploration) -> None:
    """Measure the rest of a lattice that the budget covers."""
    if exploration.remembers:
        for bits in exploration.unmeasured():
            if not exploration.remaining:
                return
            exploration.measure(bits)


def _found(exploration: Exploration) -> Found:
    archive = exploration.archive
    return Found(
        bits=archive.bits(),
        risk=archive.figures[:, 0],
        utility_loss=archive.figures[:, 1],
        normalized_risk=archive.points[:, 0],
        normalized_utility_loss=archive.points[:, 1],
        area=archive.area(),
        area_after=exploration.area_after,
        visited=exploration.visited,
        seconds=exploration.elapsed,
    )
