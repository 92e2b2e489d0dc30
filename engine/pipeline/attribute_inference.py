"""Attribute inference on the released table: every sensitive column, whether a model protects it or not.

In: the output. Out: for each sensitive column two shares of records. The class of suppressed records counts, and a
missing value is a value like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.kernels.tuples import index_tuples
from engine.pipeline.document import ReportedInference
from engine.risk.attribute_inference import share_right
from engine.tables.source import as_text


def attribute_inference(
    table: pa.Table, quasi_identifiers: Sequence[str], sensitive: Sequence[str], smallest: int
) -> dict[str, ReportedInference]:
    """Compute the shares of each sensitive column; they are None for a column whose type has no text form.

    Parameters
    ----------
    smallest : int
        See `share_right`.
    """
    codes = np.empty((table.num_rows, len(quasi_identifiers)), np.int32)
    for place, name in enumerate(quasi_identifiers):
        codes[:, place] = _codes(table, name)
    classes, _, _ = index_tuples(codes)
    found: dict[str, ReportedInference] = {}
    for name in sensitive:
        try:
            values = _codes(table, name)
        except InvalidData:
            found[name] = {"by_class": None, "by_table": None}
            continue
        found[name] = {
            "by_class": share_right(classes, values, smallest),
            "by_table": share_right(np.zeros_like(classes), values, smallest),
        }
    return found


def _codes(table: pa.Table, name: str) -> NDArray[np.int64]:
    column = pa.chunked_array([as_text(chunk, name) for chunk in table[name].chunks], pa.string())
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    numbers: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
