"""Dates shifted per person: all dates of a person move by the same days, which a secret key decides.

In: a source, its column of persons, its columns of dates, a key. Out: a `Table` with the shifted dates, of the types of
the source; text stays text. Intervals between two dates of a person are exact, and times of day stay. The shift follows
from the key and the person alone, so that it is the same in every column, table and release under the same key; no
person has a shift of 0. (Hripcsak et al., Preserving temporal relations in clinical data while shifting and
obfuscating dates, AMIA 2016: shifting by person; weeks keep patterns of weekdays.)

A date whose distance from its person's others is known tells the shift. So a date that is no event of the person, such
as 9999-12-31, must not be shifted: far dates are refused unless the job lists them as `missing`.
"""

from __future__ import annotations

import datetime as dt
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.message import Count, Message
from engine.tables.derived_keys import derived_key
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type, type_name
from engine.tables.sources.person_texts import person_texts
from engine.tables.sources.table import Table

OLDEST_YEARS = 90
"""A date of a year at least so many before the day of ages tells an age over 89 (45 CFR 164.514(b)(2)(i)(C))."""
FURTHEST_YEARS = 10
"""No date of a person is of a year further than this after the day of ages: it is a placeholder."""
_WEEK = 7
_EPOCH = dt.date(1970, 1, 1).toordinal()
_FIRST_DAY = dt.date.min.toordinal() - _EPOCH
_TEXT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"((?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)"
)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


@dataclass(frozen=True)
class Shift:
    """How dates move.

    Attributes
    ----------
    days : int
        The most days, at least 1; at least 7 with `weeks`.
    weeks : bool
        By multiples of 7.
    ages_on : date
        The day on which ages are told.
    leaves_out_old : bool
        Whether dates that tell an age over 89 are missing.
    key : bytes
        As of `shift_key`.
    """

    days: int
    weeks: bool
    ages_on: dt.date
    leaves_out_old: bool
    key: bytes

    def of_person(self, person: str) -> int:
        """Return the days by which the dates of a person move, from -`days` to `days`, never 0.

        They are 64 bits of an HMAC modulo the number of possible shifts, so none is likelier than another by more than
        2^-50.
        """
        step = _WEEK if self.weeks else 1
        most = self.days // step
        drawn = int.from_bytes(hmac.digest(self.key, person.encode(), "sha256")[:8], "big") % (2 * most)
        return step * (drawn - most if drawn < most else drawn - most + 1)


def shift_key(secret: bytes, job: str) -> bytes:
    """Return the key of the shifts of a job."""
    return derived_key(secret, "shift", job)


class ShiftedTable:
    """A source with shifted dates.

    Parameters
    ----------
    subject : str
        The column that says whose a record is; the dates of records without a person are missing.
    columns : mapping of column to frozenset of str
        The columns of dates, each with the texts that mean a missing value.
    """

    def __init__(self, source: Table, subject: str, columns: Mapping[str, frozenset[str]], shift: Shift) -> None:
        self._source = source
        self._subject = subject
        self._columns = columns
        self._shift = shift
        self._known: dict[str | None, int] = {}
        for name in columns:
            _check_type(name, plain_type(source.schema.field(name).type))
        self.schema = pa.schema(
            [field.with_type(plain_type(field.type)) if field.name in columns else field for field in source.schema]
        )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Table.batches`.

        Raises
        ------
        InvalidData
            Also if a value is no date, or a date too far in the past or in the future to be shifted.
        """
        if not set(columns) & set(self._columns):
            yield from self._source.batches(columns)
            return
        for batch in self._source.batches(list(dict.fromkeys([*columns, self._subject]))):
            days = self._days(batch.column(self._subject))
            made = [
                self._shifted(name, batch.column(name), days) if name in self._columns else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(made, names=list(columns))

    def _days(self, persons: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the shift of each record's person, and whether there is a person."""
        encoded = person_texts(persons, self._subject).dictionary_encode(null_encoding="encode")
        values = encoded.dictionary.to_pylist()
        for value in values:
            if value not in self._known:
                self._known[value] = self._shift.of_person(value) if value is not None else 0
        places = encoded.indices.to_numpy(zero_copy_only=False)
        days = np.array([self._known[value] for value in values], np.int64)
        return days[places], np.array([bool((value or "").strip()) for value in values], np.bool_)[places]

    def _shifted(self, name: str, column: pa.Array, of: tuple[NDArray[np.int64], NDArray[np.bool_]]) -> pa.Array:
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        days, has_person = of
        texts = as_text(column, name)
        gone = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False), np.bool_) | ~has_person
        missing = self._columns[name]
        if missing:
            listed = pc.is_in(texts, value_set=pa.array(sorted(missing), pa.string()))
            gone |= np.asarray(listed.to_numpy(zero_copy_only=False), np.bool_)
        if _is_text(column.type):
            return self._shifted_texts(name, texts, days, gone).cast(column.type)
        values, unit = _numbers(column)
        own = np.floor_divide(values, unit)
        gone = self._without_old(name, own, gone)
        moved = values + np.where(gone, 0, days) * unit
        self._check_room(name, own[~gone], unit)
        kind = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
        return pa.array(np.where(gone, 0, moved), pa.int64(), mask=gone).cast(kind).view(column.type)

    def _shifted_texts(self, name: str, texts: pa.Array, days: NDArray[np.int64], gone: NDArray[np.bool_]) -> pa.Array:
        encoded = texts.dictionary_encode(null_encoding="encode")
        places = encoded.indices.to_numpy(zero_copy_only=False)
        read = [_read(text) for text in encoded.dictionary.to_pylist()]
        is_date = np.array([found is not None for found in read], np.bool_)[places]
        wrong = int((~is_date & ~gone).sum())
        if wrong:
            raise InvalidData(
                Message.of(
                    "column {name!r}: has no date such as 2026-03-01 or 2026-03-01T08:30 in {wrong} of its records, so "
                    "that it cannot be shifted; correct them in the source, or list the texts under missing",
                    name=name,
                    wrong=Count(wrong),
                )
            )
        own = np.array([0 if found is None else found[0] for found in read], np.int64)[places]
        gone = self._without_old(name, own, gone)
        self._check_room(name, own[~gone], 0)
        times = pa.array(["" if found is None else found[1] for found in read], pa.string())
        moved = pa.array(np.where(gone, 0, own + days).astype(np.int32)).view(pa.date32()).cast(pa.string())
        made = pc.binary_join_element_wise(moved, times.take(encoded.indices), "")
        return pc.if_else(pa.array(gone), pa.scalar(None, pa.string()), made)

    def _without_old(self, name: str, own: NDArray[np.int64], gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Also leave out dates that tell an age over 89, and refuse those too far in the future."""
        year = self._shift.ages_on.year
        far = int((~gone & (own >= _new_year(year + FURTHEST_YEARS + 1))).sum())
        if far:
            raise InvalidData(
                Message.of(
                    "column {name!r}: has a date of a year after {year} in {far} of its records, which "
                    "is a placeholder and would tell by how many days the dates of their persons are shifted; list it "
                    "under missing, or correct it in the source",
                    name=name,
                    far=Count(far),
                    year=year + FURTHEST_YEARS,
                )
            )
        if not self._shift.leaves_out_old:
            return gone
        return gone | (own < _new_year(year - OLDEST_YEARS + 1))

    def _check_room(self, name: str, own: NDArray[np.int64], unit: int) -> None:
        """Refuse dates that some shift would move out of what the column can hold, whatever their persons' shifts."""
        first = _FIRST_DAY if unit <= 1 else max(_FIRST_DAY, -((1 << 63) // unit))
        without = int((own < first + self._shift.days).sum())
        if without:
            raise InvalidData(
                Message.of(
                    "column {name!r}: has a date so long ago in {without} of its records that a shift by "
                    "{days} days could be outside of what the column can hold; list it under missing, or correct it in "
                    "the source",
                    name=name,
                    without=Count(without),
                    days=self._shift.days,
                )
            )


def _numbers(column: pa.Array) -> tuple[NDArray[np.int64], int]:
    """Return the numbers by which Arrow keeps dates, 0 for missing ones, and how many of them are a day."""
    kind = column.type
    if pa.types.is_date32(kind):
        numbers, unit = column.view(pa.int32()).cast(pa.int64()), 1
    elif pa.types.is_date64(kind):
        numbers, unit = column.view(pa.int64()), _DAY // _NANOSECONDS["ms"]
    else:
        numbers, unit = column.view(pa.int64()), _DAY // _NANOSECONDS[kind.unit]
    return numbers.fill_null(0).to_numpy(zero_copy_only=False), unit


def _read(text: str | None) -> tuple[int, str] | None:
    """Return the days of a date since 1970, and the time after it as it is written."""
    found = _TEXT.fullmatch(text or "")
    try:
        return None if found is None else (dt.date.fromisoformat(found[1]).toordinal() - _EPOCH, found[2])
    except ValueError:
        return None


def _new_year(year: int) -> int:
    """Return the first day of a year, in days since 1970."""
    return dt.date(year, 1, 1).toordinal() - _EPOCH


def _check_type(name: str, kind: pa.DataType) -> None:
    if not (_is_text(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise InvalidData(
            f"column {name!r}: is {type_name(kind)}, and action: shift needs dates, timestamps, or text such as "
            "2026-03-01; convert it in the source query, or leave action out"
        )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
