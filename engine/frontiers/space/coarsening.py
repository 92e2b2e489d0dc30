"""The finest policy that does not separate values that a rule joins.

A rule, such as Safe Harbor or a level of a hierarchy, says for each value which class it belongs to. A policy's groups
are runs of neighbouring positions, so a cut between two neighbours splits a class if, and only if, the class has values
on both sides of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.frontiers.space.domain import Bits, Domain, PolicySpace

Classes = Sequence[NDArray[np.int32]]
"""For each quasi-identifier the class of each position, int32, shape (d,)."""


def finest_policy(space: PolicySpace, classes: Classes) -> Bits:
    """Return the bits of the finest policy whose groups are unions of classes, shape (size,).

    The partition of every other such policy of the space is coarser. A bit is set if it splits no class; a bit below an
    unset one is cleared.

    Raises
    ------
    InvalidJob
        A class has values that the hierarchy never joins.
    """
    bits = space.bottom.copy()
    for domain, offset, own in zip(space.domains, space.offsets, classes, strict=False):
        bits[offset + _parting(domain, own)] = False
    return space.closed(bits)


def _parting(domain: Domain, classes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the bits of a domain that would split a class."""
    _, numbers = np.unique(classes, return_inverse=True)
    positions = np.arange(domain.size)
    last = np.zeros(numbers.max(initial=0) + 1, np.int64)
    np.maximum.at(last, numbers, positions)
    reaches = np.maximum.accumulate(last[numbers])
    parting = domain.separators[positions[:-1] < reaches[:-1]]
    if (parting < 0).any():
        raise InvalidJob(
            f"hierarchy of column {domain.attribute!r}: has several roots, and Safe Harbor or a level joins values of "
            "two of them; add a level with one label, such as '*'"
        )
    return parting
