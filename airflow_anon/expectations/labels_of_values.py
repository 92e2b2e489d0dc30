"""The labels of values at a level, for a judge that reads the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.labels import hierarchy_of
from engine import Count, InvalidData, Message


def labels_of(name: str, values: pd.Series, attribute: Mapping[str, Any], level: int) -> tuple[pd.Series, pd.Series]:
    """Return the label of each value, and whether it suppresses its record.

    Raises
    ------
    InvalidData
        The hierarchy has no such level, or a value has no entry in it.
    """
    hierarchy = hierarchy_of(attribute)
    if level >= hierarchy.level_count:
        raise InvalidData(
            f"column {name!r}: the report gives it level {level}, and its hierarchy has 0 to "
            f"{hierarchy.level_count - 1}; run deidentify again"
        )
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    missing = set(attribute.get("missing", ()))
    plain = [None if pd.isna(value) or value in missing else value for value in distinct]
    rows = hierarchy.rows(sorted({value for value in plain if value is not None}))
    entries = {row[0]: row for row in rows}
    roots = {row[-1] for row in rows}
    if not rows and hierarchy.is_label(MARK, hierarchy.level_count - 1):
        # its entries are the values themselves, and all are missing or unknown
        roots = {MARK}
    root = roots.pop() if len(roots) == 1 else None
    unseen = [value is not None and value not in entries for value in plain]
    policy = attribute.get("unseen", "error")
    if any(unseen) and (policy == "error" or root is None):
        raise InvalidData(
            Message.of(
                "column {name!r}: its hierarchy has no entry for {unseen} of the distinct values of the population",
                name=name,
                unseen=Count(sum(unseen)),
            )
        )
    joined = root if level == hierarchy.level_count - 1 and level > 0 else None
    labels = [joined if v is None else root if new else entries[v][level] for v, new in zip(plain, unseen, strict=True)]
    refused = [new and policy == "suppress" for new in unseen]
    return _taken(labels, codes, values.index), _taken(refused, codes, values.index).astype(bool)


def _taken(values: Sequence[Any], codes: Any, index: pd.Index) -> pd.Series:
    return pd.Series(values, dtype=object).take(codes).set_axis(index)
