"""k-map, recounted: the smallest group of people who share the quasi-identifiers of a kept record.

Sweeney, Computational disclosure control. PhD thesis, MIT, 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.message import Count, Message
from engine.verification.finding import Finding
from engine.verification.model import Recount
from engine.verification.records.classes import populated
from engine.verification.records.records import Records


def recount_k_map(records: Records, model: Mapping[str, Any]) -> Finding:
    """Recount the people of the population in the classes of the kept records.

    Raises
    ------
    InvalidData
        There is no population.
    """
    people = populated(records, "k-map").people
    below = int((people < model["k"]).sum())
    return Finding(
        "k-map",
        holds=below == 0,
        observed=int(people.min()) if people.size else None,
        required=model["k"],
        sense="at-least",
        column=None,
        message=Message.of(
            "equivalence classes with fewer than {k} records of the population: {below} of {classes}",
            below=Count(below),
            classes=Count(people.size),
            k=model["k"],
        ),
    )


RECOUNT = Recount(model="k-map", judge=recount_k_map)
