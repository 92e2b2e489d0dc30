"""The shares of records whose sensitive value is the most frequent one of their class, recounted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.tables.class_table import ClassTable, SensitiveValues


def recount_inference(table: ClassTable, smallest: int) -> dict[str, Mapping[str, float | None]]:
    """Return the figures of a report by sensitive column; the class of suppressed records counts."""
    return {name: _shares(values, smallest) for name, values in table.sensitive.items()}


def _shares(found: SensitiveValues, smallest: int) -> dict[str, float | None]:
    if not (found.has_text and found.records.size):
        return dict.fromkeys(("by_class", "by_table"))
    new_class = np.append(True, found.classes[1:] != found.classes[:-1])
    of_value = np.zeros(len(found.values.distinct), np.int64)
    np.add.at(of_value, found.values.codes, found.records)
    right = {
        "by_class": int(np.maximum.reduceat(found.records, np.flatnonzero(new_class)).sum()),
        "by_table": int(of_value.max()),
    }
    return {key: _share(number, int(found.records.sum()), smallest) for key, number in right.items()}


def _share(right: int, rows: int, smallest: int) -> float | None:
    few = 1 <= right <= smallest - 1 or 1 <= rows - right <= smallest - 1
    return None if few else right / rows


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
