"""Distinct l-diversity, recounted: distinct pairs of class and sensitive value, counted per class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.records import Records


def recount_l_diversity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the sensitive values of the classes of the kept records; a missing value is one if the job says so."""
    attribute = model["attribute"]
    found = records.kept.sensitive[attribute]
    counted = np.ones(found.classes.size, np.bool_)
    if model.get("missing", "not-a-value") != "value":
        counted = ~found.values.missing()
    values = np.bincount(found.classes[counted], minlength=records.kept.records.size)
    below = int((values < model["l"]).sum())
    return Finding(
        "l-diversity",
        holds=below == 0,
        observed=int(values.min()) if values.size else None,
        required=model["l"],
        sense="at-least",
        column=attribute,
        message=Message.of(
            "equivalence classes with fewer than {l} distinct values: {below} of {classes}",
            below=Count(below),
            classes=Count(values.size),
            l=model["l"],
        ),
    )


RECOUNT = Recount(model="l-diversity", judge=recount_l_diversity, variants=("distinct",))
