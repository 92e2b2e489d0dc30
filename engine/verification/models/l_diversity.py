"""Distinct l-diversity, recounted: distinct pairs of class and sensitive value, counted per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.records import Records


def recount_l_diversity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the sensitive values of the classes of the kept records; a missing value is a value."""
    attribute = model["attribute"]
    kept = _decoded(records.kept, attribute)
    pairs = kept.group_by([*records.quasi_identifiers, attribute]).aggregate([])
    values = pairs.group_by(list(records.quasi_identifiers)).aggregate([([], "count_all")])["count_all"]
    below = pc.sum(pc.less(values, model["l"])).as_py() or 0
    return Finding(
        "l-diversity",
        holds=below == 0,
        observed=pc.min(values).as_py(),
        required=model["l"],
        sense="at-least",
        column=attribute,
        message=Message.of(
            "{below} of {classes} equivalence classes have fewer than {l} distinct values",
            below=Count(below),
            classes=Count(len(values)),
            l=model["l"],
        ),
    )


def _decoded(table: pa.Table, name: str) -> pa.Table:
    """Undo dictionary encoding: Arrow groups by codes, and two codes may stand for one value."""
    kind = table.schema.field(name).type
    if not pa.types.is_dictionary(kind):
        return table
    return table.set_column(table.schema.get_field_index(name), name, table[name].cast(kind.value_type))


RECOUNT = Recount(model="l-diversity", judge=recount_l_diversity, variants=("distinct",))
