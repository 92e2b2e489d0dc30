"""An antichain of level vectors in a prefix tree that lives in one array of integers.

The property of a stored vector is inherited by its generalizations: the vectors that are at least as large at every
attribute. Prasser, Kohlmayer, Kuhn, Efficient and effective pruning strategies for health data de-identification. BMC
Med Inform Decis Mak 16:49, 2016, section "Efficient management of predictive properties".

A node of the tree at depth a is a block with one slot per level of attribute a. A slot holds the position of the child
block, at the last attribute `LEAF`, and `NONE` where no stored vector has this prefix. The blocks of a ranked tree also
have one rank per slot, behind the slots: the least sum of the levels of the attributes after a, over the stored vectors
below the slot. The paper stores the sum over all attributes. The two differ by the levels of the prefix, which are the
same for everything below the slot. Without them a query compares only the remaining levels, and prunes no less: the
prefix of a specialization has no larger sum than that of the queried vector.

Layout, m attributes: `tree[USED]` is the first position behind all blocks, `tree[STORED]` the number of vectors,
`tree[RANKED]` 1 or 0; from `HEIGHTS` on the m numbers of levels, then for each depth the first block that was given up,
`NONE` without any (its first slot holds the position of the next one), then the block of the root.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.kernels.jit import kernel

USED, STORED, RANKED, HEIGHTS = 0, 1, 2, 3
NONE, LEAF = 0, 1


def path_size(heights: Sequence[int], *, ranked: bool) -> int:
    """Return the largest number of positions that one insertion takes: one block for every attribute but the first."""
    return sum(heights[1:]) * (1 + ranked)


def empty_tree(heights: Sequence[int], *, ranked: bool) -> NDArray[np.int32]:
    """Make a tree without vectors, int32, with room for one insertion.

    Parameters
    ----------
    heights : sequence of int
        Levels of each attribute, at least one attribute.
    """
    used = HEIGHTS + 2 * len(heights) + heights[0] * (1 + ranked)
    tree = np.zeros(used + path_size(heights, ranked=ranked), np.int32)
    tree[USED] = used
    tree[RANKED] = ranked
    tree[HEIGHTS : HEIGHTS + len(heights)] = heights
    return tree


@kernel
def tree_holds(tree: NDArray[np.int32], levels: NDArray[np.int32]) -> bool:
    """Whether a stored vector specializes `levels`, int32, shape (m,)."""
    m = levels.shape[0]
    ranked = tree[RANKED] == 1
    block, level, rest = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    total = 0
    for a in range(m - 1, -1, -1):
        rest[a] = total
        total += levels[a]
    a = 0
    block[0] = HEIGHTS + 2 * m
    level[0] = 0
    while a >= 0:
        if level[a] > levels[a]:
            a -= 1
            continue
        slot = block[a] + level[a]
        level[a] += 1
        if tree[slot] == NONE or (ranked and tree[slot + tree[HEIGHTS + a]] > rest[a]):
            continue
        if a == m - 1:
            return True
        a += 1
        block[a] = tree[slot]
        level[a] = 0
    return False


@kernel
def tree_insert(tree: NDArray[np.int32], levels: NDArray[np.int32]) -> None:
    """Insert a vector, unless it is implied; remove those it implies.

    Parameters
    ----------
    tree : int32
        Changed in place; `path_size` positions from `tree[USED]` on must be free.
    levels : int32, shape (m,)
    """
    if not tree_holds(tree, levels):
        tree_remove(tree, levels)
        tree_add(tree, levels)


@kernel
def tree_remove(tree: NDArray[np.int32], levels: NDArray[np.int32]) -> None:
    """Remove all generalizations of `levels`, int32, shape (m,), and the blocks that are then empty."""
    m = levels.shape[0]
    block, level = np.empty(m, np.int64), np.empty(m, np.int64)
    a = 0
    block[0] = HEIGHTS + 2 * m
    level[0] = levels[0]
    while True:
        if level[a] == tree[HEIGHTS + a]:
            if a == 0:
                return
            a -= 1
            tree_settle(tree, m, a, block[a] + level[a] - 1)
            continue
        slot = block[a] + level[a]
        level[a] += 1
        if tree[slot] == NONE:
            continue
        if a == m - 1:
            tree[slot] = NONE
            tree[STORED] -= 1
            continue
        a += 1
        block[a] = tree[slot]
        level[a] = levels[a]


@kernel
def tree_settle(tree: NDArray[np.int32], m: int, a: int, slot: int) -> None:
    """Update a slot at depth `a` after removals below it: give up an empty child block, or compute its rank again."""
    child = tree[slot]
    height = tree[HEIGHTS + a + 1]
    ranked = tree[RANKED] == 1
    least = -1
    for level in range(height):
        if tree[child + level] != NONE:
            rank = level + tree[child + height + level] if ranked else 0
            if least < 0 or rank < least:
                least = rank
    if least < 0:
        given_up = HEIGHTS + m + a + 1
        tree[child] = tree[given_up]
        tree[given_up] = child
        tree[slot] = NONE
    elif ranked:
        tree[slot + tree[HEIGHTS + a]] = least


@kernel
def tree_add(tree: NDArray[np.int32], levels: NDArray[np.int32]) -> None:
    """Store `levels`, int32, shape (m,), which must be comparable to no stored vector."""
    m = levels.shape[0]
    ranked = tree[RANKED] == 1
    rest = 0
    for a in range(m):
        rest += levels[a]
    block = HEIGHTS + 2 * m
    for a in range(m):
        slot = block + levels[a]
        rest -= levels[a]
        if ranked:
            rank = slot + tree[HEIGHTS + a]
            if tree[slot] == NONE or rest < tree[rank]:
                tree[rank] = rest
        if a == m - 1:
            tree[slot] = LEAF
        else:
            if tree[slot] == NONE:
                tree[slot] = tree_block(tree, m, a + 1)
            block = tree[slot]
    tree[STORED] += 1


@kernel
def tree_block(tree: NDArray[np.int32], m: int, a: int) -> int:
    """Return the position of an empty block for depth `a`, one that was given up if there is any."""
    height = tree[HEIGHTS + a]
    given_up = HEIGHTS + m + a
    block = tree[given_up]
    if block == NONE:
        block = tree[USED]
        tree[USED] += height * (1 + tree[RANKED])
    else:
        tree[given_up] = tree[block]
    for level in range(height):
        tree[block + level] = NONE
    return int(block)
