"""Examples of the levels of a job's quasi-identifiers: the labels of one leaf, from the lowest level to the highest.

In: a job, and the report of its release if that is what is described. Out: plain data for a reader, such as "level 2 of
age: 30-39". No record is read: the leaf comes from the hierarchy's file or from its builder. A file that was changed
since the release was made may have a leaf that the release knows nothing of, such as a value of a new record.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.hierarchy.builder import HierarchyBuilder
from engine.job.hierarchies_stated import why_unknown
from engine.job.job import Job
from engine.job.load import load_job


def describe_levels(
    job: str | Path | Mapping[str, Any] | Job,
    report: Mapping[str, Any] | None = None,
    fingerprint_key: bytes | None = None,
) -> dict[str, dict[str, Any]]:
    """Describe the generalization levels of every quasi-identifier.

    Parameters
    ----------
    job : path, mapping or Job
        As of `load_job`.
    report : mapping, optional
        Of the release whose levels are described; if the job has a rule, they are those of the policy that it chose.
    fingerprint_key : bytes, optional
        The key that the release was made with, to tell whether its hierarchies are still those that the report states.

    Returns
    -------
    dict
        Attribute to `highest` (int, the index of the top level), `minimum` and `maximum` (int, the levels that the
        search may choose), `examples` (one label per level from 0 to `highest`). A label is None if the builder offers
        no value: at level 0 of a policy whose groups are nodes without listed values. `examples` is None if a file of
        the hierarchy cannot be read; then `highest` is None too if only this file defines it, and so is `maximum` if
        the job does not set it.

        Of a release, `examples` is None also where the hierarchy is not known to be the one that it was made with, and
        `highest` and `maximum` as well if the hierarchy has a file; then there is `examples_left_out`, which says why:
        `changed` or `not-compared`.

    Raises
    ------
    InvalidJob
        The job cannot be loaded, or the report names no policy although the job has a rule.
    """
    job = load_job(job)
    if report is not None:
        job = job.as_run(report)
    # read before it is compared: a file that changes in between is told as changed
    found = {name: _described(job, name) for name in job.quasi_identifiers}
    unknown = {} if report is None else why_unknown(job, report, fingerprint_key)
    for name, why in unknown.items():
        found[name] |= {"examples": None, "examples_left_out": why}
        attribute = job.attributes[name]
        if attribute.hierarchy is not None and attribute.hierarchy.file is not None:
            found[name] |= {"highest": None, "maximum": attribute.maximum_level}
    return found


def _described(job: Job, name: str) -> dict[str, Any]:
    attribute = job.attributes[name]
    assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
    highest = _highest(attribute.hierarchy)
    return {
        "highest": highest,
        "minimum": attribute.minimum_level,
        "maximum": highest if attribute.maximum_level is None else attribute.maximum_level,
        "examples": _examples(attribute.hierarchy),
    }


def _highest(hierarchy: HierarchyBuilder) -> int | None:
    try:
        return hierarchy.level_count - 1
    except EngineError:
        return None


def _examples(hierarchy: HierarchyBuilder) -> list[str | None] | None:
    try:
        return list(hierarchy.example())
    except EngineError:
        return None
