"""The section `shift` of a job: how the dates of each person are moved."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.job.key_place import KeyPlace

WEEK = 7


class ShiftSettings(KeyPlace):
    """How far the dates of a person are moved, all by the same days, by a secret key."""

    days: int = Field(
        ge=1,
        le=3650,
        strict=True,
        description="Most days by which the dates of a person move, in either direction; never by 0.",
    )
    weeks: bool = Field(default=False, strict=True, description="Move by whole weeks, so that weekdays stay.")
    ages_over_89: Literal["leave-out", "keep"] = Field(
        default="leave-out",
        description="Dates of years so long ago that they tell an age over 89 are missing in the release, or move like "
        "all others.",
    )
    ages_on: dt.date | None = Field(
        default=None,
        ge=dt.date(1990, 1, 1),
        le=dt.date(2199, 12, 31),
        description="The day of these ages, from 1990 to 2199; the day of the run, in UTC, if absent.",
    )

    @model_validator(mode="after")
    def _at_least_a_week(self) -> Self:
        if self.weeks and self.days < WEEK:
            raise ValueError(f"days: is {self.days}, and weeks: true needs at least {WEEK}")
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path of the key absolute."""
        return self.model_copy(update=self.moved_key(base))
