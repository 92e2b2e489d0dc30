"""The utility measures a job can name: one line per measure, beside its import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field

from engine.utility.measure import Measure
from engine.utility.measures.ambiguity import Ambiguity
from engine.utility.measures.average_class_size import AverageClassSize
from engine.utility.measures.discernibility import Discernibility
from engine.utility.measures.height import Height
from engine.utility.measures.kl_divergence import KullbackLeiblerDivergence
from engine.utility.measures.loss import Loss
from engine.utility.measures.non_uniform_entropy import NonUniformEntropy
from engine.utility.measures.precision import Precision


def _loss_by_default(value: Any) -> Any:
    return {"measure": "loss", **value} if isinstance(value, Mapping) else value


_Kinds = (
    Loss
    | NonUniformEntropy
    | Precision
    | Discernibility
    | AverageClassSize
    | Ambiguity
    | KullbackLeiblerDivergence
    | Height
)

AnyMeasure = Annotated[Annotated[_Kinds, Field(discriminator="measure")], BeforeValidator(_loss_by_default)]

MEASURES: tuple[type[Measure], ...] = get_args(_Kinds)
"""Every measure, for the report, which gives them all in this order."""
