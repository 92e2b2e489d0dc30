"""The section `approval` of a job: who must agree before a release is published, and how long it waits."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from engine.spec import Spec

LONGEST_NAME = 256
"""Characters of the name of an approver."""
LONGEST = dt.timedelta(days=30)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def _approvers(value: tuple[str, ...]) -> tuple[str, ...]:
    for name in value:
        if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise ValueError(
                f"an approver must be the name of a user as Airflow shows it: 1 to {LONGEST_NAME} printable "
                "characters, without spaces at its ends"
            )
    if len({name.casefold() for name in value}) != len(value):
        raise ValueError("an approver is listed twice; remove one")
    return value


def duration(text: str) -> dt.timedelta:
    """Return a duration written as a whole number with m, h or d for minutes, hours or days, such as 20h."""
    return dt.timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def _expiry(value: str) -> str:
    if duration(value) > LONGEST:
        raise ValueError(f"is {value!r}, must be at most {LONGEST.days}d")
    return value


class ApprovalSettings(Spec):
    """Who must agree before a release is published; the one who started the run never may."""

    by: Annotated[tuple[str, ...], AfterValidator(_approvers)] = Field(
        min_length=1,
        max_length=100,
        description="Users who may approve, by the name that Airflow shows of them; role:NAME for all users with that "
        "role. One of them is enough, and none may have started the run.",
    )
    when: Literal["always", "first-release", "levels-change", "alert"] = Field(
        default="always",
        description="Which releases wait. first-release: where readers have none of the job yet. levels-change: also "
        "where the levels are not those of the release that they have. alert: also where the release would raise an "
        "alert (docs/alerts.md). With the last two, also where the job is not the one of the release that they have.",
    )
    expires: Annotated[str, AfterValidator(_expiry)] = Field(
        default="20h",
        pattern=r"^[1-9][0-9]{0,4}[mhd]$",
        description="How long a release waits, in minutes, hours or days; then it is refused. At most 30d. Meanwhile "
        "the next run of the job waits.",
    )

    @property
    def waits(self) -> dt.timedelta:
        """How long a release waits for an answer."""
        return duration(self.expires)
