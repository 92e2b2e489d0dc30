"""The shares of records whose sensitive value is the most frequent one of their class, recounted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData
from engine.tables.source import as_text


def recount_inference(
    table: pa.Table, quasi_identifiers: Sequence[str], sensitive: Sequence[str], smallest: int
) -> dict[str, Mapping[str, float | None]]:
    """Return the figures of a report by sensitive column; the class of suppressed records counts."""
    return {name: _shares(table, quasi_identifiers, name, smallest) for name in sensitive}


def _shares(table: pa.Table, quasi_identifiers: Sequence[str], name: str, smallest: int) -> dict[str, float | None]:
    # columns are numbered: a quasi-identifier may have any name, even that of a count
    keys = [str(place) for place in range(len(quasi_identifiers))]
    try:
        columns = [_text(table, column) for column in (*quasi_identifiers, name)]
    except InvalidData:
        return dict.fromkeys(("by_class", "by_table"))
    counted = (
        pa.Table.from_arrays(columns, names=[*keys, "value"]).group_by([*keys, "value"]).aggregate([([], "count_all")])
    )
    by_class = counted.group_by(keys).aggregate([("count_all", "max")])["count_all_max"]
    by_value = counted.group_by("value").aggregate([("count_all", "sum")])["count_all_sum"]
    found = {"by_class": pc.sum(by_class).as_py(), "by_table": pc.max(by_value).as_py()}
    return {key: _share(right, table.num_rows, smallest) for key, right in found.items()}


def _share(right: int | None, rows: int, smallest: int) -> float | None:
    few = right is None or 1 <= right <= smallest - 1 or 1 <= rows - right <= smallest - 1
    return None if few or right is None else right / rows


def _text(table: pa.Table, name: str) -> pa.ChunkedArray:
    return pa.chunked_array([as_text(chunk, name) for chunk in table[name].chunks], pa.string())


def same_inference(stated: Any, found: Mapping[str, Mapping[str, float | None]], equal: Any) -> bool:
    """Tell whether a report states these columns and figures, and no others."""
    if not isinstance(stated, Mapping) or set(stated) != set(found):
        return False
    return all(
        isinstance(stated[name], Mapping)
        and set(stated[name]) == set(figures)
        and all(equal(stated[name][key], figure) for key, figure in figures.items())
        for name, figures in found.items()
    )
