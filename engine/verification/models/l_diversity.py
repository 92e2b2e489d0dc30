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
    """Recount the sensitive values of the classes of the kept records; a missing value is one if the job says so."""
    attribute = model["attribute"]
    kept = _decoded(records.kept, attribute)
    pairs = kept.group_by([*records.quasi_identifiers, attribute]).aggregate([])
    counting = pc.CountOptions(mode="all" if model.get("missing", "not-a-value") == "value" else "only_valid")
    # the columns are numbered: a quasi-identifier may have any name, even that of the count
    numbered = pairs.rename_columns([str(place) for place in range(pairs.num_columns)])
    *keys, value = numbered.column_names
    values = numbered.group_by(keys).aggregate([(value, "count", counting)])[f"{value}_count"]
    below = int((values.to_numpy() < model["l"]).sum())
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
    """Undo dictionary encoding: Arrow groups by codes, and two codes may mean the same value."""
    kind = table.schema.field(name).type
    if not pa.types.is_dictionary(kind):
        return table
    return table.set_column(table.schema.get_field_index(name), name, table[name].cast(kind.value_type))


RECOUNT = Recount(model="l-diversity", judge=recount_l_diversity, variants=("distinct",))
