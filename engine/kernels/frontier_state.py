"""The state of a walk through policies: cells, groups, and the sums from which risk and utility loss are computed.

A cell is a tuple of groups, one per attribute, with its records f and its people F, at least f. The groups of an
attribute are runs of the groups at the beginning of the walk; a run is identified by its first group.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import inlined, kernel

SHARED = 0  # the mean over records of 1 / F
FEWEST_RECORDS = 1  # 1 / the smallest f
FEWEST_PEOPLE = 2  # 1 / the smallest F of cells with records

RISK, RISK_REST, CELLS, GROUPS = 0, 1, 2, 3


class WalkState(NamedTuple):
    """Arrays of a walk; the kernels change them in place.

    Attributes
    ----------
    records, people : int64, shape (cells,)
        f and F of each cell; both 0 for an empty cell.
    widths : int64, shape (m,)
        Groups of each attribute when the walk began.
    offsets : int64, shape (m + 1,)
        Where the groups of each attribute begin in the four arrays below.
    first, last : int64, shape (groups,)
        First group of the run that ends here; last group of the run that begins here.
    group_records, group_sizes : int64, shape (groups,)
        Records and leaf values of the run that begins here.
    costs : float64
        Utility loss of one record in a group of each number of leaf values, attribute by attribute.
    cost_offsets : int64, shape (m,)
        Where the costs of an attribute begin.
    sizes : int64, shape (H,)
        Number of cells with records by f or F, depending on the risk; the last one counts all from H - 1 on.
    smallest : int64, shape (1,)
        A lower limit of the size of these cells.
    sums : float64, shape (4,)
        Sum of f / F in two parts, the second the rounding error of the first; sum of f ln f; sum of the costs.
    constants : float64, shape (3,)
        Number of records; utility loss without cells and groups; utility loss per unit of f ln f.
    """

    records: NDArray[np.int64]
    people: NDArray[np.int64]
    widths: NDArray[np.int64]
    offsets: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    group_records: NDArray[np.int64]
    group_sizes: NDArray[np.int64]
    costs: NDArray[np.float64]
    cost_offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    smallest: NDArray[np.int64]
    sums: NDArray[np.float64]
    constants: NDArray[np.float64]


@inlined
def entropy(records: np.int64) -> float:
    """Return f ln f."""
    return records * math.log(records) if records > 1 else 0.0


@inlined
def count_cell(state: WalkState, risk: int, records: np.int64, people: np.int64, sign: int) -> None:
    """Add a cell with records to the sums of the risk (sign 1), or remove it (sign -1)."""
    people = max(people, records)
    if risk == SHARED:
        # compensated (Neumaier 1974): else the figure at the top would be the rounding error of that at the bottom
        term = sign * (records / people)
        before = state.sums[RISK]
        after = before + term
        state.sums[RISK_REST] += (before - after) + term if abs(before) >= abs(term) else (term - after) + before
        state.sums[RISK] = after
        return
    size = records if risk == FEWEST_RECORDS else people
    state.sizes[min(size, state.sizes.shape[0] - 1)] += sign


@inlined
def fuse(state: WalkState, risk: int, into: np.int64, cell: np.int64) -> None:
    """Add one cell to another."""
    f, more = state.records[into], state.records[cell]
    people, more_people = state.people[into], state.people[cell]
    state.records[into] = f + more
    state.people[into] = people + more_people
    state.records[cell] = 0
    state.people[cell] = 0
    if f > 0:
        count_cell(state, risk, f, people, -1)
    if more > 0:
        count_cell(state, risk, more, more_people, -1)
    if f + more > 0:
        count_cell(state, risk, f + more, people + more_people, 1)
    if f > 0 and more > 0:
        state.sums[CELLS] += entropy(f + more) - entropy(f) - entropy(more)


@inlined
def join_groups(state: WalkState, attribute: int | np.int64, left: np.int64) -> tuple[np.int64, np.int64]:
    """Join the runs on both sides of `left` | `left + 1`; return where they begin, in the groups of the attribute."""
    at = state.offsets[attribute]
    begin, middle = state.first[at + left], left + 1
    end = state.last[at + middle]
    state.last[at + begin] = end
    state.first[at + end] = begin
    cost = state.cost_offsets[attribute]
    for start in (begin, middle):
        state.sums[GROUPS] -= state.group_records[at + start] * state.costs[cost + state.group_sizes[at + start]]
    state.group_records[at + begin] += state.group_records[at + middle]
    state.group_sizes[at + begin] += state.group_sizes[at + middle]
    state.sums[GROUPS] += state.group_records[at + begin] * state.costs[cost + state.group_sizes[at + begin]]
    return begin, middle


@inlined
def figures(state: WalkState, risk: int) -> tuple[float, float]:
    """Return risk and utility loss."""
    loss = state.constants[1] - state.constants[2] * state.sums[CELLS] + state.sums[GROUPS]
    # a rounding error around 0 is 0
    if loss < 1e-12 * max(state.constants[1], 1.0):
        loss = 0.0
    if risk == SHARED:
        return (state.sums[RISK] + state.sums[RISK_REST]) / state.constants[0], loss
    size = state.smallest[0]
    beyond = state.sizes.shape[0] - 1
    while size < beyond and state.sizes[size] == 0:
        size += 1
    state.smallest[0] = size
    if size == beyond:
        size = np.int64(1 << 62)
        for cell in range(state.records.shape[0]):
            if state.records[cell] > 0:
                people = max(state.people[cell], state.records[cell])
                size = min(size, state.records[cell] if risk == FEWEST_RECORDS else people)
    return 1.0 / size, loss


@kernel
def begin_walk(state: WalkState, risk: int) -> tuple[float, float]:
    """Compute the sums of a state from its cells and groups; return risk and utility loss."""
    total, rest, entropies = 0.0, 0.0, 0.0
    beyond = state.sizes.shape[0] - 1
    for cell in range(state.records.shape[0]):
        records = state.records[cell]
        if records == 0:
            continue
        people = max(state.people[cell], records)
        entropies += entropy(records)
        if risk == SHARED:
            term = records / people
            after = total + term
            rest += (total - after) + term if total >= term else (term - after) + total
            total = after
        else:
            state.sizes[min(records if risk == FEWEST_RECORDS else people, beyond)] += 1
    state.sums[RISK], state.sums[RISK_REST], state.sums[CELLS] = total, rest, entropies
    for a in range(state.widths.shape[0]):
        for group in range(state.offsets[a], state.offsets[a + 1]):
            size = state.group_sizes[group]
            state.sums[GROUPS] += state.group_records[group] * state.costs[state.cost_offsets[a] + size]
    return figures(state, risk)
