"""Attribute inference on the released table: every sensitive column, whether a model protects it or not.

In: the classes of the output. Out: for each sensitive column two shares of records. The class of suppressed records
counts, and a missing value is a value like any other.
"""

from __future__ import annotations

import numpy as np

from engine.pipeline.document import ReportedInference
from engine.risk.attribute_inference import share_right
from engine.tables.class_table import ClassTable


def attribute_inference(table: ClassTable, smallest: int) -> dict[str, ReportedInference]:
    """Compute the shares of each sensitive column; they are None for a column whose type has no text form.

    Parameters
    ----------
    smallest : int
        See `share_right`.
    """
    found: dict[str, ReportedInference] = {}
    for name, pairs in table.sensitive.items():
        if not pairs.has_text:
            found[name] = {"by_class": None, "by_table": None}
            continue
        values = pairs.values.codes.astype(np.int64)
        totals = np.bincount(values, pairs.records).astype(np.int64)
        found[name] = {
            "by_class": share_right(pairs.classes, pairs.records, smallest),
            "by_table": share_right(np.zeros_like(totals), totals, smallest),
        }
    return found
