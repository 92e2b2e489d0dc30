"""Which cells of linked tables are not there: what a measure must not weigh, and a model of values not count.

In: the frequency table of the records of several tables, in which the columns that a table lacks are missing. Out: the
same table with a leaf of its own for these cells, or without them among the sensitive values. All labels are the same,
and so are all classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.tables.counting.frequency import FrequencyTable
from engine.tables.sources.linked_name import TABLE


def with_lacking_cells(table: FrequencyTable, columns: Mapping[str, Sequence[str]]) -> FrequencyTable:
    """Return the table for measures; itself where `columns` names no tables.

    Parameters
    ----------
    columns : mapping of table name to sequence of str
        The columns that each of the linked tables has.
    """
    if not columns:
        return table
    codes, hierarchies = table.codes.copy(), list(table.hierarchies)
    for a, name in enumerate(table.attributes):
        lacking = _lacking(table, columns, name)
        if lacking.any():
            hierarchies[a] = hierarchies[a].with_lacking()
            codes[a, lacking] = hierarchies[a].lacking_code
    return replace(table, codes=codes, hierarchies=tuple(hierarchies))


def without_lacking_values(table: FrequencyTable, columns: Mapping[str, Sequence[str]]) -> FrequencyTable:
    """Return the table for models: rows of a linked table have no value of a sensitive column that it lacks.

    Parameters
    ----------
    columns : mapping of table name to sequence of str
        See `with_lacking_cells`.
    """
    if not columns:
        return table
    sensitive = {name: values.of(~_lacking(table, columns, name)) for name, values in table.sensitive.items()}
    return replace(table, sensitive=sensitive)


def _lacking(table: FrequencyTable, columns: Mapping[str, Sequence[str]], name: str) -> NDArray[np.bool_]:
    """Tell of which rows, shape (R,), the linked table lacks a column."""
    place = table.attributes.index(TABLE)
    of_code = table.hierarchies[place].labels[0]
    lacks = np.array([name not in (TABLE, *columns[label or ""]) for label in of_code], np.bool_)
    found: NDArray[np.bool_] = lacks[table.codes[place]]
    return found
