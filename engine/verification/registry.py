"""The privacy models that can be recounted on an output: one line per recount, beside its import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.errors import InvalidJob
from engine.verification.model import Recount
from engine.verification.models import (
    average_risk,
    beta_likeness,
    delta_disclosure,
    delta_presence,
    differential_privacy,
    entropy_l_diversity,
    k_anonymity,
    k_e_anonymity,
    k_map,
    l_diversity,
    population_uniqueness,
    recursive_l_diversity,
    sample_uniqueness,
    t_closeness,
)

RECOUNTS: tuple[Recount, ...] = (
    k_anonymity.RECOUNT,
    l_diversity.RECOUNT,
    entropy_l_diversity.RECOUNT,
    recursive_l_diversity.RECOUNT,
    t_closeness.RECOUNT,
    delta_disclosure.RECOUNT,
    beta_likeness.RECOUNT,
    k_map.RECOUNT,
    delta_presence.RECOUNT,
    average_risk.RECOUNT,
    sample_uniqueness.RECOUNT,
    population_uniqueness.RECOUNT,
    k_e_anonymity.RECOUNT,
    differential_privacy.RECOUNT,
)


def recount_of(model: Mapping[str, Any]) -> Recount:
    """Return the recount of a model.

    Parameters
    ----------
    model : mapping
        The model and its parameters.

    Raises
    ------
    InvalidJob
        No recount is known for the model or its variant.
    """
    name: Any = model["model"]
    named = [recount for recount in RECOUNTS if recount.model == name]
    if not named:
        known = ", ".join(dict.fromkeys(recount.model for recount in RECOUNTS))
        raise InvalidJob(f"privacy model {name!r} cannot be verified; verified are {known}")
    variant: Any = model.get("variant")
    fitting = [recount for recount in named if not recount.variants or variant in recount.variants]
    if not fitting:
        known = ", ".join(known for recount in named for known in recount.variants)
        raise InvalidJob(f"variant {variant!r} of {name} cannot be verified; verified are {known}")
    return fitting[0]
