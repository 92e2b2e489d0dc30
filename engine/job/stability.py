"""The section `stability` of a job: the levels of a series change seldom, because each change refines every trace."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_serializer, model_validator
from typing_extensions import Self

from engine.spec import Spec


class ChangeOnlyIf(Spec):
    """What is reason enough for other levels."""

    loss_improves_by: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        strict=True,
        description="The best levels lose less by at least this share of the loss of last night's.",
    )
    otherwise: Literal["infeasible"] | None = Field(
        default=None,
        alias="or",
        description="infeasible: last night's levels satisfy the models no more. Without it such a night is refused.",
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if self.loss_improves_by is None and self.otherwise is None:
            raise ValueError("names no reason; add loss_improves_by, or: infeasible, or both")
        return self

    @model_serializer
    def _as_written(self) -> dict[str, Any]:
        figures = {"loss_improves_by": self.loss_improves_by, "or": self.otherwise}
        return {key: value for key, value in figures.items() if value is not None}


class Stability(Spec):
    """Last night's levels stay while they hold."""

    keep_levels: Literal[True] = Field(description="Take the levels of the newest remembered release.")
    change_only_if: ChangeOnlyIf = Field(
        default={"or": "infeasible"}, validate_default=True, description="When the search's levels are taken instead."
    )
