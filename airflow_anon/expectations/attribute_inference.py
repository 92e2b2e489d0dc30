"""The shares of attribute inference that a release's report states, counted with pandas."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa


def inference_shares(
    records: pa.Table, quasi_identifiers: Sequence[str], name: str, smallest: int
) -> dict[str, float | None]:
    """Return how often the most frequent value of a record's class, and of the release, is its own.

    A share that tells of fewer than `smallest` records, right or wrong, is None; so are those of columns without text.
    """
    texts = [_text(records[column]) for column in (*quasi_identifiers, name)]
    if any(column is None for column in texts) or not records.num_rows:
        return {"by_class": None, "by_table": None}
    frame = pd.DataFrame({place: pd.factorize(column, use_na_sentinel=False)[0] for place, column in enumerate(texts)})
    *keys, value = frame.columns
    by_class = frame.groupby([*keys, value], sort=False).size().groupby(level=keys, sort=False).max().sum()
    by_table = frame[value].value_counts().max()
    return {
        key: _share(int(right), len(frame), smallest) for key, right in (("by_class", by_class), ("by_table", by_table))
    }


def _share(right: int, rows: int, smallest: int) -> float | None:
    return None if any(0 < part < smallest for part in (right, rows - right)) else right / rows


def _text(column: pa.ChunkedArray) -> pd.Series | None:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return None
    return column.cast(pa.string()).to_pandas().astype(object)
