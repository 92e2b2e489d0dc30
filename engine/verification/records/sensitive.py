"""Input of a recount about a sensitive attribute: order and hierarchy of its values, and texts that mean none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from engine.errors import InvalidData
from engine.hierarchy.policy_groups import AnyHierarchy
from engine.spec import Spec, parse
from engine.tables.class_table import ClassTable


class SensitiveAttribute(Spec):
    """The part of a sensitive column's entry in a job that privacy models read; without order, the type orders it."""

    order: Literal["text", "integer", "decimal", "date"] | None = None
    hierarchy: AnyHierarchy | None = None
    missing: tuple[str, ...] = ()

    def with_nulls(self, table: ClassTable, name: str) -> ClassTable:
        """Return a class table in whose column the texts that mean a missing value are missing.

        Raises
        ------
        InvalidData
            The column's type has no text form.
        """
        if not self.missing:
            return table
        values = table.sensitive[name]
        if not values.has_text:
            raise InvalidData(f"column {name!r}: type {values.kind} has no text form, so that it cannot be counted")
        return replace(table, sensitive={**table.sensitive, name: values.without(self.missing)})


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
