"""At most seven policies of a frontier that are worth a look, each with the reason why.

In: the frontier's entries in the report, by ascending risk, and the entry of Safe Harbor. Out: some of these entries,
by risk, with their index in the frontier and one sentence. First come the policies that answer a custodian's question
(better than Safe Harbor, the knee, a limit on the risk), unless the list already has a very similar one. The remaining
places go to the policies that together cover most of the risk-utility plane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.compare.spread import best_spread

Entry = Mapping[str, Any]

LIMITS = (0.09, 0.05, 0.01)
"""Limits on the risk: 0.09 is that of the European Medicines Agency (policy 0070) and of Health Canada, the others are
common in contracts with recipients."""
SIZE = 7
NEAR = 0.02
"""Policies with a normalized distance below this, in risk and in utility loss, look the same to a reader."""
FOR_SPREAD = 2
"""Places reserved for the rest of the frontier, if the list has more than twice as many."""


class _Reason(NamedTuple):
    position: int
    why: str


def shortlist(
    frontier: Sequence[Entry],
    safe_harbor: Entry | None = None,
    limits: Sequence[float] = LIMITS,
    size: int = SIZE,
) -> list[dict[str, Any]]:
    """Choose the policies worth a look.

    Parameters
    ----------
    frontier : sequence of mappings
        Entries of the report, none dominated by another, by ascending risk: ``risk``, ``utility_loss``,
        ``normalized_risk``, ``normalized_utility_loss`` (0 to 1) and any other keys.
    safe_harbor : mapping, optional
        The same keys for Safe Harbor.
    limits : sequence of float
        Limits on the risk, the most important one first.
    size : int
        The longest list allowed, at least 1.

    Returns
    -------
    list of dict
        The chosen entries by ascending risk, with ``index`` (place in `frontier`) and ``why`` (one sentence).
    """
    if not frontier:
        return []
    plane = _plane(frontier)
    places = size - FOR_SPREAD if size > 2 * FOR_SPREAD else size
    whys: dict[int, list[str]] = {}
    for reason in _reasons(frontier, safe_harbor, limits):
        if reason.position in whys or (len(whys) < places and _is_apart(plane, reason.position, list(whys))):
            whys.setdefault(reason.position, []).append(reason.why)
    for position in best_spread(*plane, whys, size):
        whys.setdefault(position, ["one of the policies that together show most of what the frontier offers"])
    return [{**frontier[position], "index": position, "why": _sentence(whys[position])} for position in sorted(whys)]


def _plane(frontier: Sequence[Entry]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return normalized risk and normalized utility loss, float64 (n,) each."""
    return (
        np.array([entry["normalized_risk"] for entry in frontier], dtype=np.float64),
        np.array([entry["normalized_utility_loss"] for entry in frontier], dtype=np.float64),
    )


def _is_apart(plane: tuple[NDArray[np.float64], NDArray[np.float64]], position: int, chosen: list[int]) -> bool:
    """Return whether a policy differs visibly from all chosen ones."""
    distances = np.max([np.abs(axis[chosen] - axis[position]) for axis in plane], axis=0)
    return bool((distances > NEAR).all())


def _sentence(whys: Sequence[str]) -> str:
    text = "; also ".join(whys)
    return f"{text[0].upper()}{text[1:]}."


def _reasons(frontier: Sequence[Entry], safe_harbor: Entry | None, limits: Sequence[float]) -> Iterator[_Reason]:
    """Yield the answers to a custodian's questions, the most important one first."""
    if len(frontier) == 1:
        yield _Reason(0, "the only policy of the frontier")
        return
    if safe_harbor is not None:
        yield from _against_safe_harbor(frontier, safe_harbor)
    yield from _knee(frontier)
    for limit in limits:
        yield from _within(frontier, limit)
    yield from _sensible_ends(frontier)


def _knee(frontier: Sequence[Entry]) -> Iterator[_Reason]:
    """Yield the policy farthest below the straight line between the frontier's ends, if one is below it."""
    risk, loss = _plane(frontier)
    # The cross product with the chord is the distance from it, times a positive factor common to all.
    below = (loss[0] - loss) * (risk[-1] - risk[0]) - (risk - risk[0]) * (loss[0] - loss[-1])
    best = int(np.argmax(below))
    if below[best] > 0:
        yield _Reason(
            best, "the knee of the frontier: beyond it, in either direction, little is gained for much that is lost"
        )


def _against_safe_harbor(frontier: Sequence[Entry], safe_harbor: Entry) -> Iterator[_Reason]:
    """Yield the two extreme policies of those better than Safe Harbor."""
    risk, loss = safe_harbor["risk"], safe_harbor["utility_loss"]
    better = [
        position for position, entry in enumerate(frontier) if entry["risk"] < risk and entry["utility_loss"] < loss
    ]
    if better:
        yield _Reason(better[-1], "the least utility loss at less risk than Safe Harbor")
    safer = [
        position for position, entry in enumerate(frontier) if entry["risk"] < risk and entry["utility_loss"] <= loss
    ]
    if safer:
        yield _Reason(safer[0], "the least risk at no more utility loss than Safe Harbor")


def _within(frontier: Sequence[Entry], limit: float) -> Iterator[_Reason]:
    """Yield the best policy within each limit that rules out some policy of the frontier."""
    within = [position for position, entry in enumerate(frontier) if entry["risk"] <= limit]
    if 0 < len(within) < len(frontier):
        yield _Reason(within[-1], f"the least utility loss at a risk of at most {100 * limit:g}%")


def _sensible_ends(frontier: Sequence[Entry]) -> Iterator[_Reason]:
    """Yield the policies nearest to the ends of the frontier; the ends are useless: no data, or unchanged data."""
    kept = [position for position, entry in enumerate(frontier) if entry["normalized_utility_loss"] <= 0.5]  # noqa: PLR2004
    if kept:
        yield _Reason(kept[0], "the least risk of all policies that keep at least half of the utility")
    safe = [position for position, entry in enumerate(frontier) if entry["normalized_risk"] <= 0.5]  # noqa: PLR2004
    if safe:
        yield _Reason(safe[-1], "the least utility loss of all policies that at least halve the risk")
