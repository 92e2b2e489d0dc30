"""The privacy models of a job, judged on its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.message import Message
from engine.verification.checks.balance import drops
from engine.verification.checks.people import People
from engine.verification.finding import Finding
from engine.verification.records.records import Records
from engine.verification.recount import recount_classes
from engine.verification.registry import recount_of

if TYPE_CHECKING:
    from engine.job.job import Job


def judge(records: Records, job: Job, model: Any, people: People | None, report: Mapping[str, Any] | None) -> Finding:
    """Recount a model; one that cannot be recounted does not hold.

    Raises
    ------
    InvalidJob, InvalidData
        See `recount`.
    """
    compares = model.subset_file is not None or model.population_file is not None
    tables: Sequence[pa.Table | None] = (None,)
    if compares:
        if people is None:
            return _unproven(model, "there is no population")
        tables = people.beside(records)
        if not tables:
            return replace(_unproven(model, people.problem), is_told=people.population is not None)
    if (
        report is None
        and drops(job, report)
        and job.suppression_limit > 0
        and recount_of(model.model_dump()).counts_dropped
    ):
        return _unproven(model, "the number of dropped records does not follow from the output; give the report")
    sensitive = None if model.sensitive_attribute is None else job.attributes[model.sensitive_attribute]
    found = [
        recount_classes(replace(records, population=table) if compares else records, model, sensitive)
        for table in tables
    ]
    if any((finding.holds, finding.observed) != (found[0].holds, found[0].observed) for finding in found):
        return _unproven(model, "it depends on the levels, which do not follow from the output; give the report")
    return found[0]


def suppressed_class(records: Records, job: Job, people: People | None, report: Mapping[str, Any] | None) -> Finding:
    """Judge all that the output shows by every model: suppressed records are one more class.

    Parameters
    ----------
    records : Records
        `Records.whole`.
    """
    found = [(model, judge(records, job, model, people, report)) for model in job.privacy]
    failing = [(model, finding) for model, finding in found if not finding.holds]
    texts = [Message(f"{model.model}: ", finding.message) for model, finding in failing]
    text = Message.joined("; ", texts) if texts else Message("the suppressed records satisfy every privacy model")
    is_told = not failing or any(finding.is_told for _, finding in failing)
    return Finding("suppressed-class", not failing, None, None, None, text, is_told=is_told)


def _unproven(model: Any, message: str) -> Finding:
    return Finding(model.model, holds=False, observed=None, required=None, column=None, message=Message(message))
