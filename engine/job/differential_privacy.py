"""A job with the model differential-privacy: what it must say, so that the guarantee is one of the whole release.

In: a job. Out: nothing, or why it is refused. The proof is of one mechanism: each record of one table is drawn at
random, goes to a class by its own values and levels that no data chose (or that were drawn within the budget before),
and all of the class is shown or nothing. What else a job can ask for is not part of it, so everything is refused but
what is listed here, also what jobs learn later.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from engine.errors import EngineError, InvalidJob
from engine.privacy.models.differential_privacy import DifferentialPrivacy
from engine.privacy.models.k_anonymity import KAnonymity

MOST_CANDIDATES = 4096
"""Combinations of levels that are compared at most: each is counted over the whole source."""
_FREE = {
    "name",
    "source",
    "attributes",
    "unit",
    "sample",
    "privacy",
    "allow_empty_information",
    "utility",
    "risk",
    "output",
    "recipient",
    "approval",
    "dag",
    "backend",
}
"""Keys of a job that may say anything: they decide nothing by the data, or are looked at below."""
_OF_COLUMN = {"role", "hierarchy", "weight", "minimum_level", "maximum_level", "missing", "unseen", "order"}
"""Keys of a quasi-identifying column that may say anything."""


def private_model(job: Any) -> DifferentialPrivacy | None:
    """Return the model of a `Job` that makes it differentially private; None without."""
    return next((model for model in job.privacy if isinstance(model, DifferentialPrivacy)), None)


def check_differential_privacy(job: Any) -> None:
    """Refuse what a `Job` with the model must not say, or must say and does not.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    model = private_model(job)
    if model is None:
        return
    problems = [*_problems(job, model), *_problems_of_columns(job), *_problems_of_levels(job, model)]
    if problems:
        raise ValueError("privacy: differential-privacy " + "; and ".join(problems))


def level_ranges(job: Any) -> dict[str, range]:
    """Return the levels that each quasi-identifier of such a job may have.

    Raises
    ------
    InvalidJob
        One is that of the root or above it, or a hierarchy has several roots, so that values without an entry have no
        label.
    """
    levels: dict[str, range] = {}
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        highest, last = attribute.maximum_level, attribute.hierarchy.level_count - 1
        if highest >= last:
            raise InvalidJob(_too_high(name, highest, last))
        if len({row[-1] for row in attribute.hierarchy.rows([])}) > 1:
            raise InvalidJob(
                f"attributes.{name}.hierarchy: ends in several labels, and values without an entry need one to become; "
                "add a level with one label, such as '*'"
            )
        levels[name] = range(attribute.minimum_level, highest + 1)
    return levels


def _problems(job: Any, model: DifferentialPrivacy) -> Iterator[str]:
    fraction = None if job.sample is None else job.sample.fraction
    if fraction != model.sampling_fraction:
        yield f"needs sample: {{fraction: {model.sampling_fraction:g}}}, its sampling_fraction; set both to the same"
    if job.unit != "record":
        yield "protects single records, not persons with several: say unit: record"
    beside = [one.model for one in job.privacy if not isinstance(one, DifferentialPrivacy | KAnonymity)]
    if beside:
        yield f"stands alone or beside k-anonymity: take {', '.join(beside)} out of privacy"
    if sum(isinstance(one, DifferentialPrivacy) for one in job.privacy) > 1:
        yield "is named twice; leave one of them"
    if job.risk.population is not None:
        yield "does not go with risk.population, whose figures are not of the release alone: take it out"
    fields = type(job).model_fields
    foreign = [key for key in fields if key not in _FREE and getattr(job, key) != fields[key].default]
    if foreign:
        yield f"does not go with {', '.join(foreign)}: take them out; what it promises is not proven with them"


def _problems_of_columns(job: Any) -> Iterator[str]:
    shown = [
        name
        for name, attribute in job.attributes.items()
        if attribute.role in {"sensitive", "insensitive"} or attribute.is_pseudonymized
    ]
    if shown:
        yield (
            f"is of all released columns: {_named(shown)} must be quasi-identifying, with a hierarchy, or identifying "
            "and dropped"
        )
    quasi = {name: one for name, one in job.attributes.items() if one.role == "quasi-identifying"}
    foreign = [f"attributes.{name}.{key}" for name, one in quasi.items() for key in _foreign(one)]
    if foreign:
        yield f"does not go with {', '.join(foreign)}: take them out"
    strict = [name for name, one in quasi.items() if one.unseen != "root"]
    if strict:
        yield (
            f"must not end or change by a value of one record: say unseen: root for {_named(strict)}, "
            "which then have '*' where a value has no entry"
        )


def _problems_of_levels(job: Any, model: DifferentialPrivacy) -> Iterator[str]:
    quasi = {name: job.attributes[name] for name in job.quasi_identifiers}
    free = [name for name, one in quasi.items() if one.maximum_level != one.minimum_level]
    endless = [name for name, one in quasi.items() if one.maximum_level is None]
    if free and not model.search_epsilon:
        yield (
            f"needs levels that are not chosen by the data: give {_named(free)} the same minimum_level and "
            "maximum_level, without having looked at the table, or a search_epsilon by which they are drawn"
        )
    elif endless:
        yield f"draws levels below the root: give {_named(endless)} a maximum_level"
    elif model.search_epsilon and not free:
        yield "has levels to draw, and each column has one: set search_epsilon: 0, or another maximum_level"
    elif model.search_epsilon:
        number = math.prod(one.maximum_level - one.minimum_level + 1 for one in quasi.values())
        if number > MOST_CANDIDATES:
            yield (
                f"draws levels of at most {MOST_CANDIDATES:,} combinations, and {number:,} are allowed: lower some "
                "maximum_level, or raise some minimum_level"
            )
    for name, one in quasi.items():
        last, highest = _last_level(one.hierarchy), one.maximum_level
        if last is not None and highest is not None and highest >= last:
            yield _too_high(name, highest, last)


def _foreign(attribute: Any) -> Iterator[str]:
    fields = type(attribute).model_fields
    yield from (key for key in fields if key not in _OF_COLUMN and getattr(attribute, key) != fields[key].default)
    if attribute.hierarchy is not None and attribute.hierarchy.builder == "policy":
        yield "hierarchy.builder policy"


def _last_level(hierarchy: Any) -> int | None:
    """Return the highest level; None where only a file tells it, which may be found later."""
    try:
        return None if hierarchy is None else int(hierarchy.level_count) - 1
    except EngineError:
        return None


def _named(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns))


def _too_high(name: str, level: int, last: int) -> str:
    return (
        f"attributes.{name}.maximum_level: is {level}, allowed is 0 to {last - 1}, below the root, at which a column "
        "tells nothing; lower it, or give the column the role identifying"
    )
