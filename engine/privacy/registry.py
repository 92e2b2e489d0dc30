"""The privacy models a job can name."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.privacy.beta_likeness import BetaLikeness
from engine.privacy.delta_disclosure import DeltaDisclosurePrivacy
from engine.privacy.entropy_l_diversity import EntropyLDiversity
from engine.privacy.k_anonymity import KAnonymity
from engine.privacy.l_diversity import LDiversity
from engine.privacy.recursive_l_diversity import RecursiveLDiversity
from engine.privacy.t_closeness import TCloseness

AnyLDiversity = Annotated[LDiversity | EntropyLDiversity | RecursiveLDiversity, Field(discriminator="variant")]

AnyPrivacyModel = Annotated[
    KAnonymity | AnyLDiversity | TCloseness | DeltaDisclosurePrivacy | BetaLikeness, Field(discriminator="model")
]
