"""k-anonymity, recounted: the smallest group of equal quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import classes_of
from engine.verification.records.records import Records


def recount_k_anonymity(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the classes of the kept records."""
    sizes = classes_of(records).sizes
    below = int((sizes < model["k"]).sum())
    return Finding(
        "k-anonymity",
        holds=below == 0,
        observed=int(sizes.min()) if sizes.size else None,
        required=model["k"],
        sense="at-least",
        column=None,
        message=Message.of(
            "equivalence classes with fewer than {k} records: {below} of {classes}",
            below=Count(below),
            classes=Count(sizes.size),
            k=model["k"],
        ),
    )


RECOUNT = Recount(model="k-anonymity", judge=recount_k_anonymity)
