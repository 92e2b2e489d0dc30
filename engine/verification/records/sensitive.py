"""Input of a recount about a sensitive attribute: the order that the job gives its values, and their hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from engine.hierarchy.policy_groups import AnyHierarchy
from engine.spec import Spec, parse


class SensitiveAttribute(Spec):
    """The part of a sensitive column's entry in a job that privacy models read; without order, the type orders it."""

    order: Literal["text", "integer", "decimal", "date"] | None = None
    hierarchy: AnyHierarchy | None = None


def sensitive_attribute(entry: Any) -> SensitiveAttribute:
    """Read the entry of a job's attribute, or a mapping with its `order` and `hierarchy`; None: it has neither.

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
    return SensitiveAttribute.model_construct(order=entry.order, hierarchy=entry.hierarchy)
