"""The shares of attribute inference that a release's report states, counted with Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from engine import TABLE_COLUMN

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable


def inference_shares(
    release: ClassTable, name: str, smallest: int, having: Sequence[str] | None = None
) -> dict[str, float | None]:
    """Return how often the most frequent value of a record's class, and of the release, is its own.

    A share that tells of fewer than `smallest` records, right or wrong, is None; so are those of columns without text.

    Parameters
    ----------
    having : sequence of str, optional
        Of linked tables, those that have the column; the records of the others do not count.
    """
    if not _has_text(release.schema.field(name).type) or not release.rows:
        return {"by_class": None, "by_table": None}
    tuples = release.tuples(name)
    if having is not None:
        places = pc.index_in(pa.array(having, pa.string()), value_set=release.labels[TABLE_COLUMN])
        of_table = tuples[str(list(release.labels).index(TABLE_COLUMN))]
        tuples = tuples.filter(pc.is_in(of_table, value_set=places.drop_null().cast(of_table.type)))
    rows = pc.sum(tuples["records"]).as_py()
    if not rows:
        return {"by_class": None, "by_table": None}
    keys = [column for column in tuples.column_names if column not in {"value", "records"}]
    texts = tuples.set_column(tuples.column_names.index("value"), "value", tuples["value"].cast(pa.string()))
    counted = texts.group_by([*keys, "value"], use_threads=False).aggregate([("records", "sum")])
    by_class = pc.sum(counted.group_by(keys, use_threads=False).aggregate([("records_sum", "max")])["records_sum_max"])
    by_table = pc.max(
        counted.group_by("value", use_threads=False).aggregate([("records_sum", "sum")])["records_sum_sum"]
    )
    return {
        key: _share(right.as_py(), rows, smallest) for key, right in (("by_class", by_class), ("by_table", by_table))
    }


def _share(right: int, rows: int, smallest: int) -> float | None:
    return None if any(0 < part < smallest for part in (right, rows - right)) else right / rows


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    opaque = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return not any(is_kind(kind) for is_kind in opaque)
