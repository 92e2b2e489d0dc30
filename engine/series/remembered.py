"""What is remembered of a series: for each person and release the class.

In: what the vault holds. Out: one number per person for his or her trace over all these releases, and the sensitive
values that he or she had in the last of them. A person has a place, from 0; the places of persons who are in no
remembered release are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.kernels.keys import find_keys, index_keys
from engine.kernels.refine import refine, rows_unlike_first
from engine.series.kept import KeptRows
from engine.series.keyed_ids import ID_BYTES

_WIDE = 1 << 29
"""Numbers of classes from which they are counted anew."""
ABSENT = -1
"""Instead of a class: the person is not in the file of a release."""


@dataclass(frozen=True, eq=False)
class Cohorts:
    """The levels of each person in a release whose columns are of mixed levels.

    Attributes
    ----------
    of_person : int32, shape (P,)
        Place of each person's levels among `levels`, or `ABSENT`. Persons beyond the last one are absent.
    levels : list of mapping of str to int
        Of each quasi-identifier; each combination once.
    """

    of_person: NDArray[np.int32]
    levels: Sequence[Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class Remembered:
    """One release.

    Attributes
    ----------
    release_id : str
    levels : mapping of str to int
        Of each quasi-identifier; none where persons have levels of their own.
    classes : int32, shape (P,)
        Class of each person, from 0, or `ABSENT`. Persons beyond the last one are absent.
    values : mapping of attribute to int32, shape (P,)
        Code of each person's sensitive value among `hashes`; `ABSENT` for who is not in the release.
    hashes : mapping of attribute to list of bytes
        Keyed hashes of the values.
    kept : KeptRows, optional
        The records of its persons, of the newest releases of a series that keeps who is gone.
    cohorts : Cohorts, optional
        Of a release in which persons have levels of their own.
    """

    release_id: str
    levels: Mapping[str, int]
    classes: NDArray[np.int32]
    values: Mapping[str, NDArray[np.int32]]
    hashes: Mapping[str, Sequence[bytes]]
    kept: KeptRows | None = None
    cohorts: Cohorts | None = None


@dataclass(frozen=True, eq=False)
class History:
    """What is remembered of a series.

    Attributes
    ----------
    ids : uint8, shape (P, `ID_BYTES`)
        Keyed id of the person at each place; zeros where the place is free.
    releases : sequence of Remembered
        Oldest first.
    """

    ids: NDArray[np.uint8]
    releases: Sequence[Remembered]

    @property
    def size(self) -> int:
        """Number of places."""
        return int(self.ids.shape[0])

    def traces(self, changing: Sequence[str] = ()) -> NDArray[np.int32]:
        """Return a number for each place's trace, int32, shape (P,): 0 for who is in no release, equal for equals.

        Parameters
        ----------
        changing : sequence of str
            Attributes of each of which a trace tells on which nights its value changed.
        """
        found, number = np.zeros(self.size, np.int32), 1
        present = np.zeros(self.size, np.bool_)
        for release, changed in zip(self.releases, self._changed(changing), strict=True):
            symbols = told_apart(padded(release.classes, self.size), changed) + np.int32(1)
            # nearly all who were together stay together: only the others need another number
            apart = rows_unlike_first(found, number, symbols)
            width = int(symbols.max(initial=0)) + 1
            codes = np.arange(width, dtype=np.int32)
            split, more = refine(found[apart], number, symbols[apart], codes, width)
            found[apart] = split + np.int32(number)
            number += more
            present |= symbols > 0
        numbers: NDArray[np.int32] = np.where(present, found + np.int32(1), np.int32(0))
        return numbers

    def _changed(self, attributes: Sequence[str]) -> Iterator[list[NDArray[np.bool_]]]:
        """Yield per release, of each attribute, whose value is another one than in the last release with the person."""
        last = {name: np.full(self.size, ABSENT, np.int32) for name in attributes}
        known: dict[str, dict[bytes, int]] = {name: {} for name in attributes}
        for release in self.releases:
            changed = [np.zeros(self.size, np.bool_) for _ in attributes]
            there = np.flatnonzero(release.classes >= 0)
            for name, own in zip(attributes, changed, strict=True):
                codes = [known[name].setdefault(one, len(known[name])) for one in release.hashes[name]]
                now, before = np.array(codes, np.int32)[release.values[name][there]], last[name][there]
                own[there] = (before != ABSENT) & (now != before)
                last[name][there] = now
            yield changed

    def last_values(self, attribute: str, hashes: Sequence[bytes]) -> NDArray[np.int32]:
        """Return the value that each person had in the last release with him or her, int32, shape (P,).

        Parameters
        ----------
        hashes : sequence of bytes
            Values to which the codes refer; it must hold all of `all_hashes`.
        """
        code = {one: number for number, one in enumerate(hashes)}
        last = np.full(self.size, ABSENT, np.int32)
        for release, places in self._last_with():
            codes = np.array([code[one] for one in release.hashes[attribute]], np.int32)
            last[places] = codes[release.values[attribute][places]]
        return last

    def values(self, number: int, attribute: str, hashes: Sequence[bytes]) -> NDArray[np.int32]:
        """Return the value of each person in one release, int32, shape (P,); `ABSENT` of who is not in it.

        Parameters
        ----------
        number : int
            Of the release, the oldest is 0.
        hashes : sequence of bytes
            See `last_values`.
        """
        release = self.releases[number]
        code = {one: place for place, one in enumerate(hashes)}
        codes = np.array([code[one] for one in release.hashes[attribute]], np.int32)
        found = np.full(self.size, ABSENT, np.int32)
        there = np.flatnonzero(release.classes >= 0)
        found[there] = codes[release.values[attribute][there]]
        return found

    def last_releases(self) -> NDArray[np.int32]:
        """Return the number of the last release with each person, int32, shape (P,); -1 for none."""
        last = np.full(self.size, -1, np.int32)
        for number, (_, places) in zip(range(len(self.releases) - 1, -1, -1), self._last_with(), strict=False):
            last[places] = number
        return last

    def last_levels(self, attributes: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Return the levels that each person had in the last release with him or her.

        Returns
        -------
        of_person : int32, shape (P,)
            Place among `levels`; `ABSENT` for who is in no release.
        levels : int8, shape (V, m)
            Of the attributes, in their order; each combination once.
        """
        known: dict[tuple[int, ...], int] = {}
        found = np.full(self.size, ABSENT, np.int32)
        for release, places in self._last_with():
            own = [release.levels] if release.cohorts is None else release.cohorts.levels
            combinations = [tuple(levels[name] for name in attributes) for levels in own]
            numbers = np.array([known.setdefault(one, len(known)) for one in combinations], np.int32)
            found[places] = numbers[0 if release.cohorts is None else release.cohorts.of_person[places]]
        return found, np.array(list(known), np.int8).reshape(len(known), len(attributes))

    def _last_with(self) -> Iterator[tuple[Remembered, NDArray[np.int64]]]:
        """Yield each release, the newest first, and the places of those of whom it is the last one."""
        left = np.arange(self.size)
        for release in reversed(self.releases):
            there = padded(release.classes, self.size)[left] >= 0
            yield release, left[there]
            left = left[~there]

    def totals(self, attribute: str, hashes: Sequence[bytes]) -> NDArray[np.int64]:
        """Return the persons of each release with each value, int64, shape (releases, values); see `last_values`."""
        code = {one: number for number, one in enumerate(hashes)}
        found = np.zeros((len(self.releases), len(hashes)), np.int64)
        for number, release in enumerate(self.releases):
            own = release.hashes[attribute]
            counts = np.bincount(release.values[attribute][release.classes >= 0], minlength=len(own))
            found[number, [code[one] for one in own]] = counts
        return found

    def all_hashes(self, attribute: str) -> list[bytes]:
        """Return the hashes of all values in remembered releases, each once."""
        return list(dict.fromkeys(one for release in self.releases for one in release.hashes[attribute]))

    def places(self, ids: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the place of each id, int64, shape (n,); -1 for who is in no remembered release.

        Parameters
        ----------
        ids : uint8, shape (n, `ID_BYTES`)
            Each once.
        """
        return places_among(ids, self.ids)

    def free_places(self, number: int) -> NDArray[np.int64]:
        """Return places for so many new persons, int64: free ones first, then those after the last."""
        free = np.flatnonzero(~self.ids.any(axis=1))[:number]
        return np.concatenate([free, np.arange(self.size, self.size + number - free.size)])


def places_among(ids: NDArray[np.uint8], known: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the place of each id among known ones, int64, shape (n,); -1 for who is not there, or has no id."""
    wanted, there = _halves(ids), _halves(known)
    taken = np.flatnonzero(there.any(axis=1))
    first = there[taken, 0]  # half of an id is random enough to find it by
    slots = np.full(1 << (2 * first.size + 1).bit_length(), np.int32(-1))
    index_keys(first, slots)
    number = find_keys(np.ascontiguousarray(wanted[:, 0]), first, slots)
    found = np.append(taken, -1)[number]
    same = (number >= 0) & (there[found, 1] == wanted[:, 1]) if there.size else number >= 0
    if (same != (number >= 0)).any():  # two ids with one first half, of which the first one was found
        found = np.asarray(pc.index_in(_binary(ids), value_set=_binary(known)).fill_null(-1), np.int64)
        found[~wanted.any(axis=1)] = -1
    return found


def told_apart(classes: NDArray[np.int32], changed: Sequence[NDArray[np.bool_]]) -> NDArray[np.int32]:
    """Give those of a class of whom other values changed, bool, shape (P,) per attribute, numbers of their own."""
    found = classes
    for own in changed:
        found = np.where(found >= 0, 2 * found + own, np.int32(ABSENT)).astype(np.int32)
        if int(found.max(initial=0)) >= _WIDE:
            found = np.unique(np.append(found, np.int32(ABSENT)), return_inverse=True)[1][:-1].astype(np.int32) - 1
    return found


def padded(array: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """Return an array of places with `ABSENT` for those that came later."""
    if array.size == size:
        return array
    whole = np.full(size, ABSENT, np.int32)
    whole[: array.size] = array
    return whole


def _halves(ids: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.ascontiguousarray(ids).view(np.int64).reshape(-1, 2)


def _binary(ids: NDArray[np.uint8]) -> pa.Array:
    buffer = pa.py_buffer(np.ascontiguousarray(ids))
    return pa.Array.from_buffers(pa.binary(ID_BYTES), ids.shape[0], [None, buffer])
