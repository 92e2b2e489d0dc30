"""Coded, aggregated and perturbed columns of a run: what the transformation needs, and what the report says."""

from __future__ import annotations

from engine.job.job import Job
from engine.pipeline.document import ReportedTransformation, TransformedStated
from engine.tables.release.aggregated import Aggregates


def aggregates_of(job: Job) -> Aggregates | None:
    """Return which columns get the aggregate of each class, if the job has some."""
    of_column = {name: str(job.attributes[name].microaggregation) for name in job.aggregated}
    return Aggregates(of_column, job.minimum_class_size) if of_column else None


def transformed_stated(job: Job) -> TransformedStated:
    """Return what a report says of coded, aggregated and perturbed columns."""
    changed = {*job.coded, *job.aggregated, *job.perturbed}
    stated = [_transformation(job, name) for name in job.released if name in changed]
    return {"transformed": stated} if stated else {}


def _transformation(job: Job, name: str) -> ReportedTransformation:
    attribute = job.attributes[name]
    stated: ReportedTransformation = {"column": name}
    if attribute.coding is not None:
        stated["coding"] = attribute.coding.model_dump(exclude_none=True)
    if attribute.microaggregation is not None:
        stated["microaggregation"] = attribute.microaggregation
    if attribute.noise is not None:
        stated["noise"] = attribute.noise.model_dump()
    if attribute.pram is not None:
        stated["pram"] = attribute.pram.model_dump()
    return stated
