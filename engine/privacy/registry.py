"""The privacy models a job can name: one line per model in `AnyPrivacyModel`, beside its import.

A model with several forms, which `variant` distinguishes, is a separate union.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, get_args

from pydantic import Field

from engine.privacy.model import PrivacyModel
from engine.privacy.models.average_risk import AverageRisk
from engine.privacy.models.beta_likeness import BetaLikeness
from engine.privacy.models.delta_disclosure import DeltaDisclosurePrivacy
from engine.privacy.models.delta_presence import DeltaPresence
from engine.privacy.models.differential_privacy import DifferentialPrivacy
from engine.privacy.models.entropy_l_diversity import EntropyLDiversity
from engine.privacy.models.k_anonymity import KAnonymity
from engine.privacy.models.k_e_anonymity import KEAnonymity
from engine.privacy.models.k_map import KMap
from engine.privacy.models.l_diversity import LDiversity
from engine.privacy.models.population_uniqueness import PopulationUniqueness
from engine.privacy.models.recursive_l_diversity import RecursiveLDiversity
from engine.privacy.models.sample_uniqueness import SampleUniqueness
from engine.privacy.models.t_closeness import TCloseness

AnyLDiversity = Annotated[LDiversity | EntropyLDiversity | RecursiveLDiversity, Field(discriminator="variant")]

AnyPrivacyModel = Annotated[
    KAnonymity
    | KMap
    | AnyLDiversity
    | TCloseness
    | DeltaPresence
    | DeltaDisclosurePrivacy
    | BetaLikeness
    | AverageRisk
    | SampleUniqueness
    | PopulationUniqueness
    | KEAnonymity
    | DifferentialPrivacy,
    Field(discriminator="model"),
]


def _kinds(annotation: Any) -> Iterator[type[PrivacyModel]]:
    if isinstance(annotation, type):
        yield annotation
        return
    for part in get_args(annotation):
        yield from _kinds(part)


MODELS: tuple[type[PrivacyModel], ...] = tuple(_kinds(AnyPrivacyModel))
"""Every privacy model, each form counted separately."""
