"""The hierarchies a job can name."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from engine.hierarchy.policy import PolicyGroups
from engine.hierarchy.sources import Source, csv_by_default

AnyHierarchy = Annotated[
    Annotated[Source | PolicyGroups, Field(discriminator="builder")],
    BeforeValidator(csv_by_default),
]
