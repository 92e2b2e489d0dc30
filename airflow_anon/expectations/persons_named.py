"""The column of persons as the second judge reads it: equal numbers are one person, and no number is nobody."""

from __future__ import annotations

import pyarrow as pa


def persons_named(table: pa.Table, subject: str) -> pa.Table:
    """Return a table of which a column of floats has no -0.0 and no NaN; any other column stays as it is."""
    column = table[subject]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_floating(kind):
        return table
    # -0.0 and 0.0 have the sum 0.0
    numbers = pa.array(column.to_numpy() + 0.0, kind, from_pandas=True)
    return table.set_column(table.column_names.index(subject), subject, numbers)
