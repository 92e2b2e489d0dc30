"""At most so many rows of each person: the further ones are left out before anything is counted.

In: a source, the column of persons, a number of rows, a key. Out: a `Table` of the rows that stay, in the order of the
source. Of a person with more rows those stay that have the smallest keyed hash of their place in the source
(`row_hash`): who does not have the key cannot tell which of a person's rows these are, and the choice depends on
nothing that a row holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.tables.sources.person_codes import codes_of_persons, lacks_subject
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.table import Table

KEY_BYTES = 32


class RowsBeyond(NamedTuple):
    """Rows that are left out since their persons have others enough.

    Attributes
    ----------
    rows : int
    persons : int
        Who have such rows.
    """

    rows: int
    persons: int


class CappedTable:
    """The rows of a source that stay."""

    def __init__(self, source: Table, stays: NDArray[np.bool_]) -> None:
        self._source = source
        self._stays = stays
        self.schema = source.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            Also if the source has another number of rows than when they were chosen.
        """
        begin = 0
        for batch in self._source.batches(columns):
            stays = self._stays[begin : begin + batch.num_rows]
            begin += batch.num_rows
            if begin > self._stays.size:
                break
            yield batch.filter(pa.array(stays))
        if begin != self._stays.size:
            raise InvalidData("the source changed while it was read: records were added or are gone; run again")


def capped(source: Table, subject: str, most: int, key: bytes) -> tuple[CappedTable, RowsBeyond]:
    """Leave out the further rows of persons who have more than `most`; also return how many these are.

    Parameters
    ----------
    most : int
        At least 1.
    key : bytes
        `KEY_BYTES` of them, secret and random.

    Raises
    ------
    InvalidData
        The column is missing, or persons cannot be told (`engine.tables.persons.subject`).
    """
    if subject not in source.schema.names:
        raise lacks_subject(subject)
    texts = [person_texts(batch.column(0), subject) for batch in source.batches([subject])]
    persons, number = codes_of_persons(pa.chunked_array(texts, pa.string()), subject)
    stays = np.ones(persons.size, np.bool_)
    many = np.flatnonzero(np.bincount(persons, minlength=number)[persons] > most)
    hashes = np.array([row_hash(place, key) for place in many.tolist()], np.uint64)
    order = np.lexsort((many, hashes, persons[many]))
    owner = persons[many][order]
    first = np.flatnonzero(np.append(True, owner[1:] != owner[:-1])[: owner.size])
    rank = np.arange(owner.size) - np.repeat(first, np.diff(np.append(first, owner.size)))
    stays[many[order[rank >= most]]] = False
    return CappedTable(source, stays), RowsBeyond(int((~stays).sum()), first.size)


def row_hash(place: int, key: bytes) -> int:
    """Return the keyed hash of a row's place in the source, from 0: BLAKE2b of its 8 bytes, the first 8 bytes of it."""
    return int.from_bytes(hashlib.blake2b(place.to_bytes(8, "big"), key=key, digest_size=8).digest(), "big")
