"""Whose records are, by number: each text of a column of persons is one person.

A missing person is an error, and so are two that are the same but for case or blanks: they would count as two where
there may be one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.message import Count, Message
from engine.tables.sources.person_texts import person_texts, plain_persons
from engine.tables.sources.table import Table


def subjects_of(records: Table, subject: str) -> pa.ChunkedArray:
    """Return whose each record is, as text; of a record of nobody nothing."""
    if subject not in records.schema.names:
        raise lacks_subject(subject)
    found = [person_texts(batch.column(0), subject).drop_null() for batch in records.batches([subject])]
    return pa.chunked_array(found, pa.string())


def lacks_subject(subject: str) -> InvalidData:
    """Return the error of a source without the column of persons."""
    return InvalidData(
        f"subject {subject!r}: the source lacks this column, so nobody can tell whose its records are; extract it, or "
        "count records with unit: record instead"
    )


def codes_of_persons(column: pa.ChunkedArray, subject: str) -> tuple[NDArray[np.int64], int]:
    """Return a number for each record's person, shape (records,), and the number of persons.

    Parameters
    ----------
    column : pyarrow ChunkedArray of text

    Raises
    ------
    InvalidData
        Values are missing or blank, or the same but for case or blanks.
    """
    encoded = column.dictionary_encode().unify_dictionaries()
    values = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
    plain = plain_persons(values)
    blank = pc.equal(plain, "")
    codes = [np.asarray(chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)) for chunk in encoded.chunks]
    found = np.concatenate([np.empty(0, np.int64), *codes]).astype(np.int64)
    is_blank = np.append(np.asarray(blank.to_numpy(zero_copy_only=False), np.bool_), True)
    refuse_unclear(int(is_blank[found].sum()), len(values) - pc.count_distinct(plain).as_py(), subject)
    return found, len(values)


def refuse_unclear(missing: int, alike: int, subject: str) -> None:
    """Refuse a column that does not tell persons.

    Parameters
    ----------
    missing : int
        Records without a value, or with a blank one.
    alike : int
        Values that are another one but for case or blanks.

    Raises
    ------
    InvalidData
        There are such records or values.
    """
    if missing:
        raise InvalidData(
            Message.of(
                "subject {subject!r}: has a missing or blank value in {missing} of its records, so nobody can tell "
                "whose they are; fill it in the source, or leave these records out of its query",
                subject=subject,
                missing=Count(missing),
            )
        )
    if alike:
        raise InvalidData(
            Message.of(
                "subject {subject!r}: values that are another but for case or blanks: {alike}; one person may "
                "be counted as several; write them alike in the source, such as by UPPER(TRIM(...)) in its query",
                subject=subject,
                alike=Count(alike),
            )
        )
