"""Sums over the groups of an attribute, and the result of joining some of them, for a list of cells.

A list of cells is used if an array of all combinations of groups is too large. It is read from end to end, so a
measurement costs as much as there are cells, independent of the number of combinations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.kernels.frontier_state import CELLS, GROUPS, SHARED, WalkState, count_cell, entropy, figures
from engine.kernels.jit import kernel


@kernel
def group_sums(
    state: WalkState, codes: NDArray[np.int32], shares: NDArray[np.float64], cells: NDArray[np.int64]
) -> None:
    """Sum the cells with records by the run of groups that each is in, attribute by attribute.

    Parameters
    ----------
    state : WalkState
    codes : int32, shape (cells, m)
        Groups of each cell; empty if every combination of groups has a cell.
    shares, cells : float64 and int64, shape (groups,)
        Filled, at the first group of each run, with the sum of f / F and the number of cells.
    """
    shares[:] = 0.0
    cells[:] = 0
    m = state.widths.shape[0]
    for cell in range(state.records.shape[0]):
        records = state.records[cell]
        if records == 0:
            continue
        share = records / max(state.people[cell], records)
        place = np.int64(cell)
        for back in range(m):
            a = m - 1 - back
            group = place % state.widths[a]
            place //= state.widths[a]
            if codes.shape[0] > 0:
                group = np.int64(codes[cell, a])
            shares[state.offsets[a] + group] += share
            cells[state.offsets[a] + group] += 1


@kernel
def probe_hashed(
    state: WalkState,
    risk: int,
    codes: NDArray[np.int32],
    attribute: int | np.int64,
    lefts: NDArray[np.int64],
    found: NDArray[np.float64],
) -> None:
    """Measure the result of joining the neighbouring groups around `lefts`, ascending; the state is not changed.

    Parameters
    ----------
    state : WalkState
        State of a policy before any walk: each run is one group.
    risk : int
    codes : int32, shape (cells, m)
        Groups of each cell.
    attribute : int
    lefts : int64, shape (joins,)
        Group left of each join; the runs are next to each other.
    found : float64, shape (2,)
        Filled with risk and utility loss.
    """
    first, last = lefts[0], lefts[-1] + 1
    joined = np.int64(0)
    for cell in range(codes.shape[0]):
        if first <= codes[cell, attribute] <= last:
            joined += 1
    size = 16
    while size < 2 * joined:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, np.int64(-1))
    records, people = np.zeros(size, np.int64), np.zeros(size, np.int64)
    sums = state.sums.copy()
    smallest = state.smallest[0]
    for cell in range(codes.shape[0]):
        if not first <= codes[cell, attribute] <= last:
            continue
        key = np.uint64(0x9E3779B97F4A7C15)
        for a in range(codes.shape[1]):
            if a != attribute:
                key = (key ^ np.uint64(codes[cell, a])) * np.uint64(0xFF51AFD7ED558CCD)
                key ^= key >> np.uint64(32)
        slot = np.int64(key & mask)
        while slots[slot] >= 0:
            same = True
            for a in range(codes.shape[1]):
                if a != attribute and codes[slots[slot], a] != codes[cell, a]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = cell
        records[slot] += state.records[cell]
        people[slot] += state.people[cell]
        if state.records[cell] > 0:
            count_cell(state, risk, state.records[cell], state.people[cell], -1)
            state.sums[CELLS] -= entropy(state.records[cell])
    for place in range(size):
        if records[place] > 0:
            count_cell(state, risk, records[place], people[place], 1)
            state.sums[CELLS] += entropy(records[place])
    at, cost = state.offsets[attribute], state.cost_offsets[attribute]
    together, values = np.int64(0), np.int64(0)
    for group in range(first, last + 1):
        state.sums[GROUPS] -= state.group_records[at + group] * state.costs[cost + state.group_sizes[at + group]]
        together += state.group_records[at + group]
        values += state.group_sizes[at + group]
    state.sums[GROUPS] += together * state.costs[cost + values]
    found[0], found[1] = figures(state, risk)
    if risk != SHARED:
        for place in range(size):
            if records[place] > 0:
                count_cell(state, risk, records[place], people[place], -1)
        for cell in range(codes.shape[0]):
            if state.records[cell] > 0 and first <= codes[cell, attribute] <= last:
                count_cell(state, risk, state.records[cell], state.people[cell], 1)
    state.sums[:] = sums
    state.smallest[0] = smallest
