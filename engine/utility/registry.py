"""The utility measures a job can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from engine.utility.loss import Loss
from engine.utility.precision import Precision


def _loss_by_default(value: Any) -> Any:
    return {"measure": "loss", **value} if isinstance(value, Mapping) else value


AnyMeasure = Annotated[Annotated[Loss | Precision, Field(discriminator="measure")], BeforeValidator(_loss_by_default)]

MEASURES: tuple[type[Loss | Precision], ...] = (Loss, Precision)
"""Every measure, for the report, which gives them all."""
