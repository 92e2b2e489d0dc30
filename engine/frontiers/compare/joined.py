"""The frontier of a search, joined with the policies that it is compared with.

A k-anonymous policy, the one in use, or the one nearest to Safe Harbor may be better than what a search came across. It
then belongs to the frontier, and the policies that it strictly dominates do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.compare.rule import Candidate
from engine.frontiers.measures.plane import Plane
from engine.frontiers.search.archive import Archive
from engine.frontiers.search.search import Found
from engine.frontiers.space.domain import Bits


class Joined(NamedTuple):
    """A frontier by ascending risk, and the normalized area that none of its policies dominates."""

    members: list[Candidate]
    area: float


def joined(plane: Plane, found: Found, others: Sequence[Bits]) -> Joined:
    """Join a frontier with other policies of its plane; of equal ones that of the search stays.

    Parameters
    ----------
    others : sequence of bool, shape (size,)
    """
    archive = Archive(plane.space.size, plane.measures.highest_risk, plane.measures.highest_loss)
    _offer(archive, np.column_stack([found.risk, found.utility_loss]), found.bits)
    if others:
        _offer(archive, np.array([plane.at(bits) for bits in others], np.float64), np.stack(others))
    rows = zip(archive.figures.tolist(), archive.bits(), strict=True)
    return Joined([Candidate(risk, loss, bits) for (risk, loss), bits in rows], archive.area())


def _offer(archive: Archive, figures: NDArray[np.float64], bits: Bits) -> None:
    archive.offer(figures, lambda indexes: bits[indexes])
