"""FullDom: the frontier begins with a grid of full-domain generalizations, refined by interpolation.

Xia et al., R-U policy frontiers for health data de-identification. JAMIA 22:1029, 2015, "SHS Initialization": a
balanced hierarchy of each ordered attribute halves its intervals from the whole domain down; a tree is cut at a depth.
The grid is all combinations of their levels. If there are more combinations than half the policies of the
initialization, a random sample is taken. The paper does not say how it interpolates: here two neighbours on the
frontier (those with the largest gap first) give a policy with all bits that both have, and a random half of the bits
that only one of them has.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.search.exploration import Exploration
from engine.frontiers.space.domain import Bits, Domain

_AT_ONCE = 16


def balanced_levels(domain: Domain) -> list[Bits]:
    """Return the bits of each level of a balanced hierarchy, from nothing kept apart to every value on its own."""
    if not domain.ordered:
        depths = np.zeros(domain.bits, np.int64)
        for depth, children in enumerate(domain.generations, start=1):
            depths[children] = depth
        return [depths < level for level in range(int(depths.max(initial=-1)) + 2)]
    levels = [np.zeros(domain.bits, np.bool_)]
    parts = [(0, domain.size)]
    if domain.bits and None in domain.labels[:1]:
        # the first value is a missing one, which must be apart before the others may be
        levels.append(np.arange(domain.bits) == 0)
        parts = [(1, domain.size)]
    while any(end - start > 1 for start, end in parts):
        level = levels[-1].copy()
        halves = []
        for start, end in parts:
            middle = (start + end + 1) // 2
            if middle < end:
                level[middle - 1] = True
                halves += [(start, middle), (middle, end)]
        parts = halves
        levels.append(level)
    return levels


def full_domain(exploration: Exploration, policies: int) -> None:
    """Measure `policies` policies: the grid or a sample of it, then between neighbours on the frontier."""
    until = exploration.visited + min(policies, exploration.remaining)
    levels = [balanced_levels(domain) for domain in exploration.space.domains]
    for node in _grid([len(each) for each in levels], max((until - exploration.visited) // 2, 2), exploration.random):
        if exploration.visited >= until or not exploration.remaining:
            return
        chosen = [each[level] for each, level in zip(levels, node, strict=True)]
        exploration.measure(np.concatenate(chosen) if chosen else exploration.space.top)
    while exploration.visited < until and exploration.remaining and len(exploration.archive) > 1:
        before = exploration.visited
        gaps = _gaps(exploration.archive.points)[: min(_AT_ONCE, until - before)]
        sides = exploration.archive.bits(gaps), exploration.archive.bits(gaps + 1)
        for general, specific in zip(*sides, strict=True):
            if exploration.remaining:
                exploration.measure(_between(exploration, general, specific))
        if exploration.visited == before:
            return


def _grid(sizes: list[int], most: int, random: np.random.Generator) -> list[tuple[int, ...]]:
    """Return the nodes of the grid, at most `most`, with its ends among them."""
    count = math.prod(sizes)
    if count <= most:
        return list(itertools.product(*(range(size) for size in sizes)))
    ends = [(0,) * len(sizes), tuple(size - 1 for size in sizes)]
    nodes = dict.fromkeys(ends)
    for node in zip(*(random.integers(0, size, 2 * most).tolist() for size in sizes), strict=True):
        nodes.setdefault(node)
    return list(nodes)[:most]


def _gaps(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the gaps between neighbours on the frontier, the largest rectangle first."""
    sides = np.abs(np.diff(points, axis=0))
    return np.argsort(-sides[:, 0] * sides[:, 1], kind="stable")


def _between(exploration: Exploration, general: Bits, specific: Bits) -> Bits:
    half = exploration.random.random(general.size) < 0.5  # noqa: PLR2004 (half)
    return exploration.space.closed((general & specific) | ((general ^ specific) & half))
