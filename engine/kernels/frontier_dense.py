"""A walk towards the top of the lattice over an array with one cell for every combination of groups.

Joining two groups adds one slice of the array to another, independent of the number of occupied cells. Every sum of two
cells removes a cell, so a whole path needs at most as many logarithms as its first policy has cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.frontier_state import SHARED, WalkState, count_cell, figures, fuse, join_groups
from engine.kernels.jit import inlined, kernel


@inlined
def _inner(state: WalkState, attribute: int) -> np.int64:
    """Places from one group of the attribute to the next."""
    inner = np.int64(1)
    for a in range(attribute + 1, state.widths.shape[0]):
        inner *= state.widths[a]
    return inner


@inlined
def _join(state: WalkState, risk: int, attribute: int, left: np.int64) -> None:
    begin, middle = join_groups(state, attribute, left)
    inner = _inner(state, attribute)
    width = state.widths[attribute]
    for outer in range(0, state.records.shape[0], width * inner):
        for i in range(inner):
            cell = outer + middle * inner + i
            if state.people[cell] > 0 or state.records[cell] > 0:
                fuse(state, risk, outer + begin * inner + i, cell)


@kernel
def walk_dense(
    state: WalkState,
    risk: int,
    attributes: NDArray[np.int64],
    lefts: NDArray[np.int64],
    steps: NDArray[np.int64],
    found: NDArray[np.float64],
) -> None:
    """Join groups step by step.

    Parameters
    ----------
    state : WalkState
        Changed in place.
    attributes, lefts : int64, shape (joins,)
        The attribute of each join, and the group left of it, as the groups were when the walk began.
    steps : int64, shape (policies + 1,)
        Where the joins of each policy begin, and where the last ones end.
    found : float64, shape (policies, 2)
        Filled with risk and utility loss of each policy.
    """
    for policy in range(steps.shape[0] - 1):
        for join in range(steps[policy], steps[policy + 1]):
            _join(state, risk, attributes[join], lefts[join])
        found[policy, 0], found[policy, 1] = figures(state, risk)


@kernel
def probe_dense(
    state: WalkState, risk: int, attribute: int, lefts: NDArray[np.int64], found: NDArray[np.float64]
) -> None:
    """Measure the result of joining the neighbouring runs around `lefts`, ascending, without changing the state.

    Parameters
    ----------
    lefts : int64, shape (joins,)
        Group left of each join; the runs are next to each other.
    found : float64, shape (2,)
        Filled with risk and utility loss.
    """
    at = state.offsets[attribute]
    start = state.first[at + lefts[0]]
    stop = state.last[at + lefts[-1] + 1] + 1
    inner = _inner(state, attribute)
    width = state.widths[attribute]
    blocks = state.records.shape[0] // (width * inner)
    span = (stop - start) * inner
    records = np.empty((blocks, span), np.int64)
    people = np.empty((blocks, span), np.int64)
    for block in range(blocks):
        begin = block * width * inner + start * inner
        records[block] = state.records[begin : begin + span]
        people[block] = state.people[begin : begin + span]
    first = state.first[at + start : at + stop].copy()
    last = state.last[at + start : at + stop].copy()
    group_records = state.group_records[at + start : at + stop].copy()
    group_sizes = state.group_sizes[at + start : at + stop].copy()
    sums = state.sums.copy()
    smallest = state.smallest[0]
    for left in lefts:
        _join(state, risk, attribute, left)
    found[0], found[1] = figures(state, risk)
    if risk != SHARED:
        for block in range(blocks):
            begin = block * width * inner + start * inner
            for i in range(span):
                if state.records[begin + i] > 0:
                    count_cell(state, risk, state.records[begin + i], state.people[begin + i], -1)
                if records[block, i] > 0:
                    count_cell(state, risk, records[block, i], people[block, i], 1)
    for block in range(blocks):
        begin = block * width * inner + start * inner
        state.records[begin : begin + span] = records[block]
        state.people[begin : begin + span] = people[block]
    state.first[at + start : at + stop] = first
    state.last[at + start : at + stop] = last
    state.group_records[at + start : at + stop] = group_records
    state.group_sizes[at + start : at + stop] = group_sizes
    state.sums[:] = sums
    state.smallest[0] = smallest
