"""Labels and levels of an output: the values a column may have, by the definition of its hierarchy alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.message import Count, Message
from engine.tables.class_table import ClassTable
from engine.verification.finding import Finding
from engine.verification.records.kept import MARK

if TYPE_CHECKING:
    from engine.job.attribute import Attribute
    from engine.job.job import Job


def check_levels(job: Job, levels: Mapping[str, Any]) -> Finding:
    """Compare the levels of a report with the job's limits."""
    wrong = [name for name in job.quasi_identifiers if not is_allowed(job, name, levels.get(name))]
    message = "levels are within the job's limits" if not wrong else f"levels outside the job's limits: {wrong}"
    return Finding("levels", not wrong, None, None, None, Message(message))


def check_labels(kept: ClassTable, job: Job, levels: Mapping[str, int] | None) -> Iterator[Finding]:
    """Look up every kept value in its hierarchy: at its level or, without one, at any level the job allows.

    There is none without a report, and of a local recoding.
    """
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        allowed: Sequence[int] = allowed_levels(job, name) if levels is None else [levels[name]]
        values = kept.labels[name].present()
        wrong = sum(not any(is_label(attribute, value, level) for level in allowed) for value in values)
        message = Message.of(
            "distinct values that are not labels of {level}: {wrong}",
            wrong=Count(wrong),
            level="the levels allowed" if levels is None else "the chosen level",
        )
        yield Finding("labels", wrong == 0, wrong, 0, name, message)


def is_label(attribute: Attribute, value: str | None, level: int) -> bool:
    """Tell whether a value of an output can occur at a level; a missing value, if the job allows them.

    A value without an entry in the hierarchy has, with `unseen: root`, the label of the root at every level. A text
    that means a missing value is not a value itself.
    """
    if value is None:
        return attribute.nulls != "error"
    assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
    if attribute.hierarchy.is_label(value, level) and not (level == 0 and value in attribute.missing):
        return True
    return attribute.unseen == "root" and attribute.hierarchy.is_label(value, attribute.hierarchy.level_count - 1)


def is_root_reachable(job: Job, levels: Mapping[str, int] | None) -> bool:
    """Tell whether a kept record can be `*` in every quasi-identifier, as suppressed ones are.

    Parameters
    ----------
    levels : mapping of quasi-identifier to int, or None
        Of a local recoding None: a record has any of the levels that the job allows.
    """
    if levels is None:
        return all(
            any(is_label(job.attributes[name], MARK, level) for level in allowed_levels(job, name))
            for name in job.quasi_identifiers
        )
    return all(
        is_allowed(job, name, level) and is_label(job.attributes[name], MARK, level) for name, level in levels.items()
    )


def is_allowed(job: Job, name: str, level: Any) -> bool:
    """Tell whether the job allows a level of a quasi-identifier."""
    return isinstance(level, int) and level in allowed_levels(job, name)


def allowed_levels(job: Job, name: str) -> range:
    """Return the levels that the job allows for a quasi-identifier."""
    attribute = job.attributes[name]
    assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
    highest = attribute.hierarchy.level_count - 1
    if attribute.maximum_level is not None:
        highest = min(highest, attribute.maximum_level)
    return range(attribute.minimum_level, highest + 1)


def possible_levels(kept: ClassTable, job: Job) -> dict[str, list[int]]:
    """Return the allowed levels of each quasi-identifier at which every kept label can occur."""
    found = {}
    for name in job.quasi_identifiers:
        attribute, values = job.attributes[name], kept.labels[name].present()
        found[name] = [
            level for level in allowed_levels(job, name) if all(is_label(attribute, value, level) for value in values)
        ]
    return found


def combinations(levels: Mapping[str, Sequence[int]], at_most: int) -> list[dict[str, int]]:
    """Return one mapping of quasi-identifier to level for each choice, none if there are more than `at_most`."""
    chosen = [
        dict(zip(levels, choice, strict=True))
        for choice in itertools.islice(itertools.product(*levels.values()), at_most + 1)
    ]
    return chosen if len(chosen) <= at_most else []
