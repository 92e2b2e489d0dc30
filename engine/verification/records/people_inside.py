"""The records of a source inside a warehouse with their persons, as the warehouse counts them for a recount.

In: the warehouse, and columns. Out: a row per record that stays, with the number of its person: of a combination of a
person and values as many as the warehouse counted. How many rows of a person stay is looked at; which of them, chance
said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData


def people_inside(
    source: Any, columns: Sequence[str], most: int | None
) -> tuple[pa.Table, NDArray[np.int64], int, int | None]:
    """Count the persons of a warehouse once more.

    Parameters
    ----------
    source : Warehouse
        Its release is written.
    most : int or None
        Rows of a person that stay; None for all.

    Returns
    -------
    Table, int64 array of shape (rows,), int, int or None
        The columns, the person of each row, the number of persons, and the rows beyond `most`; None for all.

    Raises
    ------
    InvalidData
        Other rows of a person stay than the most that may.
    """
    schema = pa.schema([source.schema.field(name) for name in columns])
    parts, persons, beyond = [schema.empty_table()], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for (values, numbers, records), further in source.people(columns):
        times = np.where(further, 0, records)
        parts.append(pa.Table.from_batches([values.cast(schema)]).take(np.repeat(np.arange(times.size), times)))
        persons.append(np.repeat(numbers, times))
        beyond.append(np.repeat(numbers[further], records[further]))
    owners, left_out = np.concatenate(persons), np.concatenate(beyond)
    everybody = np.unique(owners)
    stay = np.bincount(owners, minlength=left_out.max(initial=-1) + 1)
    # somebody with rows beyond has as many as may stay, and nobody has more
    fits = most is not None and stay.max(initial=0) <= most and bool((stay[left_out] == most).all())
    if not fits and (most is not None or left_out.size):
        raise InvalidData("the warehouse keeps other rows of a person than max_rows says; run again")
    numbered = np.searchsorted(everybody, owners)
    return pa.concat_tables(parts), numbered, everybody.size, None if most is None else left_out.size
