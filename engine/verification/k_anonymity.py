"""k-anonymity, recounted: the smallest group of equal quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from engine.verification.finding import Finding
from engine.verification.records import Records


def recount_k_anonymity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the classes of the kept records."""
    sizes = records.kept.group_by(list(records.quasi_identifiers)).aggregate([([], "count_all")])["count_all"]
    smallest = pc.min(sizes).as_py()
    below = pc.sum(pc.less(sizes, model["k"])).as_py() or 0
    return Finding(
        "k-anonymity",
        holds=below == 0,
        observed=smallest,
        required=model["k"],
        column=None,
        message=f"{below} of {len(sizes)} equivalence classes have fewer than {model['k']} records",
    )
