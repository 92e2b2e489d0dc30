"""Pseudonyms and shifted dates of a source, made anew from the keys, by code that the run does not use.

In: a job, its source, the keys that are known. Out: the source with shifted dates as a table that can be read, and the
pseudonyms of its identifiers. Dates are numpy's here.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.message import Message
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type
from engine.verification.records.persons_named import persons_named

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.sources.table import Table

PSEUDONYM_DIGITS = 32
"""Hexadecimal digits of a pseudonym."""
_OLDEST = 90
_DATE_LENGTH = 10


def derived(secret: bytes, *purpose: str) -> bytes:
    """Return the key for a purpose, made of a secret."""
    content = b"airflow-anon person keys"
    for part in purpose:
        content += len(part.encode()).to_bytes(4, "big") + part.encode()
    return hmac.new(secret, content, hashlib.sha256).digest()


def pseudonyms_of(job: Job, name: str, secret: bytes, column: pa.ChunkedArray) -> pa.Array:
    """Return the pseudonym of each value of an identifying column; missing and blank values have none."""
    key = derived(secret, "pseudonym", job.name, job.family(name))
    made: dict[str | None, str | None] = {None: None}
    texts, codes = _encoded(pa.concat_arrays([pa.array([], pa.string()), *(as_text(c, name) for c in column.chunks)]))
    for text in texts:
        if text is not None:
            digest = hmac.digest(key, text.encode("utf-8"), "sha256").hex()
            made[text] = None if not text.strip() else digest[:PSEUDONYM_DIGITS]
    return pa.array([made[text] for text in texts], pa.string()).take(pa.array(codes))


class ShiftedSource:
    """A source whose dates are shifted.

    Parameters
    ----------
    secret : bytes
        The key of the job's shift.
    ages_on : str
        The day of ages, ISO 8601.
    """

    def __init__(self, job: Job, source: Table, secret: bytes, ages_on: str) -> None:
        assert job.shift is not None  # noqa: S101 (the caller asks only for such a job)
        assert job.subject is not None  # noqa: S101 (the job's own validation)
        self._source = source
        self._subject = job.subject
        self._missing: Mapping[str, Sequence[str]] = {name: job.attributes[name].missing for name in job.shifted}
        self._key = derived(secret, "shift", job.name)
        self._unit = 7 if job.shift.weeks else 1
        self._most = job.shift.days // self._unit
        oldest = int(ages_on[:4]) - _OLDEST
        self._oldest = oldest if job.shift.ages_over_89 == "leave-out" else None
        self.schema = pa.schema(
            [one.with_type(plain_type(one.type)) if one.name in self._missing else one for one in source.schema]
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        if not set(columns) & set(self._missing):
            yield from self._source.batches(columns)
            return
        for batch in self._source.batches(list(dict.fromkeys([*columns, self._subject]))):
            texts, codes = _encoded(persons_named(batch.column(self._subject), self._subject))
            days = np.array([self._days(person) for person in texts], "timedelta64[D]")[codes]
            made = [
                self._moved(name, batch.column(name), days) if name in self._missing else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(made, names=list(columns))

    def _days(self, person: str | None) -> np.timedelta64:
        if person is None or not person.strip():
            return np.timedelta64("NaT", "D")
        number = int(hmac.new(self._key, person.encode("utf-8"), hashlib.sha256).hexdigest()[:16], 16)
        place = number % (2 * self._most)
        # the choices are -most ... -1, 1 ... most
        return np.timedelta64(self._unit * (place - self._most + (place >= self._most)), "D")

    def _moved(self, name: str, column: pa.Array, days: NDArray[np.timedelta64]) -> pa.Array:
        kind = plain_type(column.type)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = column.cast(pa.timestamp(kind.unit, "UTC"))  # days of 24 hours, where clocks change too
        texts, codes = _encoded(as_text(column, name))
        own = np.array([self._day(name, text) for text in texts], "datetime64[D]")[codes]
        moved = own + days
        gone = np.isnat(moved)
        times = pa.array([(text or "")[_DATE_LENGTH:] for text in texts], pa.string()).take(pa.array(codes))
        written = pa.array(np.datetime_as_string(np.where(gone, np.datetime64("1970-01-01"), moved)), pa.string())
        found = pc.binary_join_element_wise(written, times, "")
        try:
            return pc.if_else(pa.array(gone), pa.scalar(None, pa.string()), found).cast(kind)
        except pa.ArrowException:  # its message may quote a value
            raise InvalidData(f"column {name!r}: a shifted date does not fit its type") from None

    def _day(self, name: str, text: str | None) -> np.datetime64:
        """Return the day of a date; none of a missing one, or of one that tells an age over 89."""
        if text is None or text in self._missing[name]:
            return np.datetime64("NaT", "D")
        try:
            day = np.datetime64(text[:_DATE_LENGTH], "D")
        except ValueError:
            raise InvalidData(f"column {name!r}: a date of the source cannot be read") from None
        is_old = self._oldest is not None and int(text[:4]) <= self._oldest
        return np.datetime64("NaT", "D") if is_old else day


class UnshiftedSource:
    """A source whose dates were shifted by a key that nobody has: what was counted of them cannot be read.

    Parameters
    ----------
    why : Message
        Why the key is not known.
    """

    def __init__(self, job: Job, source: Table, why: Message) -> None:
        self._source = source
        self._shifted = set(job.shifted)
        self._why = why
        self.schema = source.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            A shifted column is among them.
        """
        if self._shifted & set(columns):
            raise InvalidData(Message("its dates were shifted: ", self._why))
        yield from self._source.batches(columns)


def _encoded(texts: pa.Array) -> tuple[list[str | None], NDArray[np.int64]]:
    """Return the distinct texts, and the place of each record's among them."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
