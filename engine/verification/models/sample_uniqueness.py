"""Sample uniqueness, recounted: the share of the kept records that are alone in their class.

Dankar, El Emam, Neisa, Roffey, BMC Med Inform Decis Mak 12:66, 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records


def recount_sample_uniqueness(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the classes of one; without any kept record it holds."""
    sizes = classes_of(records).sizes
    kept, unique = int(sizes.sum()), int((sizes == 1).sum())
    observed = unique / kept if kept else None
    return Finding(
        "sample-uniqueness",
        holds=observed is None or observed <= model["threshold"],
        observed=observed,
        required=model["threshold"],
        sense="at-most",
        column=None,
        message=Message.of(
            "kept records that are alone in their equivalence class: {unique} of {kept}",
            unique=Count(unique),
            kept=Count(kept),
        ),
    )


RECOUNT = Recount(model="sample-uniqueness", judge=recount_sample_uniqueness)
