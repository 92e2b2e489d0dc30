"""The finding of a verification about one criterion."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from engine.message import Message


@dataclass(frozen=True)
class Finding:
    """One criterion, and whether the output meets it.

    Attributes
    ----------
    check : str
        Name of the criterion: a privacy model, or `columns`, `schema`, `report`, `levels`, `labels`,
        `suppression-limit`, `rows`, `population`, `subset`, `figures`.
    observed, required : number or None
        In the unit of the criterion's parameter.
    sense : {"at-least", "at-most"} or None
        The side of the required figure on which the observed figure of a privacy model must be.
    column : str or None
        The column it is about.
    message : Message
        Text for a person without a value of a record. A plain `str` becomes a message without counts.
    is_told : bool
        Whether what was given tells if the output meets it; where it does not, it does not hold.
    """

    check: str
    holds: bool
    observed: float | None
    required: float | None
    column: str | None
    message: Message
    sense: Literal["at-least", "at-most"] | None = None
    is_told: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", Message(self.message))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        found = {**asdict(self), "message": str(self.message)}
        del found["is_told"]
        return found
