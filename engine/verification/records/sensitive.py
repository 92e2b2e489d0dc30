"""Input of a recount about a sensitive attribute: order and hierarchy of its values, and texts that mean none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData
from engine.hierarchy.policy_groups import AnyHierarchy
from engine.spec import Spec, parse


class SensitiveAttribute(Spec):
    """The part of a sensitive column's entry in a job that privacy models read; without order, the type orders it."""

    order: Literal["text", "integer", "decimal", "date"] | None = None
    hierarchy: AnyHierarchy | None = None
    missing: tuple[str, ...] = ()

    def with_nulls(self, table: pa.Table, name: str) -> pa.Table:
        """Return a table in whose column the texts that mean a missing value are missing.

        Raises
        ------
        InvalidData
            The column's type has no text form.
        """
        if not self.missing:
            return table
        column = table[name]
        if isinstance(column.type, pa.DictionaryType):
            column = column.cast(column.type.value_type)
        try:
            means_missing = pc.is_in(column.cast(pa.string()), value_set=pa.array(self.missing, pa.string()))
        except pa.ArrowException:  # its message may quote a value
            raise InvalidData(
                f"column {name!r}: type {column.type} has no text form, so that it cannot be counted"
            ) from None
        read = pc.if_else(means_missing, pa.scalar(None, column.type), column)
        return table.set_column(table.column_names.index(name), name, read)


def sensitive_attribute(entry: Any) -> SensitiveAttribute:
    """Read the entry of a job's attribute, or a mapping with `order`, `hierarchy` and `missing`; None: none of them.

    Raises
    ------
    InvalidJob
        A key is unknown or its value is not allowed.
    """
    if isinstance(entry, SensitiveAttribute):
        return entry
    if entry is None:
        return SensitiveAttribute()
    if isinstance(entry, Mapping):
        attribute: SensitiveAttribute = parse(SensitiveAttribute, entry, "sensitive attribute")
        return attribute
    return SensitiveAttribute.model_construct(
        order=entry.order, hierarchy=entry.hierarchy, missing=tuple(getattr(entry, "missing", ()))
    )
