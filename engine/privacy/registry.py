"""The privacy models a job can name."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.privacy.k_anonymity import KAnonymity
from engine.privacy.l_diversity import LDiversity

AnyPrivacyModel = Annotated[KAnonymity | LDiversity, Field(discriminator="model")]
