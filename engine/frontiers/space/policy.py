"""One policy: which values of each quasi-identifier stay apart, as bits and as a readable document.

In: a policy space, and the bits or the document of a policy. Out: the other form, and a comparison of two policies. In
the document an attribute has a list of groups: `{from, to}` for a run of an ordered domain, `{node}` for all values
below a node of a tree, `{value}` for one value. If a tree has several nodes of one name, `values` lists the values of
the right node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.frontiers.document import PolicyDocument
from engine.frontiers.space.domain import Bits, Domain, PolicySpace
from engine.frontiers.space.group_runs import GroupRuns


class Policy:
    """A point of the policy lattice.

    `p <= q`: p is at least as specific as q, that is, each group of p lies within one of q. Neither may hold.

    Attributes
    ----------
    space : PolicySpace
    bits : bool, shape (size,)
        No bit below an unset one is set.
    """

    def __init__(self, space: PolicySpace, bits: Bits) -> None:
        self.space = space
        self.bits = space.closed(np.asarray(bits, np.bool_))
        self.bits.flags.writeable = False

    @classmethod
    def of_groups(cls, space: PolicySpace, groups: Sequence[NDArray[np.int32]]) -> Policy:
        """Make the policy with given groups.

        Parameters
        ----------
        groups : sequence of int32, shape (d,)
            For each domain a number for each position; equal numbers are one group.

        Raises
        ------
        InvalidJob
            The groups of some domain are not possible for a policy.
        """
        bits = [_cut(domain, own) for domain, own in zip(space.domains, groups, strict=True)]
        return cls(space, np.concatenate(bits) if bits else space.top)

    @classmethod
    def read(cls, space: PolicySpace, document: Mapping[str, Any]) -> Policy:
        """Read the document of a policy of this space.

        Raises
        ------
        InvalidJob
            It has other attributes, or an attribute has groups that overlap, leave values out, name values or nodes
            that the space does not have, are in another order than the values, or are not a cut of the tree. The
            message names the attribute and the index of the group.
        """
        names = [domain.attribute for domain in space.domains]
        missing, foreign = sorted(set(names) - set(document)), len(set(document) - set(names))
        if missing or foreign:
            lacking = ", ".join(map(repr, missing)) or "none"
            raise InvalidJob(
                f"policy: must hold exactly the columns {', '.join(map(repr, names))}; it lacks {lacking}; "
                f"others that it has: {foreign}"
            )
        runs = _runs(space)
        return cls.of_groups(space, [own.read(document[own.domain.attribute]) for own in runs])

    def document(self) -> PolicyDocument:
        """Return the policy as plain data: of each attribute its groups, in the domain's order."""
        groups = self.space.groups(self.bits)
        return {own.domain.attribute: own.written(of) for own, of in zip(_runs(self.space), groups, strict=True)}

    def difference(self, other: Policy) -> dict[str, str]:
        """Describe how each attribute differs from another policy of the space: finer, coarser or otherwise."""
        pairs = zip(self.space.domains, self._apart(), other._apart(), strict=True)
        return {domain.attribute: _difference(own, others) for domain, own, others in pairs}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return _key(self.space) == _key(other.space) and bool(np.array_equal(self.bits, other.bits))

    def __hash__(self) -> int:
        return hash((_key(self.space), self.bits.tobytes()))

    def __le__(self, other: Policy) -> bool:
        if _key(self.space) != _key(other.space):
            return NotImplemented
        return all(bool((own | ~others).all()) for own, others in zip(self._apart(), other._apart(), strict=True))

    def __lt__(self, other: Policy) -> bool:
        return self != other and self <= other

    def __ge__(self, other: Policy) -> bool:
        return other <= self

    def __gt__(self, other: Policy) -> bool:
        return other < self

    def _apart(self) -> list[NDArray[np.bool_]]:
        """Return for each domain which neighbouring positions are in two groups, shape (d - 1,)."""
        return [np.diff(groups) > 0 for groups in self.space.groups(self.bits)]


def _cut(domain: Domain, groups: NDArray[np.int32]) -> Bits:
    """Return the bits of a domain that make these groups."""
    apart = groups[1:] != groups[:-1]
    bits = np.zeros(domain.bits, np.bool_)
    bits[domain.separators[apart & (domain.separators >= 0)]] = True
    found = domain.groups(bits)
    if np.unique(groups).size != found.max(initial=0) + 1 or not np.array_equal(np.diff(found) > 0, apart):
        what = "runs of the values in their order" if domain.ordered else "a cut of the hierarchy"
        raise InvalidJob(
            f"policy of column {domain.attribute!r}: its groups are not {what}; give each node whole, or its values"
        )
    return bits


def _difference(own: NDArray[np.bool_], other: NDArray[np.bool_]) -> str:
    if np.array_equal(own, other):
        return "the same"
    numbers = f"{_groups(own)} instead of {int(other.sum()) + 1}"
    if (own | ~other).all():
        return f"finer: {numbers}"
    if (~own | other).all():
        return f"coarser: {numbers}"
    return f"other groups: {numbers}"


def _groups(apart: NDArray[np.bool_]) -> str:
    number = int(apart.sum()) + 1
    return "1 group" if number == 1 else f"{number} groups"


def _runs(space: PolicySpace) -> tuple[GroupRuns, ...]:
    """Return the readers of a space's groups; they are cached, because a frontier has thousands of policies."""
    found: tuple[GroupRuns, ...] | None = getattr(space, "_group_runs", None)
    if found is None:
        found = tuple(GroupRuns(domain) for domain in space.domains)
        space._group_runs = found  # type: ignore[attr-defined]  # noqa: SLF001
    return found


def _key(space: PolicySpace) -> tuple[Any, ...]:
    return tuple((domain.attribute, domain.ordered, domain.labels, domain.names) for domain in space.domains)
