"""The suite of a job: the expectations that its release must meet.

In: the job, the report of its run, and the counts of the extraction. Out: a Great Expectations suite, the same for the
same input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from great_expectations import ExpectationSuite

from airflow_anon.expectations.choice import ExpectPolicyByRule, stated_choice
from airflow_anon.expectations.class_table import MARK
from airflow_anon.expectations.classes import ExpectClassesToHoldAtLeast
from airflow_anon.expectations.columns import ExpectOnlyReleasedColumns
from airflow_anon.expectations.figures import ExpectReportedFigures
from airflow_anon.expectations.information import ExpectSomethingToTellApart
from airflow_anon.expectations.labels import ExpectColumnValuesToBeLabels, allowed_levels, is_label
from airflow_anon.expectations.listed_people import listed_rows
from airflow_anon.expectations.persons import ExpectPersonsInEachClass
from airflow_anon.expectations.perturbed import ExpectDrawnValues
from airflow_anon.expectations.privacy_model import ExpectPrivacyModelToHold
from airflow_anon.expectations.replaced import ExpectReplacedColumns, pseudonym_keys
from airflow_anon.expectations.reported import Reported
from airflow_anon.expectations.rows import ExpectRowsAccountedFor
from airflow_anon.expectations.sample import drawn_rows
from airflow_anon.expectations.schema import ExpectDeclaredSchema
from airflow_anon.expectations.shifted import shift_settings
from airflow_anon.expectations.small_classes import ExpectOnlySmallClassesSuppressed, large_classes
from airflow_anon.expectations.source_records import staying_rows
from airflow_anon.expectations.source_settings import population_of, source_of
from airflow_anon.expectations.stated import FILES, is_number
from airflow_anon.expectations.suppression import ExpectSuppressionWithinLimit
from airflow_anon.expectations.traces import ExpectTracesToSatisfyModels
from airflow_anon.expectations.transformed import (
    ExpectCodedNumbers,
    ExpectGroupsOfAlikeRecords,
    ExpectOneAggregatePerClass,
    released_types,
)

if TYPE_CHECKING:
    from airflow_anon.expectations.base import ReleaseExpectation
    from engine import Job


def release_suite(
    job: Job,
    report: Mapping[str, Any],
    *,
    source_rows: int,
    source_types: Mapping[str, str] | None = None,
    source: str | None = None,
    rows_key: str | None = None,
    keys: Mapping[str, str] | None = None,
    traces: str | None = None,
) -> ExpectationSuite:
    """Build the suite of a release.

    Parameters
    ----------
    report : mapping
        The report of the run, as in `report.json`: the release is compared with its levels and counts.
    source_rows : int
        Number of extracted rows, from the extraction itself; of a job inside its warehouse those that stay of them.
    source_types : mapping of str to str, optional
        Arrow type, as text, of each column of the source.
    source : str, optional
        Local path of the extracted table; required for a job that releases a subset of it, may suppress only small
        classes, is differentially private, or counts persons.
    rows_key : str, optional
        The key by which the run left out rows of persons, drew a sample or perturbed columns, hexadecimal; required for
        a job with `max_rows` or `sample`, or with perturbed columns.
    keys : mapping of str to str, optional
        The secrets of pseudonyms and shifted dates, hexadecimal, by key of the job that names their place; required for
        a job that has them.
    traces : str, optional
        Local path of the traces of a job with a series (`written_traces`), for which it is required; then `source` has
        who is in the release, and no others.

    Raises
    ------
    ValueError
        The report has no solution, or one without the levels and counts of the job; or the job has a rule and the
        report has no choice; or a key is not given.
    InvalidJob
        The job has a rule, and the report names no policy that the job allows.
    InvalidData
        The file of the subset that is released cannot be read.
    """
    choice = list(_choice(job, report))
    job = job.as_run(report)
    reported = Reported.of(report, job)
    attributes = {name: _quasi_identifier(job, name) for name in job.quasi_identifiers}
    allowed = {name: _levels_of(job, name) for name in job.quasi_identifiers} if job.mixes_levels else None
    population = population_of(job, attributes, reported.levels or {}, source, allowed)
    drawn = None if job.sample is None or not job.is_private else {"fraction": job.sample.fraction, "key": rows_key}
    people = source_of(job, attributes, reported.levels or {}, source, shift_settings(job, report, keys or {}), drawn)
    if job.subject is not None and job.max_rows is not None and job.backend != "sql":
        source_rows = staying_rows(people, job.subject, job.max_rows)
    if drawn is not None:
        # further records were left out before anything was counted
        source_rows = sum(large_classes(people, job.minimum_class_size).values())
    elif job.sample is not None:
        source_rows = drawn_rows(source_rows, job.sample.fraction, rows_key)
    released = set(job.released)
    types = {name: kind for name, kind in (source_types or {}).items() if name in released}
    return ExpectationSuite(
        name=f"{job.name}-release",
        expectations=[
            *choice,
            *_structure(job, types),
            *_replaced(job, people, dict(keys or {})),
            *_transformed(job),
            *_perturbed(job, people, rows_key),
            *_labels(job, reported),
            *_counts(job, reported, source_rows, population),
            *_small_classes(job, reported, people),
            *_privacy(job, reported, population, people, rows_key),
            *_series(job, report, people, traces),
        ],
    )


def _choice(job: Job, report: Mapping[str, Any]) -> Iterator[ReleaseExpectation]:
    if job.choose is not None:
        rule = job.choose.model_dump(mode="json")
        figures = report.get("risk")
        risk = figures.get(job.frontier_settings.risk) if isinstance(figures, Mapping) else None
        yield ExpectPolicyByRule(
            rule={key: value for key, value in rule.items() if key != "from"},
            stated=stated_choice(report),
            released_risk=float(risk) if is_number(risk) else None,
        )


def _structure(job: Job, types: Mapping[str, str]) -> Iterator[ReleaseExpectation]:
    yield ExpectOnlyReleasedColumns(identifying=list(job.dropped), released=list(job.released))
    quasi = set(job.quasi_identifiers)
    types = {**released_types(job, types), **dict.fromkeys(job.pseudonymized, "string")}
    yield ExpectDeclaredSchema(
        columns=list(job.released),
        quasi_identifiers=list(job.quasi_identifiers),
        source_types={name: kind for name, kind in types.items() if name not in quasi},
    )


def _replaced(job: Job, source: dict[str, Any], keys: dict[str, str]) -> Iterator[ReleaseExpectation]:
    if job.pseudonymized or job.shifted:
        yield ExpectReplacedColumns(
            quasi_identifiers=list(job.quasi_identifiers),
            pseudonymized=list(job.pseudonymized),
            shifted=[name for name in job.shifted if name not in job.quasi_identifiers],
            keys=pseudonym_keys(job, keys),
            source=source,
        )


def _transformed(job: Job) -> Iterator[ReleaseExpectation]:
    quasi = list(job.quasi_identifiers)
    for name in job.coded:
        attribute = job.attributes[name]
        yield ExpectCodedNumbers(
            column=name,
            coding={} if attribute.coding is None else attribute.coding.model_dump(exclude_none=True),
            aggregate=attribute.microaggregation or "",
            quasi_identifiers=quasi,
        )
    for name in job.aggregated:
        if name not in job.grouped:
            yield ExpectOneAggregatePerClass(column=name, quasi_identifiers=quasi)
    if job.grouped:
        yield ExpectGroupsOfAlikeRecords(
            grouped=list(job.grouped), fewest=job.minimum_class_size, quasi_identifiers=quasi
        )


def _perturbed(job: Job, source: Mapping[str, Any], rows_key: str | None) -> Iterator[ReleaseExpectation]:
    for name in job.perturbed:
        attribute = job.attributes[name]
        yield ExpectDrawnValues(
            column=name,
            noise={} if attribute.noise is None else attribute.noise.model_dump(),
            pram={} if attribute.pram is None else attribute.pram.model_dump(),
            missing=list(attribute.missing),
            quasi_identifiers=list(job.quasi_identifiers),
            source=dict(source),
            sample=None if job.sample is None else job.sample.fraction,
            rows_key=rows_key or "",
        )


def _labels(job: Job, reported: Reported) -> Iterator[ReleaseExpectation]:
    for name in job.quasi_identifiers:
        yield ExpectColumnValuesToBeLabels(
            column=name,
            level=_allowed(job, name) if reported.levels is None else reported.levels[name],
            attribute=_quasi_identifier(job, name),
            quasi_identifiers=list(job.quasi_identifiers),
            marked=reported.marked,
        )


def _quasi_identifier(job: Job, name: str) -> dict[str, Any]:
    """Return the entry of a column in the job file."""
    return {**_entry(job, name), "hierarchy": _located(job, name)}


def _entry(job: Job, name: str) -> dict[str, Any]:
    """Return the entry of a column as the job's document has it: of linked tables that of a table that has it."""
    if job.tables is None:
        written: dict[str, Any] = job.document()["attributes"][name]
        return written
    entry: dict[str, Any] = job.attributes[name].model_dump(mode="json", exclude_none=True)
    return entry


def _located(job: Job, name: str) -> dict[str, Any]:
    """Return a hierarchy of the job; its document has paths relative to the job file."""
    hierarchy = job.attributes[name].hierarchy
    assert hierarchy is not None  # noqa: S101 (the job's own validation)
    located: dict[str, Any] = hierarchy.model_dump(mode="json", exclude_none=True)
    return located


def _counts(
    job: Job, reported: Reported, source_rows: int, population: Mapping[str, Any]
) -> Iterator[ReleaseExpectation]:
    listed = listed_rows(population)
    released = source_rows if listed is None else listed
    suppressed = released - reported.released if reported.suppressed is None else reported.suppressed
    yield ExpectRowsAccountedFor(
        source_rows=source_rows,
        reported_source_rows=source_rows if reported.source_rows is None else reported.source_rows,
        listed_rows=released,
        reported_rows=released if reported.rows is None else reported.rows,
        reported_suppressed=suppressed,
        suppressed=reported.how,
        released_rows=reported.released,
        below=reported.below or 0,
        below_of="records" if job.subject is None else "persons",
    )
    yield ExpectSuppressionWithinLimit(
        limit=job.suppression_limit,
        source_rows=released,
        reported_suppressed=suppressed,
        suppressed=reported.how,
        root_is_mark=_root_is_mark(job, reported.levels),
        quasi_identifiers=list(job.quasi_identifiers),
        below=reported.below or 0,
        below_of="records" if job.subject is None else "persons",
    )


def _small_classes(job: Job, reported: Reported, source: dict[str, Any]) -> Iterator[ReleaseExpectation]:
    if job.suppress == "small-classes" or job.is_private:
        yield ExpectOnlySmallClassesSuppressed(
            minimum=job.minimum_class_size,
            source=source,
            suppressed=reported.how,
            # those that are left out the report may withhold
            reported_suppressed=0 if reported.how == "drop" else reported.suppressed,
            quasi_identifiers=list(job.quasi_identifiers),
        )


def _series(
    job: Job, report: Mapping[str, Any], source: dict[str, Any], traces: str | None
) -> Iterator[ReleaseExpectation]:
    """Compare a release with the earlier ones of its series."""
    if job.series is None:
        return
    stated = report.get("series")
    if traces is None or not isinstance(stated, Mapping):
        raise ValueError(
            "series: the vault or the report says nothing of this release; run the de-identification again"
        )
    models = [_named(model.model_dump(mode="json", exclude_none=True)) for model in job.privacy]
    yield ExpectTracesToSatisfyModels(
        subject=str(job.subject),
        minimum=job.minimum_persons,
        quasi_identifiers=list(job.quasi_identifiers),
        models=models,
        compared=[model.model for model in job.privacy if model.compares_with_table],
        attributes={
            model["attribute"]: _sensitive(job, model["attribute"]) for model in models if "attribute" in model
        },
        source=source,
        traces=traces,
        departures=job.series.departures,
        values=job.series.values,
        figures=dict(stated),
    )


def _privacy(
    job: Job, reported: Reported, population: Mapping[str, Any], source: dict[str, Any], rows_key: str | None
) -> Iterator[ReleaseExpectation]:
    common = {"quasi_identifiers": list(job.quasi_identifiers), "marked": reported.marked}
    if not job.allow_empty_information:
        yield ExpectSomethingToTellApart(quasi_identifiers=list(job.quasi_identifiers), linked=job.tables is not None)
    # where persons are left out, models of sensitive values judge groups of them, which may have several classes; of
    # linked tables they judge only the classes of those that have the column
    least = job.minimum_persons if job.suppresses_persons or job.tables is not None else job.minimum_class_size
    yield ExpectClassesToHoldAtLeast(minimum=least, quasi_identifiers=list(job.quasi_identifiers))
    models = [_named(model.model_dump(mode="json", exclude_none=True)) for model in job.privacy]
    attributes = {model["attribute"]: _sensitive(job, model["attribute"]) for model in models if "attribute" in model}
    if job.subject is not None:
        yield ExpectPersonsInEachClass(
            subject=job.subject,
            minimum=job.minimum_persons,
            minimum_class_size=job.minimum_class_size,
            quasi_identifiers=list(job.quasi_identifiers),
            models=models,
            attributes=attributes,
            sensitive=list(job.sensitive),
            source=source,
            suppressed=reported.how,
            marked=reported.marked,
            figures=reported.figures,
            threshold=job.risk.threshold,
            max_rows=job.max_rows or 0,
            rows_key=rows_key or "",
            knows="some-rows" if isinstance(job.known, int) else job.known,
            known_rows=job.known if isinstance(job.known, int) else 0,
            tables={name: list(columns) for name, columns in job.released_of_tables.items()},
            below=reported.below or 0,
            reported_suppressed=reported.suppressed or 0,
        )
        return
    counted = {
        **common,
        "root_is_mark": _root_is_mark(job, reported.levels),
        # records that were left out are gone: the models judge the table that the file shows
        "reported_rows": reported.released,
        "reported_suppressed": 0 if reported.how == "drop" else reported.suppressed,
        "minimum_class_size": job.minimum_class_size,
    }
    for model in models:
        yield ExpectPrivacyModelToHold(
            model=model,
            attribute=attributes.get(model.get("attribute"), {}),
            population=population if FILES & set(model) else {},
            **counted,
        )
    yield ExpectReportedFigures(
        figures=reported.figures,
        models=models,
        attributes=attributes,
        sensitive=list(job.sensitive),
        risk=_risk(job),
        population=population,
        **counted,
    )


def _risk(job: Job) -> dict[str, Any]:
    settings: dict[str, Any] = job.risk.model_dump(mode="json", exclude_none=True, exclude={"population"})
    return settings if job.sampling_fraction is None else {**settings, "sampling_fraction": job.sampling_fraction}


def _named(model: dict[str, Any]) -> dict[str, Any]:
    """Return a model with the names of its files instead of their paths."""
    return {key: PurePath(value).name if key in FILES else value for key, value in model.items()}


def _sensitive(job: Job, name: str) -> dict[str, Any]:
    attribute = job.attributes[name]
    hierarchy = {} if attribute.hierarchy is None else {"hierarchy": _located(job, name)}
    order = {} if attribute.order is None else {"order": attribute.order}
    missing = {"missing": list(attribute.missing)} if attribute.missing else {}
    return {**order, **missing, **hierarchy}


def _allowed(job: Job, name: str) -> str:
    """Return the levels that the job allows for a column, in words."""
    levels = _levels_of(job, name)
    return f"{levels[0]} to {levels[-1]}"


def _levels_of(job: Job, name: str) -> range:
    hierarchy = job.attributes[name].hierarchy
    assert hierarchy is not None  # noqa: S101 (the job's own validation)
    return allowed_levels(job.document()["attributes"][name], hierarchy.level_count - 1)


def _root_is_mark(job: Job, levels: Mapping[str, int] | None) -> bool:
    """Return whether a kept record can be `*` in every quasi-identifier."""
    if levels is None:
        return all(any(_is_mark(job, name, level) for level in _levels_of(job, name)) for name in job.quasi_identifiers)
    return all(_is_mark(job, name, levels[name]) for name in job.quasi_identifiers)


def _is_mark(job: Job, name: str, level: int) -> bool:
    hierarchy = job.attributes[name].hierarchy
    assert hierarchy is not None  # noqa: S101 (the job's own validation)
    return level < hierarchy.level_count and is_label(_entry(job, name), hierarchy, MARK, level)
