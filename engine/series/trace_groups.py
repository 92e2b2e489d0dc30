"""Persons with one trace as a class that privacy models judge.

In: the earlier trace of each person, what becomes of him or her tonight, and sensitive values. Out: groups, as a
`Partition` of the models. Who is absent throughout is in no group.

A model that compares classes with the table compares a group with the release from which the values of its persons are:
tonight's, or the last one with them. So the verdict on a group that is absent stays what it was in that release, and
withholding the whole of an earlier trace always helps.

Where the values of every release count, a group is judged with those of each release with its persons: who moves or
leaves together may all have had one value before. Withholding the whole of an earlier trace helps then too, since its
persons were judged with these values when the releases were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.kernels.refine import refine
from engine.privacy.model import PrivacyModel
from engine.tables.counting.histogram import Histogram
from engine.tables.counting.pair_counts import pair_counts

MISSING = b""
"""The hash of a missing value."""


class TraceGroups:
    """The G groups of persons with equal traces.

    Parameters
    ----------
    earlier : int32, shape (P,)
        Number of each person's earlier trace; 0 for who is in no remembered release.
    tonight : int32, shape (P,)
        Class of each person tonight, from 0, or -1.
    values : mapping of attribute to int32, shape (P,)
        Code of each person's sensitive value: tonight's, or that of the last release with him or her.
    hashes : mapping of attribute to sequence of bytes
        The values of the codes; a missing one comes first.
    since : int32, shape (P,)
        Number of the release from which each person's values are, the oldest is 0.
    totals : mapping of attribute to int64, shape (releases, values)
        Persons of each release with each value, of those attributes alone that a model compares with a table.
    then : sequence of mapping of attribute to int32, shape (P,)
        Of each earlier release whose values count too, the code of each person's value, negative for who is not in it.

    Attributes
    ----------
    group : int32, shape (P,)
        Group of each person, -1 for who is absent throughout.
    counts : int64, shape (G,)
        Persons of each group.
    """

    def __init__(
        self,
        earlier: NDArray[np.int32],
        tonight: NDArray[np.int32],
        values: Mapping[str, NDArray[np.int32]],
        hashes: Mapping[str, Sequence[bytes]],
        since: NDArray[np.int32],
        totals: Mapping[str, NDArray[np.int64]],
        then: Sequence[Mapping[str, NDArray[np.int32]]] = (),
    ) -> None:
        self._values, self._hashes = values, hashes
        self._since, self._totals = since, totals
        self._then = then
        symbols = tonight + np.int32(1)
        width = int(symbols.max(initial=0)) + 1
        number = int(earlier.max(initial=0)) + 1
        there = (earlier > 0) | (tonight >= 0)
        self._there = there
        codes = np.arange(width, dtype=np.int32)
        group, size = refine(earlier[there], number, symbols[there], codes, width)
        self.group = np.full(earlier.size, -1, np.int32)
        self.group[there] = group
        self.counts: NDArray[np.int64] = np.bincount(group, minlength=size).astype(np.int64)
        self._histograms: dict[str, Histogram] = {}

    @property
    def size(self) -> int:
        """Number of groups."""
        return int(self.counts.size)

    def of_groups(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return what the members of each group have in common, int32, shape (G,), from what persons have."""
        found = np.zeros(self.size, np.int32)
        found[self.group[self._there]] = numbers[self._there]
        return found

    def failing(self, models: Sequence[PrivacyModel]) -> NDArray[np.bool_]:
        """Return which groups fail a model, bool, shape (G,)."""
        failing = np.zeros(self.size, np.bool_)
        if not self.size:
            return failing
        since = self.of_groups(self._since)
        for model in models:
            if not model.compares_with_table:
                failing |= model.violated(self)
                continue
            for number in np.unique(since).tolist():
                chosen = since == number
                failing[chosen] |= model.violated(_Compared(self, chosen, number))
        for number, values in enumerate(self._then):
            self._add_failing_then(models, since, number, values, failing)
        return failing

    def _add_failing_then(
        self,
        models: Sequence[PrivacyModel],
        since: NDArray[np.int32],
        number: int,
        values: Mapping[str, NDArray[np.int32]],
        failing: NDArray[np.bool_],
    ) -> None:
        """Add the groups that fail a model with the values of an earlier release."""
        for model in models:
            name = model.sensitive_attribute
            if name is None:
                continue
            there = self._there & (values[name] >= 0)
            chosen = np.zeros(self.size, np.bool_)
            chosen[self.group[there]] = True
            chosen &= since != number  # else these are the values that were judged
            if not chosen.any():
                continue
            place = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
            members = np.flatnonzero(there)[chosen[self.group[there]]]
            owner = place[self.group[members]]
            own = TraceGroups(
                owner + np.int32(1),
                np.full(owner.size, -1, np.int32),
                {name: values[name][members]},
                self._hashes,
                np.full(owner.size, number, np.int32),
                self._totals,
            )
            wrong = own.failing([model])
            of_group = np.zeros(int(chosen.sum()), np.bool_)
            of_group[owner] = wrong[own.group]
            failing[np.flatnonzero(chosen)] |= of_group

    def compared(self, attribute: str, chosen: NDArray[np.bool_], release: int) -> Histogram:
        """Return the values of some groups, bool, shape (G,), beside those of the table of a release."""
        found, totals = self.histogram(attribute), self._totals[attribute][release]
        sizes = np.diff(found.offsets)
        inside = np.repeat(chosen, sizes)
        there = totals > 0
        codes = (np.cumsum(there) - 1).astype(np.int32)
        return Histogram(
            np.concatenate([[0], np.cumsum(sizes[chosen])]),
            codes[found.values[inside]],
            found.counts[inside],
            totals[there],
            tuple(label for label, left in zip(found.labels, there.tolist(), strict=True) if left),
        )

    @property
    def population(self) -> NDArray[np.int64]:
        """No population: models that read one are refused in a series."""
        raise NotImplementedError

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """No population, as for `population`."""
        raise NotImplementedError

    @property
    def persons(self) -> NDArray[np.int64]:
        """Each person is in one group, once."""
        return self.counts

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """See `Partition.fewer_persons_than`."""
        return self.counts < least

    def has_missing(self, attribute: str) -> bool:
        """See `Partition.has_missing`."""
        return MISSING in self._hashes[attribute][:1]

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """See `Partition.distinct`."""
        return np.diff(self.histogram(attribute).offsets)

    def histogram(self, attribute: str) -> Histogram:
        """See `Partition.histogram`."""
        if attribute not in self._histograms:
            width = len(self._hashes[attribute])
            values = self._values[attribute][self._there]
            offsets, codes, counts = pair_counts(self.group[self._there], values, self.size, width)
            labels = tuple(None if one == MISSING else one.hex() for one in self._hashes[attribute])
            totals = np.bincount(values, minlength=width)
            self._histograms[attribute] = Histogram(offsets, codes, counts, totals.astype(np.int64), labels)
        return self._histograms[attribute]

    def person_histogram(self, attribute: str) -> Histogram:
        """See `Partition.person_histogram`."""
        return self.histogram(attribute)


class _Compared:
    """Some groups as a `Partition`, for models that compare them with the table of a release."""

    def __init__(self, groups: TraceGroups, chosen: NDArray[np.bool_], release: int) -> None:
        self._groups, self._chosen, self._release = groups, chosen, release
        self.counts: NDArray[np.int64] = groups.counts[chosen]

    @property
    def size(self) -> int:
        """Number of groups."""
        return int(self.counts.size)

    @property
    def persons(self) -> NDArray[np.int64]:
        """See `TraceGroups.persons`."""
        return self.counts

    @property
    def population(self) -> NDArray[np.int64]:
        """See `TraceGroups.population`."""
        return self._groups.population

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """See `TraceGroups.population`."""
        return self._groups.overlapping

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """See `Partition.fewer_persons_than`."""
        return self.counts < least

    def has_missing(self, attribute: str) -> bool:
        """See `Partition.has_missing`."""
        return None in self.histogram(attribute).labels[:1]

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """See `Partition.distinct`."""
        return np.diff(self.histogram(attribute).offsets)

    def histogram(self, attribute: str) -> Histogram:
        """See `Partition.histogram`."""
        return self._groups.compared(attribute, self._chosen, self._release)

    def person_histogram(self, attribute: str) -> Histogram:
        """See `Partition.person_histogram`."""
        return self.histogram(attribute)


@dataclass(frozen=True, eq=False)
class Tonight:
    """What is known of P persons before it is decided who is released.

    Attributes
    ----------
    earlier : int32, shape (P,)
        Number of the trace over remembered releases, 0 for none.
    wanted : int32, shape (P,)
        Class that each person would have tonight, from 0, or -1 for who is gone or suppressed. Where changes are
        traced, the persons of a class of whom other values changed have numbers of their own.
    now, last : mapping of attribute to int32, shape (P,)
        Sensitive value tonight, and in the last release with the person.
    hashes : mapping of attribute to sequence of bytes
        The values of these codes; a missing one comes first.
    gone : bool, shape (P,)
        Who is not in the source any more, and has a class only because his or her last record was kept.
    since : int32, shape (P,)
        Number of the last release with the person, the oldest is 0; -1 for none.
    totals : mapping of attribute to int64, shape (releases, values)
        Persons of each remembered release with each value, of those attributes alone that a model compares with a
        table.
    then : sequence of mapping of attribute to int32, shape (P,)
        Of each remembered release the value of each person, negative for who is not in it; none where only the last
        values count.
    """

    earlier: NDArray[np.int32]
    wanted: NDArray[np.int32]
    now: Mapping[str, NDArray[np.int32]]
    last: Mapping[str, NDArray[np.int32]]
    hashes: Mapping[str, Sequence[bytes]]
    gone: NDArray[np.bool_]
    since: NDArray[np.int32]
    totals: Mapping[str, NDArray[np.int64]]
    then: Sequence[Mapping[str, NDArray[np.int32]]] = ()

    def groups(self, released: NDArray[np.bool_]) -> TraceGroups:
        """Return the groups if only these persons, bool, shape (P,), are released."""
        tonight = np.where(released, self.wanted, np.int32(-1))
        values = {name: np.where(released, self.now[name], self.last[name]) for name in self.now}
        totals = {
            name: np.vstack([before, np.bincount(self.now[name][released], minlength=before.shape[1])])
            for name, before in self.totals.items()
        }
        number = next((before.shape[0] for before in self.totals.values()), len(self.then))
        since = np.where(released, np.int32(number), self.since)
        return TraceGroups(self.earlier, tonight, values, self.hashes, since, totals, self.then)
