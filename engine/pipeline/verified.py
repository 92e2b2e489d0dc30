"""An output that is verified, and its report: everything of a run but its folder.

In: a job, its source, a backend. Out: `Verified`, or an error; what is written into the file `data` is then no release.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet

from engine.backends.backend import Backend
from engine.backends.warehouse import Warehouse
from engine.errors import VerificationFailed
from engine.frontiers.document import Choice
from engine.job.hierarchies_stated import hierarchies_stated
from engine.job.job import Job
from engine.job.open_series import SeriesRun
from engine.linter.document import Lint
from engine.linter.lint import warnings_of, with_classes
from engine.message import Message
from engine.pipeline.attribute_inference import attribute_inference
from engine.pipeline.document import PublishedReport, Report, SometimesStated, Statement
from engine.pipeline.given import Given
from engine.pipeline.output import classes_of_output, tables_stated
from engine.pipeline.published import published
from engine.pipeline.secrets_of_run import Secrets
from engine.pipeline.stopwatch import Stopwatch
from engine.pipeline.unverified import unverified_output
from engine.series.evidence import SeriesEvidence
from engine.series.proposal import Proposal
from engine.tables.class_table import ClassTable
from engine.tables.counting.drift_facts import Facts
from engine.tables.release.transform import accounted
from engine.tables.sources.table import Table
from engine.verification import Finding, verify


class Verified(NamedTuple):
    """A verified output; no table where it was written to a file, or, with the reason, must not be released.

    `classes` are those of what was released into a file.
    """

    table: pa.Table | dict[str, pa.Table] | None
    findings: list[Finding]
    report: Report
    published: PublishedReport
    refusal: str | None = None
    classes: ClassTable | None = None
    proposal: Proposal | None = None
    facts: Facts | None = None


def verified_output(
    backend: Backend,
    job: Job,
    choice: Choice | None,
    source: Table,
    given: Given,
    data: Path | None = None,
    series: SeriesRun | None = None,
) -> Verified:
    """Run all steps once; each step reads the results of earlier steps and changes none of them.

    The output is written to the file `data`, if given.
    """
    watch = Stopwatch()
    # before anything reads them, so that the verification finds one that changes during the run
    hierarchies = _hierarchies(job, given.secrets)
    output = unverified_output(backend, job, choice, source, given, data, series, watch)
    stated, findings, classes = cast("Statement", {**output.stated, **hierarchies}), [], None
    if output.refusal is not None:
        stated = _with_lint(job, stated, output.lint)
    else:
        with watch.step("verify"):
            classes = classes_of_output(job, source, data if output.table is None else output.table)
            inferred = attribute_inference(classes, job.minimum_class_size)
            stated = {**stated, **tables_stated(job, classes)}
            lint = with_classes(job, output.lint, classes)
            stated = {**_with_lint(job, stated, lint), "attribute_inference": inferred}
            findings = _verify(job, stated, classes, source, given.secrets, output.evidence)
        if output.usefulness is not None:
            stated = {**stated, "usefulness": output.usefulness}
    report: Report = {**stated, "timings": watch.seconds}
    return Verified(
        output.table,
        findings,
        report,
        published(job, report, output.measured, output.persons),
        output.refusal,
        # who reads a table inside a warehouse has no folder in which a codebook would be
        None if isinstance(source, Warehouse) else classes,
        output.proposal,
        output.facts,
    )


def _hierarchies(job: Job, used: Secrets) -> SometimesStated:
    """Return what the report says of the hierarchies; nothing without a key of fingerprints."""
    return {} if used.fingerprints is None else {"hierarchies": hierarchies_stated(job, used.fingerprints)}


def _with_lint(job: Job, stated: Statement, lint: Lint) -> Statement:
    """Add what the linter found; the texts are among the warnings."""
    warnings = [*stated.get("warnings", []), *warnings_of(job, lint)]
    return {**stated, "lint": lint, "warnings": warnings} if warnings else {**stated, "lint": lint}


def _verify(
    job: Job,
    stated: Statement,
    classes: ClassTable,
    source: Table,
    used: Secrets,
    series: SeriesEvidence | None = None,
) -> list[Finding]:
    drop = stated["suppressed_class"]["form"] == "drop"
    accounted(stated["rows"], stated["suppressed_class"]["records"], classes.rows, drop=drop)
    chosen_by: dict[str, Any] = {"rows_key": used.rows} if job.draws_rows else {}
    if used.keys.of_place:
        chosen_by |= {"keys": used.given, "release_key": used.release}
    if series is not None:
        chosen_by |= {"series": series}
    if used.fingerprints is not None:
        chosen_by |= {"fingerprint_key": used.fingerprints}
    findings = verify(classes, job, stated, source=source, **chosen_by)
    failed = [finding for finding in findings if not finding.holds]
    if failed:
        found = Message.joined("; ", (Message(f"{finding.check}: ", finding.message) for finding in failed))
        raise VerificationFailed(Message("the output was refused, nothing is released: ", found), list(findings))
    return findings
