"""What becomes of the values of quasi-identifiers, told to the database by their numbers.

In: the rules of a release and the values that were counted. Out: for each quasi-identifier a table of the labels of its
values (`Labelled`), and the suppressed classes in one of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import sqlalchemy as sa

from airflow_anon.warehouse.release_statement import MARK, Labelled, labels_columns, suppressed_columns
from airflow_anon.warehouse.statements import stride_of, strides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_anon.warehouse.helper_tables import HelperTables
    from airflow_anon.warehouse.numbered_values import NumberedValues
    from engine import ReleaseRules


def tell_labels(
    rules: ReleaseRules, values: NumberedValues, helpers: HelperTables
) -> tuple[dict[str, Labelled], sa.Table]:
    """Write what becomes of the values of the quasi-identifiers, and which classes are suppressed; return both."""
    told = {name: rules.labels_of[name](values.values_of(name)) for name in rules.labels_of}
    most = {name: int(max([0, *one.codes])) for name, one in told.items()}
    # classes without a record are among the suppressed ones beside a population
    beside = rules.suppressed.max(axis=0, initial=0).tolist()
    code_weights = strides([1 + max(pair) for pair in zip(most.values(), beside, strict=True)])
    texts = {name: sorted({MARK, *(label for label in one.labels if label is not None)}) for name, one in told.items()}
    place_weights = strides([len(some) + 1 for some in texts.values()])
    labelled = {}
    for place, (name, one) in enumerate(told.items()):
        rank: dict[str | None, int] = {text: number for number, text in enumerate([*texts[name], None])}
        code_in, code_weight = stride_of(code_weights, place)
        place_in, place_weight = stride_of(place_weights, place)
        rows = [
            (number, code * code_weight, rank[label] * place_weight, label, int(refused))
            for number, (code, label, refused) in enumerate(
                zip(one.codes.tolist(), one.labels, one.refused.tolist(), strict=True), start=1
            )
        ]
        missing = rows.pop()[1:] if name in values.has_missing else None
        refuses = bool(one.refused.any())
        table = helpers.make(f"labels{place}", labels_columns(helpers.text))
        helpers.fill(table, rows, ["id"])
        star = rank[MARK] * place_weight
        labelled[name] = Labelled(values.tables[name], table, missing, refuses, code_in, place_in, star)
    return labelled, _tell_suppressed(rules, code_weights, helpers)


def _tell_suppressed(rules: ReleaseRules, weights: Sequence[Sequence[int]], helpers: HelperTables) -> sa.Table:
    suppressed = helpers.make("suppressed", suppressed_columns(len(weights)))
    classes = rules.suppressed.astype(np.int64) @ np.array(weights, np.int64).T
    helpers.fill(suppressed, classes.tolist(), [column.name for column in suppressed.c])
    return suppressed
