"""What a report says of the release and of the job's privacy models beside its figures: readers take it from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from engine.message import Message
from engine.verification.finding import Finding
from engine.version import VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.job.job import Job

_OF_RUN = {"description", "holds", "observed", "required", "sense", "margin", "reference"}
"""Keys of an entry that are no parameters of its model."""
_FILES = {"population", "subset"}
"""Parameters that are paths: the same file has another one on each machine."""


def is_of_this_version(report: Mapping[str, Any]) -> bool:
    """Tell whether the words of a report are those of this version; another one describes the same in others."""
    versions = report.get("versions")
    return isinstance(versions, Mapping) and versions.get("airflow-anon") == VERSION


def check_stated(schema: pa.Schema, job: Job, report: Mapping[str, Any]) -> Finding:
    """Compare columns and privacy models with those that a report states, and what else it may tell with the job.

    Parameters
    ----------
    schema : pyarrow Schema
        Of the release; of linked tables the report states the columns of all.
    """
    wrong = [*_wrong_columns(schema, job, report), *_wrong_shares(job, report), *_wrong_models(job, report)]
    wrong += [*_wrong_identifiers(job, report), *_of_other_jobs(job, report)]
    text = f"the report says another thing of {', '.join(wrong)}" if wrong else "the report states columns and models"
    return Finding("report", not wrong, None, None, None, Message(text))


def _wrong_columns(schema: pa.Schema, job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    if report.get("columns") != (list(job.released) if job.tables is not None else schema.names):
        yield "columns"


def _wrong_shares(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name shares of a local recoding that are not one for each level; how they are rounded depends on the source."""
    for name, shares in report["solution"].get("shares", {}).items() if job.mixes_levels else ():
        hierarchy = job.attributes[name].hierarchy
        if hierarchy is not None and len(shares) != hierarchy.level_count:
            yield f"solution.shares.{name}"


def _wrong_identifiers(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name the list of identifying columns if it is not the job's; reports of earlier versions lack it."""
    stated = report.get("identifying", [])
    entries = [one if isinstance(one, Mapping) else {} for one in stated] if isinstance(stated, list) else [{}]
    told = [(one.get("column"), one.get("action")) for one in entries]
    if "identifying" in report and told != [(name, job.attributes[name].action) for name in job.identifying]:
        yield "identifying"


def _of_other_jobs(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name what only the reports of other jobs tell: of this one nothing is compared with it."""
    told = {
        # the job of the release has the policy in place of the rule that chose it, and no file of one
        "choice": job.policy is not None and job.search.file is None,
        "drift": job.drift is not None,
        "further_rows": job.max_rows is not None,
        "knows": job.subject is not None,
        "persons": job.subject is not None,
        "persons_suppressed_share": job.subject is not None,
        "policy": job.policy is not None,
        "population_rows": bool(job.population_files or job.population_query or job.subset),
        "sample": job.sample is not None,
        "series": job.series is not None,
        "shift": job.shift is not None,
        "tables": job.tables is not None,
        "transformed": bool(job.coded or job.aggregated or job.perturbed),
        "usefulness": job.usefulness is not None,
    }
    yield from (key for key, tells in told.items() if not tells and report.get(key) is not None)
    if job.policy is not None and report.get("policy") not in (None, job.policy):
        yield "policy"


def _wrong_models(job: Job, report: Mapping[str, Any]) -> Iterator[str]:
    """Name the entries that are not of the job's models: of a report without a list, each of them."""
    stated = report.get("privacy")
    stated = stated if isinstance(stated, list) else []
    reference = "released records" if report["suppressed_class"]["form"] == "drop" else "all records"
    same_words = is_of_this_version(report)
    for place, (entry, written) in enumerate(zip_longest(stated, job.document()["privacy"])):
        described = isinstance(entry, Mapping) and written is not None
        if not described or not _is_of(entry, job, place, written, reference, same_words=same_words):
            yield f"privacy.{place}"


def _is_of(
    entry: Mapping[str, Any], job: Job, place: int, written: Mapping[str, Any], reference: str, *, same_words: bool
) -> bool:
    """Tell whether an entry has the parameters of a model; a default may be left out, as earlier versions did."""
    counted, defaults = job.counted_privacy[place], type(job.privacy[place]).model_fields
    if "model" not in entry or (same_words and entry.get("description") != counted.describe()):
        return False
    if entry.get("reference") not in {None, reference if counted.compares_with_table else None}:
        return False
    further = [key for key in entry if key not in {*written, *_OF_RUN, *_FILES} and entry[key] is not None]
    unnamed = [key for key in _FILES if isinstance(entry.get(key), str) != (key in written)]
    return (
        not further
        and not unnamed
        and all(
            _is_same(entry.get(key, defaults[key].default), value)
            for key, value in written.items()
            if key not in _FILES
        )
    )


def _is_same(stated: Any, value: Any) -> bool:
    # true equals 1 and is no number
    return isinstance(stated, bool) == isinstance(value, bool) and bool(stated == value)
