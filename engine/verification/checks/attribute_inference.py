"""The shares of records whose sensitive value is the most frequent one of their class, recounted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.tables.class_table import ClassTable, SensitiveValues
from engine.tables.sources.grouping import grouped


def recount_inference(table: ClassTable, smallest: int) -> dict[str, Mapping[str, float | None]]:
    """Return the figures of a report by sensitive column; the class of suppressed records counts."""
    return {name: _shares(values, smallest) for name, values in table.sensitive.items()}


def _shares(found: SensitiveValues, smallest: int) -> dict[str, float | None]:
    if not found.has_text:
        return dict.fromkeys(("by_class", "by_table"))
    pairs = pa.table({"class": found.classes, "value": found.values.codes, "records": found.records})
    by_class = grouped(pairs, ["class"]).aggregate([("records", "max")])["records_max"]
    by_value = grouped(pairs, ["value"]).aggregate([("records", "sum")])["records_sum"]
    right = {"by_class": pc.sum(by_class).as_py(), "by_table": pc.max(by_value).as_py()}
    return {key: _share(number, int(found.records.sum()), smallest) for key, number in right.items()}


def _share(right: int | None, rows: int, smallest: int) -> float | None:
    few = right is None or 1 <= right <= smallest - 1 or 1 <= rows - right <= smallest - 1
    return None if few or right is None else right / rows


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
