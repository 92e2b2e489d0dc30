"""The `transformation` of a job: whether its policy is named, the settings of a local recoding, what goes with neither.

In: a job. Out: nothing, or why it is refused. What a local recoding can claim is listed, so that a model or a key that
is added to jobs later is refused until somebody has made it work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from engine.privacy.table_wide import TableWideModel
from engine.search.registry import POLICY
from engine.spec import Spec

LOCAL = "local-recoding"
BY_POLICY = "policy"

_AGGREGATES = ("arithmetic-mean", "sum")


START_SECONDS = 60.0
"""Limit of the search for the levels from which a local recoding starts: they need not be proven optimal."""


class RecodingSettings(Spec):
    """How a local recoding is searched for."""

    algorithm: Literal["clustering", "splitting"] = Field(
        default="clustering",
        description="clustering: a top-down splitting, clusters in its blocks, and a local search that improves the "
        "best of these; splitting: the splitting alone.",
    )
    block_tuples: int = Field(
        default=1000,
        ge=10,
        le=100_000,
        strict=True,
        description="Distinct combinations in a block, 10 to 100,000: more of them lose less, and take longer.",
    )
    bound_passes: int = Field(
        default=4,
        ge=0,
        le=1000,
        strict=True,
        description="Passes of the lower bound over all cells at most: each raises it. They end earlier with "
        "bound_gap, and after a pass that raised it by less than 2%. 0: no bound.",
    )
    bound_gap: float = Field(
        default=0.3,
        ge=0,
        lt=1,
        strict=True,
        description="The share of the loss that a better recoding could save at most, with which the bound is good "
        "enough for no further pass.",
    )
    bound_visits: int = Field(
        default=30_000_000_000,
        ge=1,
        strict=True,
        description="Combinations times level vectors of a pass at most, of which a pass skips most: 3,000,000,000 "
        "take some ten seconds; above it, attributes are bounded in groups, which proves less.",
    )
    time_limit_seconds: float | None = Field(
        default=None,
        gt=0,
        le=31_536_000,
        strict=True,
        description="The best recoding after this time, of which the last quarter is for its bound; the search for "
        "levels, which comes before, has its own limit, search.time_limit_seconds.",
    )


def check_transformation(job: Any) -> None:
    """Refuse what a `Job` with its transformation must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.transformation != LOCAL:
        if job.recoding != RecodingSettings():
            raise ValueError("recoding: only for transformation local-recoding; take it out, or set that")
        if job.transformation == BY_POLICY and job.choose is None and job.search.algorithm != POLICY:
            raise ValueError(
                "transformation: policy, and the job names none; add search: {algorithm: policy, file: policy.yaml}, "
                "or choose, a rule by which each run chooses one"
            )
        return
    foreign = list(_foreign(job))
    if foreign:
        raise ValueError(
            f"{'; '.join(foreign)}: does not go with transformation local-recoding; take it out, or set "
            "transformation: full-domain"
        )
    measure = job.utility
    if not sums_of_records(job):
        raise ValueError(
            f"utility: {measure.measure} with aggregate {measure.aggregate} is no sum over records and attributes, by "
            "which a local recoding is chosen; use measure loss or precision with aggregate arithmetic-mean or sum, or "
            "set transformation: full-domain"
        )


def not_of_mixed_levels(job: Any) -> Iterator[str]:
    """Name what is set and is not known to work where columns are of mixed levels."""
    parts = {
        "choose": job.choose is not None,
        f"search.algorithm {POLICY}": job.search.algorithm == POLICY,
        f"suppress: {job.suppress}": job.suppress != "any",
    }
    yield from (name for name, there in parts.items() if there)
    for name in (*job.pseudonymized, *job.shifted):
        yield f"attributes.{name}.action {job.attributes[name].action}"


def sums_of_records(job: Any) -> bool:
    """Tell whether the measure is a sum over records and attributes, by which mixed levels have a loss."""
    return bool(job.utility.sums_attributes and job.utility.aggregate in _AGGREGATES)


def table_wide(job: Any) -> Iterator[str]:
    """Name the models that judge all classes together."""
    for position, model in enumerate(job.privacy):
        if isinstance(model, TableWideModel):
            yield f"privacy.{position}: {model.model}, which judges all classes together"


def beside_population(job: Any) -> Iterator[str]:
    """Name what compares classes with the people of a population."""
    for position, model in enumerate(job.privacy):
        if model.reads_population:
            yield f"privacy.{position}: {model.model}, which compares classes with those of a population"
    if job.risk.population is not None:
        yield "risk.population"
    if job.frontier is not None and job.frontier.population is not None:
        yield "frontier.population"


def _foreign(job: Any) -> Iterator[str]:
    yield from not_of_mixed_levels(job)
    if job.subject is not None:
        yield "subject"
