"""Pseudonyms and shifted dates of a source, made anew from the keys, by code that the run does not use.

In: a job, its source, the keys that are known. Out: the source with shifted dates as a table that can be read, and the
pseudonyms of its identifiers. Dates are numpy's here.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from engine.errors import InvalidData
from engine.tables.source import as_text, plain_type

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.tables.source import Table

PSEUDONYM_DIGITS = 32
"""Hexadecimal digits of a pseudonym."""
_OLDEST = 90
_DATE_LENGTH = 10


def _derived(secret: bytes, *purpose: str) -> bytes:
    content = b"airflow-anon person keys"
    for part in purpose:
        content += len(part.encode()).to_bytes(4, "big") + part.encode()
    return hmac.new(secret, content, hashlib.sha256).digest()


def pseudonyms_of(job: Job, name: str, secret: bytes, column: pa.ChunkedArray) -> pa.Array:
    """Return the pseudonym of each value of an identifying column; missing and blank values have none."""
    key = _derived(secret, "pseudonym", job.name, job.family(name))
    made: dict[str | None, str | None] = {None: None}
    texts = [text for chunk in column.chunks for text in as_text(chunk, name).to_pylist()]
    for text in set(texts) - {None}:
        digest = hmac.new(key, text.encode("utf-8"), hashlib.sha256).hexdigest()
        made[text] = None if not text.strip() else digest[:PSEUDONYM_DIGITS]
    return pa.array([made[text] for text in texts], pa.string())


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
        self._key = _derived(secret, "shift", job.name)
        self._unit = 7 if job.shift.weeks else 1
        self._most = job.shift.days // self._unit
        oldest = int(ages_on[:4]) - _OLDEST
        self._oldest = oldest if job.shift.ages_over_89 == "leave-out" else None
        self.schema = pa.schema(
            [one.with_type(plain_type(one.type)) if one.name in self._missing else one for one in source.schema]
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`."""
        for batch in self._source.batches(list(dict.fromkeys([*columns, self._subject]))):
            persons = as_text(batch.column(self._subject), self._subject).to_pylist()
            days = {person: self._days(person) for person in set(persons)}
            made = [
                self._moved(name, batch.column(name), persons, days) if name in self._missing else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(made, names=list(columns))

    def _days(self, person: str | None) -> int | None:
        if person is None or not person.strip():
            return None
        number = int(hmac.new(self._key, person.encode("utf-8"), hashlib.sha256).hexdigest()[:16], 16)
        choices = [*range(-self._most, 0), *range(1, self._most + 1)]
        return int(self._unit * choices[number % len(choices)])

    def _moved(
        self, name: str, column: pa.Array, persons: Sequence[str | None], days: Mapping[str | None, int | None]
    ) -> pa.Array:
        kind = plain_type(column.type)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = column.cast(pa.timestamp(kind.unit, "UTC"))  # days of 24 hours, where clocks change too
        texts = as_text(column, name).to_pylist()
        absent = {None, *self._missing[name]}
        moved = [
            None if text in absent or days[person] is None else self._text(text, days[person] or 0)
            for text, person in zip(texts, persons, strict=True)
        ]
        try:
            return pa.array(moved, pa.string()).cast(kind)
        except pa.ArrowException:  # its message may quote a value
            raise InvalidData(f"column {name!r}: a shifted date does not fit its type") from None

    def _text(self, text: Any, days: int) -> str | None:
        """Return a date as text, with its time, after so many days; None if it tells an age over 89."""
        try:
            day = np.datetime64(text[:_DATE_LENGTH], "D")
        except ValueError:
            raise InvalidData("a date of the source cannot be read") from None
        if self._oldest is not None and int(text[:4]) <= self._oldest:
            return None
        return f"{day + np.timedelta64(days, 'D')}{text[_DATE_LENGTH:]}"
