"""The privacy models a job can name."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.privacy.average_risk import AverageRisk
from engine.privacy.beta_likeness import BetaLikeness
from engine.privacy.delta_disclosure import DeltaDisclosurePrivacy
from engine.privacy.delta_presence import DeltaPresence
from engine.privacy.entropy_l_diversity import EntropyLDiversity
from engine.privacy.k_anonymity import KAnonymity
from engine.privacy.k_map import KMap
from engine.privacy.l_diversity import LDiversity
from engine.privacy.population_uniqueness import PopulationUniqueness
from engine.privacy.recursive_l_diversity import RecursiveLDiversity
from engine.privacy.sample_uniqueness import SampleUniqueness
from engine.privacy.t_closeness import TCloseness

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
    | PopulationUniqueness,
    Field(discriminator="model"),
]
