"""Tables in memory whose types no file has: what is made of a DataFrame, and of run-end-encoded columns.

In: a DataFrame, or a table of Arrow. Out: a table of types that can be read, or the error that says which column is
none. Of a DataFrame the place of a column is told, never its name, which may be a value where a header is missing.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData, unreadable

NO_TABLE = (OSError, ValueError, TypeError, OverflowError, pa.ArrowException)
"""What Arrow raises of data that is no table."""


def of_pandas(frame: Any) -> pa.Table:
    """Return a DataFrame as a table, and name the place of a column that is none of it."""
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except NO_TABLE:
        for position in range(frame.shape[1]):
            _refuse_no_column(frame.iloc[:, [position]], position)
        raise
    odd = [place for place, field in enumerate(table.schema, start=1) if _is_known_to_pandas_alone(field.type)]
    if odd:
        raise InvalidData(
            f"table: column {odd[0]} holds periods or intervals, which are other numbers to whoever reads a release "
            "without pandas; make it text by astype(str), or dates"
        )
    return table


def _refuse_no_column(frame: Any, position: int) -> None:
    """Refuse a column of a frame, alone in one, of which Arrow makes none."""
    try:
        pa.Table.from_pandas(frame, preserve_index=False)
    except NO_TABLE as problem:
        raise InvalidData(
            f"table: column {position + 1} cannot be read as one of an Arrow table ({unreadable(problem)}); give all "
            "of its values one type, whole numbers of at most 64 bits, or make it text by astype(str)"
        ) from None


def _is_known_to_pandas_alone(kind: pa.DataType) -> bool:
    """Whether only pandas knows what the numbers of a type mean."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return isinstance(kind, pa.BaseExtensionType) and str(kind.extension_name).startswith("pandas.")


def without_runs(table: pa.Table) -> pa.Table:
    """Return a table with the values of run-end-encoded columns, where Arrow can tell them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            kind = field.type.value_type
            try:
                chunks = [pc.run_end_decode(chunk) for chunk in table.column(place).chunks]
            except pa.ArrowNotImplementedError:
                continue  # refused once it is read
            table = table.set_column(place, field.with_type(kind), pa.chunked_array(chunks, kind))
    return table


def refuse_unselectable(schema: pa.Schema) -> None:
    """Refuse columns of which Arrow can take no selection, at any depth."""
    for field in schema:
        if _cannot_be_selected(field.type):
            raise InvalidData(
                f"column {field.name!r}: holds a union, or a run-end encoding of other than plain values, of which no "
                "records can be selected; give it a plain type, such as text, numbers or dates"
            )


def _cannot_be_selected(kind: pa.DataType) -> bool:
    if pa.types.is_run_end_encoded(kind) or pa.types.is_union(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _cannot_be_selected(kind.storage_type)
    return any(_cannot_be_selected(kind.field(place).type) for place in range(kind.num_fields))
