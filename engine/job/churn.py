"""The section `churn` of a job: how many persons are expected to come and to leave from one night to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.spec import Spec

MOST = 0.5


class ChurnSettings(Spec):
    """The search chooses levels whose classes last through what is expected."""

    arrivals: float = Field(
        default=0.0, ge=0, le=MOST, strict=True, description="Share of the persons who are new each night, 0 to 0.5."
    )
    departures: float = Field(
        default=0.0, ge=0, le=MOST, strict=True, description="Share of the persons who are gone each night, 0 to 0.5."
    )

    @model_validator(mode="after")
    def _expects_something(self) -> Self:
        if not self.arrivals and not self.departures:
            raise ValueError("expects nothing; name arrivals, departures or both, above 0, or take churn out")
        return self


def check_churn(job: Any) -> None:
    """Refuse what a `Job` that expects churn must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.churn is None:
        return
    if job.series is None:
        raise ValueError("churn: costs something in a series alone; add series, or take it out")
    foreign = list(_foreign(job))
    if foreign:
        raise ValueError(f"{'; '.join(foreign)}: does not go with churn; take it out")


def _foreign(job: Any) -> Iterator[str]:
    """Name what makes losses and shares of persons incomparable, or searches for something else."""
    if job.utility.measure != "loss" or job.utility.aggregate != "arithmetic-mean":
        yield "utility, other than the loss of the arithmetic mean, which is a share as well"
    if job.search.algorithm != "optimal":
        yield f"search.algorithm: {job.search.algorithm}"
    if job.series.arrivals != "hold-back":
        yield f"series.arrivals: {job.series.arrivals}, with which nobody is to wait"
    if job.series.departures == "keep":
        yield "series.departures: keep, with which few are withheld at any levels"
    if job.recodes_locally:
        yield "transformation: local-recoding"
