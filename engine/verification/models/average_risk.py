"""Average risk, recounted: equivalence classes per kept record.

El Emam, Guide to the De-Identification of Personal Health Information, 2013, chapter 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records


def recount_average_risk(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the classes of the kept records; without any it holds."""
    sizes = classes_of(records).sizes
    kept = int(sizes.sum())
    observed = sizes.size / kept if kept else None
    return Finding(
        "average-risk",
        holds=observed is None or observed <= model["threshold"],
        observed=observed,
        required=model["threshold"],
        sense="at-most",
        column=None,
        message=Message.of(
            "kept records: {kept}, equivalence classes: {classes}", kept=Count(kept), classes=Count(sizes.size)
        ),
    )


RECOUNT = Recount(model="average-risk", judge=recount_average_risk)
