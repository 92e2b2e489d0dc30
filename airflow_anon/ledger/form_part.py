"""A part of an entry's document: how exact kinds are, and what becomes of further keys.

Kinds are exact: true is not a number, and no number is infinite. Further keys are kept, not read.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Number = int | float


class Part(BaseModel):
    """A part of a document: kinds are exact, and further keys are kept."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="allow", allow_inf_nan=False, populate_by_name=True, hide_input_in_errors=True
    )
