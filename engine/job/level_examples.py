"""Examples of the levels of a job's quasi-identifiers: the labels of one leaf, from the lowest level to the highest.

In: a job. Out: plain data for a reader, such as "level 2 of age: 30-39". No record is read: the leaf comes from the
hierarchy's file or from its builder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.hierarchy.builder import HierarchyBuilder
from engine.job.job import Job, load_job


def describe_levels(job: str | Path | Mapping[str, Any] | Job) -> dict[str, dict[str, Any]]:
    """Describe the generalization levels of every quasi-identifier.

    Parameters
    ----------
    job : path, mapping or Job
        As of `load_job`.

    Returns
    -------
    dict
        Attribute to `highest` (int, the index of the top level), `minimum` and `maximum` (int, the levels that the
        search may choose), `examples` (one label per level from 0 to `highest`). A label is None if the builder offers
        no value: at level 0 of a policy whose groups are nodes without listed values. `examples` is None if a file of
        the hierarchy cannot be read; then `highest` is None too if only this file defines it, and so is `maximum` if
        the job does not set it.

    Raises
    ------
    InvalidJob
        The job cannot be loaded.
    """
    job = load_job(job)
    found = {}
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
        highest = _highest(attribute.hierarchy)
        found[name] = {
            "highest": highest,
            "minimum": attribute.minimum_level,
            "maximum": highest if attribute.maximum_level is None else attribute.maximum_level,
            "examples": _examples(attribute.hierarchy),
        }
    return found


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
