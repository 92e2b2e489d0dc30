"""Which records the models see, and in which order: by what the records hold, wherever they stand in the source.

In: the records, each with what becomes of it, and keyed hashes. Out: those that are drawn, and a hash of all. Each
record has a hash of its values, of its labels in the release and of how many equal ones came before; records are drawn
by the smallest hashes and come in their order. Equal records are told apart by nothing that a model sees, so the same
records in another order have the same figures. A record more or less changes the draw by one record at most.

Where persons are counted each has a hash of its own, whatever its records are: persons are drawn and ordered by it, and
of each the record is taken whose hash together with it is the smallest. How many records somebody has changes neither
who else is drawn nor which record of another person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy
from engine.tables.release.transform import Transformation
from engine.tables.sources.column_text import dictionary_of
from engine.tables.sources.table import Table
from engine.usefulness.records import Drawn, Reading

# constants of the mixer of G. L. Steele, D. Lea and C. H. Flood, Fast splittable pseudorandom number generators,
# OOPSLA 2014
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


class SeededHashes:
    """Hashes of single values under a seed of up to 64 bits."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(8, "big")
        self._known: dict[Hashable, int] = {}

    def of(self, values: Sequence[Hashable]) -> NDArray[np.uint64]:
        """Return the hash of each value; None, a number and its text differ."""
        return np.array([self._one(value) for value in values], np.uint64)

    def _one(self, value: Hashable) -> int:
        kept = (type(value), value)
        if kept not in self._known:
            text = f"{type(value).__name__} {value}".encode()
            digest = hashlib.blake2b(text, key=self._key, digest_size=8).digest()
            self._known[kept] = int.from_bytes(digest, "big")
        return self._known[kept]


def draw(
    transformation: Transformation,
    table: Table,
    hierarchies: Sequence[Hierarchy],
    targets: Sequence[Reading],
    most: int,
    hashes: SeededHashes,
    *,
    restricted: bool,
    persons: NDArray[np.uint64] | None = None,
) -> Drawn:
    """Draw records by what they hold.

    Parameters
    ----------
    most : int
        Records that are drawn at most, of so many persons where persons are counted.
    restricted : bool
        Suppressed records are taken as if there had been none.
    persons : uint64, shape (records that are taken,), optional
        Hash of the person of each record.
    """
    of_leaves = [hashes.of(_leaves(one)) for one in hierarchies]
    of_places = [hashes.of(transformation.labels_of_places(a)) for a in range(len(hierarchies))]
    parts = [np.empty(0, np.uint64)]
    for one in transformation.in_source_order(table):
        found = one.suppressed.astype(np.uint64)
        for codes, of_leaf, of_place in zip(one.leaves, of_leaves, of_places, strict=True):
            found = _mixed(_mixed(found, of_leaf[codes]), np.where(one.suppressed, _GAMMA, of_place[one.places]))
        for reading in targets:
            found = _mixed(found, _of_column(one.others.column(reading.name), reading, hashes))
        parts.append(found[~one.suppressed] if restricted else found)
    of_records = np.concatenate(parts)
    if persons is None:
        return _smallest(_told_apart(of_records), most)._replace(content=_content(of_records))
    return one_of_each(of_records, persons, most)._replace(content=_content(_mixed(of_records, persons)))


def _content(of_records: NDArray[np.uint64]) -> bytes:
    return hashlib.sha256(np.sort(of_records).astype("<u8").tobytes()).digest()


def one_of_each(of_records: NDArray[np.uint64], persons: NDArray[np.uint64], most: int) -> Drawn:
    """Draw persons, and one record of each.

    Parameters
    ----------
    of_records, persons : uint64, shape (records,)
        Hash of each record, and of its person.
    most : int
        Persons that are drawn at most.
    """
    by_person = np.lexsort((_mixed(of_records, persons), persons))
    owner = persons[by_person]
    first = by_person[np.flatnonzero(np.append(True, owner[1:] != owner[:-1])[: owner.size])][:most]
    chosen = np.zeros(persons.size, np.bool_)
    chosen[first] = True
    return Drawn(chosen, np.argsort(persons[chosen], kind="stable"))


def _leaves(hierarchy: Hierarchy) -> list[Hashable]:
    """Return the text of each leaf, and what is none for values without a row, which may have the text of one."""
    found: list[Hashable] = [hierarchy.labels[0][code] for code in hierarchy.codes[0].tolist()]
    if hierarchy.unseen_code >= 0:
        found[hierarchy.unseen_code] = True
    return found


def _of_column(column: pa.Array, reading: Reading, hashes: SeededHashes) -> NDArray[np.uint64]:
    values, places = dictionary_of(column, reading.name)
    found = hashes.of([*reading.values(values), None])
    return found[np.minimum(places, found.size - 1)]


def _mixed(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of two, of which the order counts."""
    found = one * _GAMMA + other
    found = (found ^ (found >> np.uint64(30))) * _FIRST
    found = (found ^ (found >> np.uint64(27))) * _SECOND
    return found ^ (found >> np.uint64(31))


def _told_apart(found: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes of which equal ones count through."""
    order = np.argsort(found, kind="stable")
    ordered = found[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: ordered.size])
    before = np.arange(ordered.size) - np.repeat(first, np.diff(np.append(first, ordered.size)))
    apart = np.empty_like(found)
    apart[order] = _mixed(ordered, before.astype(np.uint64))
    return apart


def _smallest(found: NDArray[np.uint64], most: int) -> Drawn:
    chosen = np.zeros(found.size, np.bool_)
    if most < found.size:
        chosen[np.argpartition(found, most)[:most]] = True
    else:
        chosen[:] = True
    return Drawn(chosen, np.argsort(found[chosen], kind="stable"))
