"""The groups of one domain, in documents and as runs of positions.

In: a `Domain`. Out: the document of any groups of it, and the groups of a document. A group is always a run of
neighbouring positions; in a tree it is all values of a node.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.frontiers.space.domain import Domain
from engine.message import Count, Message

Run = tuple[int, int]
"""First position and the one after the last."""


class GroupRuns:
    """Reads and writes the groups of a domain."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._positions = {label: position for position, label in enumerate(domain.labels)}
        self._nodes: dict[Run, Any] = {} if domain.ordered else dict(zip(_spans(domain), domain.names, strict=True))
        names = collections.Counter(self._nodes.values())
        self._shared = {name for name, times in names.items() if times > 1}
        self._named: dict[Any, list[Run]] = collections.defaultdict(list)
        for run, name in self._nodes.items():
            self._named[name].append(run)
        self._written: dict[Run, dict[str, Any]] = {}

    def written(self, groups: NDArray[np.int32], told: NDArray[np.bool_] | None = None) -> list[dict[str, Any]]:
        """Return the document of groups.

        Parameters
        ----------
        groups : int32, shape (d,)
            Numbered from 0 in the domain's order.
        told : bool, shape (d,), optional
            Which values may be named, all if absent: a group ends at the first and the last of these, and is left out
            without any.
        """
        edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), self.domain.size]
        runs = list(itertools.pairwise(edges))
        if told is None:
            return [self._group(run) for run in runs]
        return [self._made(run, told) for run in runs if told[run[0] : run[1]].any()]

    def _group(self, run: Run) -> dict[str, Any]:
        if run not in self._written:
            self._written[run] = self._made(run)
        return self._written[run]

    def _made(self, run: Run, told: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        labels = [self.domain.labels[place] for place in range(*run) if told is None or told[place]]
        node = self._nodes.get(run)
        if node is None and len(labels) == 1:
            return {"value": labels[0]}
        if self.domain.ordered:
            return {"from": labels[0], "to": labels[-1]}
        return {"node": node, "values": labels} if node in self._shared else {"node": node}

    def read(self, groups: Any) -> NDArray[np.int32]:
        """Return the group of each position, int32, shape (d,), by its index in a document.

        Raises
        ------
        InvalidJob
            The groups overlap, leave values out, are out of order, or name values or nodes that the domain does not
            have.
        """
        if not isinstance(groups, Sequence) or isinstance(groups, str):
            raise InvalidJob(f"policy of column {self.domain.attribute!r}: must be a list of groups")
        found = np.full(self.domain.size, -1, np.int32)
        last = 0
        for place, group in enumerate(groups):
            first, end = self._run(place, group)
            if (found[first:end] >= 0).any():
                raise self._wrong(place, "holds values that an earlier group has; a value belongs in one group")
            if self.domain.ordered and first < last:
                raise self._wrong(place, "comes after groups of later values; order the groups by their values")
            found[first:end], last = place, end
        left = int((found < 0).sum())
        if left:
            raise InvalidJob(
                Message.of(
                    "policy of column {name!r}: values that are in no group: {left} of {values}; add them to a group "
                    "or give them their own",
                    name=self.domain.attribute,
                    left=Count(left),
                    values=Count(self.domain.size),
                )
            )
        return found

    def _run(self, place: int, group: Any) -> Run:
        keys = set(group) if isinstance(group, Mapping) else set()
        if keys == {"value"}:
            first = self._position(place, group["value"])
            return first, first + 1
        if self.domain.ordered and keys == {"from", "to"}:
            first, last = self._position(place, group["from"]), self._position(place, group["to"])
            if first > last:
                raise self._wrong(place, "from comes after to; exchange them")
            return first, last + 1
        if not self.domain.ordered and keys in ({"node"}, {"node", "values"}):
            return self._node(place, group)
        allowed = "{from, to} or {value}: the column has an order" if self.domain.ordered else "{node} or {value}"
        raise self._wrong(place, f"must be {allowed}")

    def _node(self, place: int, group: Mapping[str, Any]) -> Run:
        runs = self._named.get(group["node"], []) if isinstance(group["node"], str) else []
        if "values" in group:
            values = set(group["values"]) if isinstance(group["values"], list) else set()
            runs = [run for run in runs if set(self.domain.labels[run[0] : run[1]]) == values]
        if not runs:
            raise self._wrong(place, "is no node of the hierarchy that holds two values or more; correct its name")
        if len(runs) > 1:
            raise self._wrong(
                place, f"names {len(runs)} nodes of the hierarchy; add values, the list of the right node's values"
            )
        return runs[0]

    def _position(self, place: int, label: Any) -> int:
        found = self._positions.get(label) if label is None or isinstance(label, str) else None
        if found is None:
            raise self._wrong(
                place, "names a value that the column does not have; correct it, and quote values as text"
            )
        return found

    def _wrong(self, place: int, what: str) -> InvalidJob:
        return InvalidJob(f"policy of column {self.domain.attribute!r}: groups.{place} {what}")


def _spans(domain: Domain) -> list[Run]:
    """Return the run of positions below the inner node of each bit of a tree."""
    first = np.full(domain.bits, domain.size, np.int64)
    last = np.zeros(domain.bits, np.int64)
    positions = np.flatnonzero(domain.separators >= 0)
    np.minimum.at(first, domain.separators[positions], positions)
    np.maximum.at(last, domain.separators[positions], positions + 2)
    for bit in range(domain.bits - 1, -1, -1):
        parent = domain.parents[bit]
        if parent >= 0:
            first[parent], last[parent] = min(first[parent], first[bit]), max(last[parent], last[bit])
    return list(zip(first.tolist(), last.tolist(), strict=True))
