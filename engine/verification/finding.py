"""What a verification finds out about one criterion."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from engine.message import Message


@dataclass(frozen=True)
class Finding:
    """One criterion and whether the output holds it.

    Attributes
    ----------
    check : str
        Name of the criterion: a privacy model, or `columns`, `schema`, `report`, `levels`, `labels`,
        `suppression-limit`, `rows`, `population`, `subset`, `figures`.
    observed, required : number or None
        In the unit of the criterion's parameter.
    sense : {"at-least", "at-most"} or None
        From which side the observed figure of a privacy model must keep to the required one.
    column : str or None
        The column it is about.
    message : Message
        For a person; holds no value of a record. A plain `str` becomes a message without counts.
    """

    check: str
    holds: bool
    observed: float | None
    required: float | None
    column: str | None
    message: Message
    sense: Literal["at-least", "at-most"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", Message(self.message))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "message": str(self.message)}
