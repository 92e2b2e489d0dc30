"""Days that many records have in a column of dates that is shifted: they may be placeholders.

A date that is no event of a person, such as 1970-01-01 or the day of a migration, tells, shifted, the days of each
person who has it. In: the source, before the shift. Out: of each column the share of its most frequent day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from engine.tables.sources.column_text import as_text
from engine.tables.sources.table import Table

_DAY_LENGTH = 10


def most_frequent_days(source: Table, columns: Mapping[str, Sequence[str]]) -> dict[str, tuple[int, int]]:
    """Count the days of columns of dates.

    Parameters
    ----------
    columns : mapping of column to texts
        With those that mean a missing value.

    Returns
    -------
    dict
        Of each column the records with its most frequent day, and those with any.
    """
    if not columns:
        return {}
    counted: dict[str, Counter[str | None]] = {name: Counter() for name in columns}
    for batch in source.batches(list(columns)):
        for name, missing in columns.items():
            texts = as_text(batch.column(name), name)
            there = texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(["", *missing], pa.string()))))
            days = pc.value_counts(pc.utf8_slice_codeunits(there.drop_null(), 0, _DAY_LENGTH))
            counted[name].update(dict(zip(days.field(0).to_pylist(), days.field(1).to_pylist(), strict=True)))
    return {name: (max(found.values(), default=0), found.total()) for name, found in counted.items()}
