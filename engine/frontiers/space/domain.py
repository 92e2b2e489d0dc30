"""The policy lattice by full-subtree generalization: cut bits of ordered domains and of hierarchy trees.

In: a hierarchy per quasi-identifier, and the order of its values where it has one. Out: a `Domain` each, and the
`PolicySpace` of their bits. Iyengar, Transforming data to satisfy privacy constraints. KDD 2002, section 3; as a
lattice of bit strings: Xia et al., R-U policy frontiers for health data de-identification. JAMIA 22:1029, 2015.

A group of a policy is always a run of neighbouring positions of its domain: the values of an ordered domain are in
their order, those of a tree in the order of a depth-first walk. So for both kinds one question remains for each pair of
neighbouring positions: which bit keeps them apart?
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.hierarchy.hierarchy import Hierarchy, Label
from engine.hierarchy.value_keys import OrderName
from engine.tables.counting.ranks import ranks

Bits: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Domain:
    """The d values of one quasi-identifier and its cut bits.

    Attributes
    ----------
    attribute : str
        The quasi-identifier.
    labels : tuple of text or None
        The leaf values in the domain's order, d of them; None is a missing value.
    ordered : bool
        Whether any run of neighbouring values may be a group. If not, only the leaves below one inner node may.
    parents : int32, shape (bits,)
        The bit that must be set for this one to count, of a lower index; -1 for none.
    names : tuple of text or None
        Label of the inner node of each bit; empty for an ordered domain.
    leaf_positions : int32, shape (leaf codes,)
        Position in `labels` of each leaf code of the hierarchy.
    separators : int32, shape (d - 1,)
        The bit that keeps the values at positions i and i + 1 apart, -1 where the hierarchy never joins them.
    """

    attribute: str
    labels: tuple[Label, ...]
    ordered: bool
    parents: NDArray[np.int32]
    names: tuple[Label, ...]
    leaf_positions: NDArray[np.int32]
    separators: NDArray[np.int32]

    @property
    def bits(self) -> int:
        """Number of cut bits."""
        return int(self.parents.size)

    @property
    def size(self) -> int:
        """Number of leaf values, d."""
        return len(self.labels)

    @functools.cached_property
    def count(self) -> int:
        """Number of policies of this quasi-identifier: cuts below a node are the node or cuts below its children."""
        below = [1] * self.bits
        found = 1
        for bit in range(self.bits - 1, -1, -1):
            cuts = 1 + below[bit]
            if self.parents[bit] < 0:
                found *= cuts
            else:
                below[self.parents[bit]] *= cuts
        return found

    @functools.cached_property
    def generations(self) -> tuple[NDArray[np.int64], ...]:
        """Bits that have a parent, by their distance from one without."""
        return _generations(self.parents)

    def closed(self, bits: Bits) -> Bits:
        """Clear the bits under an unset one, shape (bits,)."""
        return _closed(bits, self.generations, self.parents)

    def groups(self, bits: Bits) -> NDArray[np.int32]:
        """Return the group of each position, int32, shape (d,), numbered from 0 in the domain's order."""
        apart = np.append(self.closed(bits), True)[self.separators]
        found = np.zeros(self.size, np.int32)
        np.cumsum(apart, out=found[1:])
        return found


class PolicySpace:
    """The policies of several quasi-identifiers: bit strings, their bits side by side.

    Attributes
    ----------
    domains : tuple of Domain
        One per quasi-identifier, m of them.
    offsets : int64, shape (m + 1,)
        Where the bits of each begin.
    size : int
        Total number of bits.
    top, bottom : bool, shape (size,)
        No value kept apart; all values kept apart.
    """

    def __init__(self, domains: Sequence[Domain]) -> None:
        self.domains = tuple(domains)
        self.offsets = np.concatenate([[0], np.cumsum([domain.bits for domain in self.domains], dtype=np.int64)])
        self.size = int(self.offsets[-1])
        self.top: Bits = np.zeros(self.size, np.bool_)
        self.bottom: Bits = np.ones(self.size, np.bool_)

    @functools.cached_property
    def parents(self) -> NDArray[np.int64]:
        """The bit that must be set for each one to count, -1 for none, shape (size,)."""
        return np.concatenate(
            [
                np.where(domain.parents >= 0, domain.parents + offset, -1)
                for domain, offset in zip(self.domains, self.offsets, strict=False)
            ]
            or [np.zeros(0, np.int64)]
        )

    @functools.cached_property
    def count(self) -> int:
        """Number of policies."""
        return math.prod(domain.count for domain in self.domains)

    @functools.cached_property
    def generations(self) -> tuple[NDArray[np.int64], ...]:
        """Bits that have a parent, by their distance from one without."""
        return _generations(self.parents)

    def closed(self, bits: Bits) -> Bits:
        """Clear the bits under an unset one, shape (size,): the bits of a policy."""
        return _closed(bits, self.generations, self.parents)

    def split(self, bits: Bits) -> tuple[Bits, ...]:
        """Return the bits of each quasi-identifier."""
        return tuple(bits[start:end] for start, end in zip(self.offsets, self.offsets[1:], strict=False))

    def groups(self, bits: Bits) -> tuple[NDArray[np.int32], ...]:
        """Return for each quasi-identifier the group of each position, int32, shape (d,)."""
        return tuple(domain.groups(own) for domain, own in zip(self.domains, self.split(bits), strict=True))


def policy_space(
    hierarchies: Sequence[Hierarchy], attributes: Sequence[str], orders: Mapping[str, OrderName | None]
) -> PolicySpace:
    """Make the space of all policies.

    Parameters
    ----------
    hierarchies : sequence of Hierarchy
        One per quasi-identifier.
    attributes : sequence of str
        Their names.
    orders : mapping of name to order
        How the values of a quasi-identifier are ordered; None or no entry: by its hierarchy's tree.

    Raises
    ------
    InvalidData
        Values are not of the type of the order.
    InvalidJob
        Values without a hierarchy entry are allowed, but have no place in an order.
    """
    return PolicySpace(
        [
            _tree(name, hierarchy) if order is None else _ordered(name, hierarchy, order)
            for name, hierarchy, order in (
                (name, hierarchy, orders.get(name)) for name, hierarchy in zip(attributes, hierarchies, strict=True)
            )
        ]
    )


def _ordered(attribute: str, hierarchy: Hierarchy, order: OrderName) -> Domain:
    if hierarchy.unseen_code >= 0:
        raise InvalidJob(
            f"attributes.{attribute}: values without a hierarchy entry have no place in an order; set unseen: error, "
            "or leave out order, so that policies cut the hierarchy instead"
        )
    labels = hierarchy.labels[0]
    positions = np.array(ranks(attribute, labels, order), np.int32)
    bits = np.arange(len(labels) - 1, dtype=np.int32)
    return Domain(
        attribute=attribute,
        labels=tuple(labels[code] for code in np.argsort(positions)),
        ordered=True,
        parents=np.full(bits.size, -1, np.int32),
        names=(),
        leaf_positions=positions,
        separators=bits,
    )


def _tree(attribute: str, hierarchy: Hierarchy) -> Domain:
    """Walk the tree depth first; its inner nodes with two children or more become bits, parents before children."""
    codes = hierarchy.codes
    highest = codes.shape[0] - 1
    walk = np.lexsort([np.arange(codes.shape[1]), *codes])
    separators = np.full(max(codes.shape[1] - 1, 0), -1, np.int32)
    parents: list[int] = []
    names: list[Label] = []
    # Runs of the walk that share a node, each with the level of the node and the bit above it.
    pending = [(highest + 1, 0, codes.shape[1], -1)]
    while pending:
        level, start, end, above = pending.pop()
        parts = _parts(codes[level - 1, walk[start:end]], start) if level > 0 else []
        bit = above
        if level <= highest and len(parts) > 1:
            bit = len(parents)
            parents.append(above)
            names.append(hierarchy.labels[level][codes[level, walk[start]]])
            separators[[first - 1 for first, _ in parts[1:]]] = bit
        pending.extend((level - 1, first, last, bit) for first, last in reversed(parts) if last - first > 1)
    positions = np.empty(walk.size, np.int32)
    positions[walk] = np.arange(walk.size, dtype=np.int32)
    return Domain(
        attribute=attribute,
        labels=tuple(hierarchy.labels[0][code] for code in walk),
        ordered=False,
        parents=np.array(parents, np.int32),
        names=tuple(names),
        leaf_positions=positions,
        separators=separators,
    )


def _parts(column: NDArray[np.int32], start: int) -> list[tuple[int, int]]:
    """Return the runs of equal codes, shifted by `start`."""
    edges = np.flatnonzero(np.diff(column)) + 1
    return [(start + int(i), start + int(j)) for i, j in zip([0, *edges], [*edges, column.size], strict=True)]


def _closed(
    bits: Bits, generations: tuple[NDArray[np.int64], ...], parents: NDArray[np.int32] | NDArray[np.int64]
) -> Bits:
    found = bits.copy()
    for children in generations:
        found[children] &= found[parents[children]]
    return found


def _generations(parents: NDArray[np.int32] | NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    found: list[NDArray[np.int64]] = []
    above = parents < 0
    while True:
        below = (parents >= 0) & above[parents]
        if not below.any():
            return tuple(found)
        found.append(np.flatnonzero(below))
        above = below
