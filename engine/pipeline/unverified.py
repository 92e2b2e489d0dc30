"""From the source to an output that nobody has verified: count, search, write.

In: a job, its source, and the secrets of the run. Out: an `Output`, or the reason why there is none. What it held is
gone when it returns: the counts of the source take as much memory as those of the output, by which it is verified.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from engine.backends.backend import Backend
from engine.backends.warehouse import Warehouse
from engine.codebook.annotated import Annotations
from engine.errors import NoSolution
from engine.fingerprint_key import FingerprintKey
from engine.frontiers.document import Choice
from engine.job.counting import Counted, count, persons_inside
from engine.job.job import Job
from engine.job.open_series import SeriesRun
from engine.job.problem import problem_of, recoded_for
from engine.kernels.warm_up import Part, cache_warnings, warm_up
from engine.linter.columns import ColumnCounts
from engine.linter.document import Lint
from engine.linter.lint import lint_columns
from engine.pipeline.document import Statement
from engine.pipeline.drift import compared, drift_warnings
from engine.pipeline.given import Given
from engine.pipeline.lasting_classes import lasting
from engine.pipeline.measured import Measured, PersonsOut, measured_on_file, persons_out
from engine.pipeline.nights import Night, levels_before, night_of, with_gone
from engine.pipeline.no_solution import no_solution_text, nothing_left_text
from engine.pipeline.output import release_inside, transformation_of, written
from engine.pipeline.perturbed import with_perturbed_columns
from engine.pipeline.published import few_hidden
from engine.pipeline.replaced import (
    ages_on,
    replaced_stated,
    replaced_warnings,
    with_pseudonyms,
    with_shifted_dates,
)
from engine.pipeline.report import Found, further_rows, statement_of
from engine.pipeline.sample import refuse_small_sample, sample_stated, sample_warnings, sampled
from engine.pipeline.stable_levels import warm_start
from engine.pipeline.stopwatch import Stopwatch
from engine.pipeline.transformed import transformed_stated
from engine.search.problem import Problem, Progress, Solution
from engine.search.registry import method as find_method
from engine.search.suppressed_class import REFUSED, Outcome, is_uninformative, released
from engine.series.evidence import SeriesEvidence
from engine.series.proposal import Proposal
from engine.tables.altered.row_cap import RowsBeyond, capped
from engine.tables.counting.drift_facts import Facts
from engine.tables.sources.linked import refuse_shared_keys
from engine.tables.sources.linked_name import TABLE
from engine.tables.sources.table import Table
from engine.usefulness.document import Usefulness
from engine.usefulness.measure import usefulness


class Output(NamedTuple):
    """An output that is not verified, and what is stated of it; `measured` where few records are withheld.

    With a refusal there is none.
    """

    stated: Statement
    lint: Lint
    persons: PersonsOut | None
    measured: Measured | None
    refusal: str | None
    table: pa.Table | dict[str, pa.Table] | None = None
    usefulness: Usefulness | None = None
    evidence: SeriesEvidence | None = None
    proposal: Proposal | None = None
    facts: Facts | None = None


def unverified_output(
    backend: Backend,
    job: Job,
    choice: Choice | None,
    source: Table,
    given: Given,
    data: Path | None,
    series: SeriesRun | None,
    watch: Stopwatch,
) -> Output:
    """Count the source, search, and write the output."""
    warm_up_seconds = warm_up(*_kernels(job))
    whole = source if series is None else with_gone(job, source, series)
    read = _read(backend, job, whole, given, watch)
    drift = None if job.drift is None else compared(job, source.schema, read.counted.table)
    if drift is not None:
        read = read._replace(counted=read.counted._replace(table=drift.table))
    counted, problem, outcome, night, warnings = _searched(job, read.counted, given.progress, series, watch)
    refusal = _refusal(job, problem, outcome)
    if refusal is not None and data is not None:
        raise NoSolution(refusal)
    found = Found(outcome, problem.lattice.size, watch.seconds["search"], warm_up_seconds)
    warnings = [*warnings, *([] if refusal is None else [refusal]), *_left_out(job, outcome), *replaced_warnings(job)]
    warnings += sample_warnings(job)
    warnings += [] if drift is None else drift_warnings(drift.stated)
    warnings += cache_warnings()
    with watch.step("report"):
        stated: Statement = {**statement_of(job, counted.table, found, choice, warnings), "backend": backend.name}
        stated = {**stated, **replaced_stated(job, read.day), **transformed_stated(job), **sample_stated(job)}
        if night is not None:
            stated = {**stated, "series": night.stated}
        if drift is not None:
            stated = {**stated, "drift": drift.stated}
        if read.further is not None:
            stated = {**stated, "further_rows": further_rows(read.further.rows, counted.table.records)}
    persons = persons_out(counted.table, outcome, 0 if read.further is None else read.further.persons)
    if night is not None and persons is not None:
        # each has one record
        persons = persons._replace(in_all=night.left_out, gone=night.gone)
    few = few_hidden(job, stated, persons)
    measured = measured_on_file(job, counted.table, outcome) if any(few) else None
    output = Output(stated, read.lint, persons, measured, refusal)
    if refusal is not None:
        return output
    with watch.step("transform"):
        table = transformation = None
        shown = counted
        if isinstance(source, Warehouse):
            release_inside(job, counted, outcome, source)
        else:
            drawn = with_perturbed_columns(job, counted, outcome, given.secrets.rows)
            shown = counted._replace(records=with_pseudonyms(job, drawn, given.secrets.keys))
            transformation = transformation_of(job, shown, outcome, backend.placed)
            levels, day = stated["solution"]["levels"], dt.datetime.now(dt.timezone.utc).date()
            said = Annotations(job=job, levels=levels, release_id=given.release_id, day=day)
            table = written(job, shown.records, transformation, data, said)
    useful = None
    fingerprints = given.secrets.fingerprints
    if job.usefulness is not None and transformation is not None:
        with watch.step("usefulness"):
            useful = usefulness(
                job,
                job.usefulness,
                shown,
                transformation,
                None if outcome.solution.recoding is not None else outcome.solution.levels,
                dropped=outcome.form == "drop",
                # where the records left out are too few to be told, as if there had been none
                restricted=few.left_out,
                key=None if fingerprints is None else FingerprintKey(fingerprints).derived("usefulness"),
            )
    return output._replace(
        table=table,
        usefulness=useful,
        evidence=None if night is None else night.evidence,
        proposal=None if night is None else night.proposal,
        facts=None if drift is None else drift.facts,
    )


def _kernels(job: Job) -> Iterator[Part]:
    yield Part.SEARCH
    if job.subject is not None:
        yield Part.PERSONS
    if job.series is not None:
        yield Part.SERIES
    if job.recodes_locally:
        yield Part.RECODING


class _Read(NamedTuple):
    """What was read of the source: its counts, what the linter found, rows beyond `max_rows`, the day ages are of."""

    counted: Counted
    lint: Lint
    further: RowsBeyond | None
    day: dt.date


def _read(
    backend: Backend,
    job: Job,
    source: Table,
    given: Given,
    watch: Stopwatch,
) -> _Read:
    used = given.secrets
    with watch.step("encode"):
        columns = ColumnCounts(job)
        day = ages_on(job)
        shifted = with_shifted_dates(job, source, used.keys, day)
        shifted = sampled(job, shifted, used.rows)
        if isinstance(source, Warehouse):
            further = persons_inside(job, source)
            counted = count(job, source, backend=backend)
            columns.ask(source)
        else:
            rows, further = _capped(job, shifted, used.rows)
            # a series tells whose the records are once it is known who is released
            counted = count(job, rows, columns, backend, whose=job.series is None)
        refuse_small_sample(job, counted.table.records)
        refuse_shared_keys(counted.records, job.subject or "", job.joining_keys)
        # no figure of a differentially private release is of values that its labels hide
        variations = {} if job.is_private else columns.variations(counted.table)
        lint = lint_columns(job, source, variations, given.repeats, columns.kinds)
    return _Read(counted, lint, further, day)


class _Searched(NamedTuple):
    """What was found: the counts and the problem that the outcome is about, and what a series makes of it."""

    counted: Counted
    problem: Problem
    outcome: Outcome
    night: Night | None
    warnings: list[str]


def _searched(
    job: Job, counted: Counted, progress: Progress | None, series: SeriesRun | None, watch: Stopwatch
) -> _Searched:
    problem = problem_of(job, counted.table)
    with watch.step("search"):
        last = None if series is None else levels_before(job, series, problem)
        solution, warnings = _search(job, warm_start(problem, last), progress)
        if job.churn is not None:
            solution = lasting(job, problem, solution, progress)
        if job.recodes_locally:
            problem, solution = recoded_for(job, problem, solution)
            counted = counted._replace(table=problem.table)
    if series is None:
        return _Searched(counted, problem, released(problem, solution, job.prefers), None, warnings)
    with watch.step("series"):
        random = np.random.default_rng(secrets.randbits(128))
        night = night_of(job, series, counted, problem, solution, last, random)
    return _Searched(night.counted, replace(problem, table=night.counted.table), night.outcome, night, warnings)


def _search(job: Job, problem: Problem, progress: Progress | None) -> tuple[Solution, list[str]]:
    """Return the solution and its warnings for the report."""
    method = find_method(job.search.algorithm)
    started = time.monotonic()
    solution = method.run(problem, progress)
    seconds = time.monotonic() - started
    exact = method.is_exact(problem)
    if solution is None:
        raise NoSolution(no_solution_text(job, problem, exact=exact, seconds=seconds))
    return solution, [] if exact or solution.optimal else [_not_exact_text(job)]


def _not_exact_text(job: Job) -> str:
    models = ", ".join(model.describe() for model in job.counted_privacy)
    return (
        f"algorithm {job.search.algorithm} is not exact for {models} with measure {job.utility.measure} and "
        f"suppression_limit {job.suppression_limit:g}: another transformation may lose less; optimal is exact"
    )


def _refusal(job: Job, problem: Problem, outcome: Outcome) -> str | None:
    """Return why what was found must not be released."""
    if outcome.form == "refused":
        return REFUSED
    return (
        None
        if job.allow_empty_information or not is_uninformative(problem.table, outcome, but=_index(job))
        else nothing_left_text(job, problem)
    )


def _index(job: Job) -> frozenset[str]:
    """Return the column that says of which of several tables a record is: it tells nobody apart."""
    return frozenset() if job.tables is None else frozenset({TABLE})


def _left_out(job: Job, outcome: Outcome) -> list[str]:
    """Return a warning if the file lacks suppressed records that the job wants in it."""
    if outcome.form != "drop" or (job.output is not None and job.output.suppressed == "drop"):
        return []
    if job.quarantines:
        return ["the suppressed records are left out of the release: none that is quarantined is shown"]
    if job.suppresses_persons:
        text = (
            "the suppressed persons are left out of the release: with * in every quasi-identifier the number of their "
            "rows would be told"
        )
        return [text]
    text = (
        "the suppressed records are left out of the release: with * in every quasi-identifier they would be an "
        "equivalence class that fails a privacy model of the job"
    )
    return [text]


def _capped(job: Job, source: Table, key: bytes) -> tuple[Table, RowsBeyond | None]:
    """Return the rows that stay, and where the job limits the rows of a person, how many do not."""
    if job.subject is None or job.max_rows is None:
        return source, None
    return capped(source, job.subject, job.max_rows, key)
