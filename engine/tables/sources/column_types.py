"""Types of columns: without dictionaries, without views, and by their names."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type without its parameters, among which are the names of nested fields of the file."""
    return re.split(r"[<\[(]", str(kind), maxsplit=1)[0]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type without dictionary encoding, at any depth, and without the metadata of nested fields.

    A dictionary may hold values that no record has, such as those of records that are left out.
    """
    return plain_type(kind.value_type) if pa.types.is_dictionary(kind) else _rebuilt(kind, plain_type)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Return the type with texts and bytes in place of views of them, of which Arrow can take no selection."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_views(kind.value_type), kind.ordered)
    return _rebuilt(kind, _without_views)


def _rebuilt(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a nested type with its parts changed and without their metadata, and any other type as it is."""

    def changed(field: pa.Field) -> pa.Field:
        return field.with_type(change(field.type)).remove_metadata()

    if pa.types.is_struct(kind):
        return pa.struct([changed(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(changed(kind.key_field), changed(kind.item_field), kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(changed(kind.value_field), kind.list_size)
    for is_kind, make in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_kind(kind):
            return make(changed(kind.value_field))
    return kind


def readable(schema: pa.Schema) -> pa.Schema:
    """Return the schema as batches are read: see `_without_views`."""
    return pa.schema([field.with_type(_without_views(field.type)) for field in schema], schema.metadata)


def is_opaque(kind: pa.DataType) -> bool:
    """Return whether values of a type have no text form: nested ones, and bytes."""
    binary = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return pa.types.is_nested(kind) or any(is_kind(kind) for is_kind in binary)
