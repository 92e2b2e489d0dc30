"""Checks everything a job demands of an output, on the output and, if the job has one, its population."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from engine.errors import EngineError, InvalidData, InvalidJob
from engine.message import Message
from engine.tables.class_table import ClassTable, count_classes
from engine.tables.sources.linked import linked_release
from engine.tables.sources.released import open_release
from engine.tables.sources.table import Table
from engine.verification.checks.balance import check_rows, check_suppression, drops
from engine.verification.checks.choice import check_choice
from engine.verification.checks.figures import malformed, recount_figures
from engine.verification.checks.hierarchies import check_hierarchies
from engine.verification.checks.information import check_information
from engine.verification.checks.judgement import judge, suppressed_class
from engine.verification.checks.labels import check_labels, check_levels, is_root_reachable
from engine.verification.checks.people import People, check_people, find_people
from engine.verification.checks.persons import check_persons
from engine.verification.checks.perturbed import check_perturbed
from engine.verification.checks.replaced import check_replaced, is_day
from engine.verification.checks.sample import check_sample
from engine.verification.checks.series import check_series, levels_released
from engine.verification.checks.small_classes import check_small_classes
from engine.verification.checks.stated import check_stated
from engine.verification.checks.tables import check_tables
from engine.verification.checks.transformed import check_transformed
from engine.verification.checks.utility import check_utility
from engine.verification.finding import Finding
from engine.verification.records.coded import CodedSource
from engine.verification.records.groups import GROUPS, with_groups
from engine.verification.records.kept import kept_records, starred_records
from engine.verification.records.known_keys import KnownKeys, known_keys
from engine.verification.records.linked import values_there
from engine.verification.records.population import open_source_of
from engine.verification.records.records import Records
from engine.verification.records.replaced import ShiftedSource, UnshiftedSource
from engine.verification.records.sensitive import SensitiveAttribute
from engine.verification.records.series import released_persons
from engine.verification.records.source_records import SourceRecords, source_records

if TYPE_CHECKING:
    from engine.job.job import Job
    from engine.series.evidence import SeriesEvidence

Report = Mapping[str, Any]
_CARRIED = {"identifying", "insensitive"}
"""Roles of columns that no criterion reads."""


def verify(
    table: Any,
    job: Job,
    report: Report | None = None,
    source: Any = None,
    rows_key: bytes | None = None,
    keys: Mapping[str, bytes] | None = None,
    release_key: bytes | None = None,
    series: SeriesEvidence | None = None,
    fingerprint_key: bytes | None = None,
) -> list[Finding]:
    """Check an output against its job.

    Parameters
    ----------
    table : pyarrow Table, RecordBatchReader, path of a release folder or of a Parquet file, mapping, or ClassTable
        What is, or would be, released; or its classes, counted by `class_table`. A reader or a file is read once, batch
        by batch: memory grows with the distinct tuples of labels and of sensitive values, not with the records. Of a
        job with tables a folder, or a mapping of their names to tables.
    report : mapping, optional
        The run's report: with it, labels must be of its levels, and its figures must equal the recounted ones.
    source : pyarrow Table, or anything else that can be run, optional
        The data that was de-identified, instead of the job's source file. It is read only for a job that releases a
        subset of it, because the source is then the population, for one that may suppress only small classes, for one
        that counts persons, whom only the source has, and for pseudonyms, shifted dates, and microaggregation.
    rows_key : bytes, optional
        The key by which the run left out rows of persons beyond `max_rows`, drew the sample, or perturbed columns;
        without it nobody knows which they were.
    keys : mapping of connection id to bytes, optional
        The keys that the job names by `key_conn_id`; those of its files are read.
    release_key : bytes, optional
        The key of the run's pseudonyms and shifted dates that are others in each release. Without a key, shifted dates
        are not shown and do not hold; of pseudonyms only the form is judged.
    series : SeriesEvidence, optional
        What the vault of a job with a series holds of the release and of those before it: of `series_evidence`. Without
        it nobody can tell who was released before.
    fingerprint_key : bytes, optional
        The key of fingerprints of whoever made the release: with it, hierarchies other than those of the release are
        refused, if its report has their digests. Without it the output is judged by those that the job has now.

    Returns
    -------
    list of Finding
        One per criterion, those that hold included. Structure and hierarchies come first; if one is wrong, nothing else
        is checked. A model whose population cannot be read does not hold.

    Raises
    ------
    InvalidJob
        The job is no `Job`.
    InvalidData
        The table is something else, or a file that cannot be read.
    """
    if isinstance(job, str | Path | Mapping):
        raise InvalidJob(f"job: is a {type(job).__name__}; give the Job that engine.load_job makes of it")
    release = table if isinstance(table, ClassTable) else release_of(job, table)
    columns = _columns(release.schema, job)
    if not columns.holds:
        return [columns]
    choice = check_choice(job, report)
    try:
        job = job.as_run(report or {})
    except InvalidJob as problem:
        message = Message("the policy that the job's rule chose is not known: ", problem.message)
        return [columns, Finding("policy", holds=False, observed=None, required=None, column=None, message=message)]
    findings = [columns, *([] if choice is None else [choice]), *_schema(release.schema, job)]
    broken = None if report is None else malformed(report, job.quasi_identifiers, local=job.mixes_levels)
    if broken is not None:
        findings.append(broken)
    findings += check_hierarchies(job, report, fingerprint_key)
    if not all(finding.holds for finding in findings):
        return findings
    if report is not None:
        findings.append(check_stated(release.schema, job, report))
    classes = release if isinstance(release, ClassTable) else class_table(release, job)
    known = known_keys(job, keys, release_key)
    return [*findings, *_content(classes, job, report, source, rows_key, known, series)]


def release_of(job: Job, release: Any) -> Table:
    """Open a release of a job; of linked tables a folder with a file for each, or a mapping of names to tables.

    Raises
    ------
    InvalidData
        It is something else, or a file that cannot be read; or a table of several has other columns than it must have.
    """
    if job.tables is None or callable(getattr(release, "batches", None)):
        return open_release(release)
    if not isinstance(release, str | Path | Mapping):
        raise InvalidData("release: give the folder of the release, or a mapping of the names of its tables to them")
    release = release if isinstance(release, Mapping) else Path(release)
    return linked_release(release, job.released_of_tables, job.released, job.quasi_identifiers)


def has_structure(schema: pa.Schema, job: Job) -> bool:
    """Tell whether a release has the columns of a job, in types that can be counted."""
    return _columns(schema, job).holds and all(finding.holds for finding in _schema(schema, job))


def class_table(release: Table, job: Job) -> ClassTable:
    """Count the classes of a release over its quasi-identifiers, and the values of its sensitive and replaced columns.

    Raises
    ------
    InvalidJob
        They do not fit into the job's memory limit.
    InvalidData
        It lacks one of these columns, or cannot be read.
    """
    replaced = dict.fromkeys((*job.pseudonymized, *job.shifted, *job.coded, *job.perturbed, *job.grouped))
    others = [name for name in replaced if job.attributes[name].role in _CARRIED]
    others += [name for name in job.aggregated if name not in {*job.sensitive, *others}]
    names = [*job.quasi_identifiers, *job.sensitive, *others]
    lacking = [name for name in names if name not in release.schema.names]
    if lacking:
        raise InvalidData(f"release: lacks the columns {', '.join(lacking)}; give what the job released")
    values = [*job.sensitive, *others]
    schema, batches = release.schema, release.batches(names)
    if job.grouped:
        others.append(GROUPS)
        values.append(GROUPS)
        schema, batches = schema.append(pa.field(GROUPS, pa.string())), with_groups(batches, job.grouped)
    counted = count_classes(schema, batches, job.quasi_identifiers, values, memory=job.memory_bytes)
    found = replace(counted, schema=release.schema)
    own = {name: values_there(found, job, name) for name in job.sensitive}
    return replace(found, sensitive=own, replaced={name: found.sensitive[name] for name in others})


def _content(
    table: ClassTable,
    job: Job,
    report: Report | None,
    source: Any,
    rows_key: bytes | None,
    keys: KnownKeys,
    series: SeriesEvidence | None,
) -> Iterator[Finding]:
    """Check the content of a table with the right structure; in a series, what it shows beside earlier releases too."""
    source = _with_coded_numbers(job, _with_shifted_dates(job, source, report, keys))
    records = None
    if job.series is not None:
        try:
            source = released_persons(job, source, series)
        except EngineError as problem:
            yield _uncounted(problem, is_told=False)
            yield from _alone(table, job, report, source, rows_key, keys, None)
            return
        assert series is not None  # noqa: S101 (else nobody is found)
        try:
            records = source_records(table, job, levels_released(job, report, source, series), source)
        except EngineError as problem:
            yield _uncounted(problem, is_told=True)
        else:
            yield from check_series(table, job, report or {}, source, records, series)
    yield from _alone(table, job, report, source, rows_key, keys, records)


def _uncounted(problem: EngineError, *, is_told: bool) -> Finding:
    message = Message("traces cannot be counted: ", problem.message)
    return Finding("series", False, None, None, None, message, is_told=is_told)


def _alone(
    table: ClassTable,
    job: Job,
    report: Report | None,
    source: Any,
    rows_key: bytes | None,
    keys: KnownKeys,
    of_source: SourceRecords | None,
) -> Iterator[Finding]:
    """Check what a release shows by itself; the source is as it was counted, and its records are given or read."""
    yield from check_replaced(table, job, report, source, keys)
    yield from check_transformed(table, job, report, source)
    yield from check_perturbed(table, job, report, source, rows_key)
    yield from check_sample(table, job, report, source, rows_key)
    levels = None if report is None else report["solution"]["levels"]
    fitting = None if levels is None else check_levels(job, levels)
    kept = _kept(table, job, report)
    if fitting is not None:
        yield fitting
    levels_hold = fitting is None or fitting.holds
    if levels_hold:
        yield from check_labels(kept, job, levels)
    yield check_suppression(table, job, report)
    told = check_information(table, job)
    if told is not None:
        yield told
    yield from check_tables(table, job, report)
    small = check_small_classes(table, job, report, source)
    if small is not None:
        yield small
    people = find_people(job, kept, levels, source, levels_hold=levels_hold)
    listed = _listed_rows(people)
    balance = check_rows(table, job, report, listed)
    if balance is not None:
        yield balance
    records = _records(table, kept, job, report, listed)
    stated = None if report is None or not _is_comparable(records, job, report) else report
    utility = check_utility(records, job, stated if levels_hold else None)
    if job.subject is not None:
        yield from check_persons(table, job, report, source, rows_key, of_source)
        yield from utility
        return
    if people is not None:
        yield from check_people(people, records, report)
    models = [judge(records, job, model, people, report) for model in job.privacy]
    yield from models
    starred = _has_suppressed_class(table, kept, report)
    if starred:
        yield suppressed_class(records.whole(), job, people, report)
    if stated is not None:
        yield from recount_figures(records, job, models, people, stated, starred=starred)
    yield from utility


def _with_shifted_dates(job: Job, source: Any, report: Report | None, keys: KnownKeys) -> Any:
    """Return the source as it was counted: with shifted dates, or, without their key, with dates that nobody reads."""
    stated = (report or {}).get("shift")
    if not job.shifted or not isinstance(stated, Mapping) or not is_day(stated.get("ages_on")):
        return source
    try:
        opened = open_source_of(job, source)
        if "shift" not in keys.of_place:
            return UnshiftedSource(job, opened, keys.why_not["shift"])
        return ShiftedSource(job, opened, keys.of_place["shift"], stated["ages_on"])
    except EngineError:
        return source  # what compares it says that it cannot be read


def _with_coded_numbers(job: Job, source: Any) -> Any:
    """Return the source as it was counted: with coded numbers."""
    if not job.coded:
        return source
    try:
        return CodedSource(job, open_source_of(job, source))
    except EngineError:
        return source  # what compares it says that it cannot be read


def _is_comparable(records: Records, job: Job, report: Report) -> bool:
    """Tell whether the output has as many kept records as the report says."""
    if drops(job, report) and "released" in report:
        return bool(records.kept_rows == report["released"])
    return bool(records.kept_rows == report["rows"] - report["suppressed_class"]["records"])


def _kept(table: ClassTable, job: Job, report: Report | None) -> ClassTable:
    """Return the records that are not suppressed.

    Records that are `*` throughout are suppressed, or are one class generalized to its root: the report decides which.
    Without a report, a table of only such records counts as suppressed if the job allows that.
    """
    if report is None:
        everything = starred_records(table) == table.rows and job.suppression_limit == 1
    elif drops(job, report):
        return table
    else:
        everything = report["suppressed_class"]["records"] == report["rows"]
        if report["suppressed_class"]["records"] == 0:
            return table
    if everything:
        return table.where(np.zeros(table.records.size, np.bool_))
    return table if drops(job, report) else kept_records(table)


def _has_suppressed_class(table: ClassTable, kept: ClassTable, report: Report | None) -> bool:
    """Tell whether suppressed records are in the output: if kept ones look alike, only the report knows."""
    return kept.rows < table.rows if report is None else bool(report["suppressed_class"]["form"] == "star")


def _records(table: ClassTable, kept: ClassTable, job: Job, report: Report | None, listed: int | None) -> Records:
    kept_rows = kept.rows
    if report is not None and not drops(job, report) and is_root_reachable(job, report["solution"]["levels"]):
        # kept records may look suppressed too; the report says how many records are suppressed
        kept_rows = max(0, table.rows - report["suppressed_class"]["records"])
    stated = report["rows"] if report is not None else listed
    # records that were left out are gone: the models judge the table that the file shows
    rows = table.rows if drops(job, report) else max(table.rows, stated or 0)
    return Records(
        table,
        kept,
        SensitiveAttribute(),
        kept_rows,
        rows,
        minimum_class_size=job.minimum_class_size,
    )


def _listed_rows(people: People | None) -> int | None:
    if people is None or people.population is None or people.population.listed is None:
        return None
    return people.population.listed.rows


def _columns(schema: pa.Schema, job: Job) -> Finding:
    identifying = {name.casefold() for name in job.dropped}
    present = [name for name in schema.names if name.casefold() in identifying]
    released, there = set(job.released), set(schema.names)
    foreign = [name for name in schema.names if name not in released and name not in present]
    unnamed = [str(len(foreign))] if foreign else []
    missing = [name for name in job.released if name not in there]
    twice = len(schema.names) - len(set(schema.names))
    problems = [
        f"{what}: {', '.join(names)}"
        for what, names in (
            ("identifying", present),
            ("not released by the job", unnamed),
            ("missing", missing),
        )
        if names
    ] + (["a name occurs twice"] if twice else [])
    return Finding(
        "columns",
        holds=not problems,
        observed=len(schema.names),
        required=len(job.released),
        column=None,
        message=Message("columns ", "are those the job releases" if not problems else "; ".join(problems)),
    )


def _schema(schema: pa.Schema, job: Job) -> Iterator[Finding]:
    for name in job.quasi_identifiers:
        kind = schema.field(name).type
        fits = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        message = Message(f"quasi-identifiers are text; {name!r} is {kind}")
        yield Finding("schema", fits, None, None, name, message)
    for name in job.pseudonymized:
        kind = schema.field(name).type
        message = Message(f"pseudonyms are text; {name!r} is {kind}")
        yield Finding("schema", pa.types.is_string(kind), None, None, name, message)
