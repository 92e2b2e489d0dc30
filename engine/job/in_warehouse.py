"""A job with `backend: sql`, whose records stay in their warehouse: what goes with it, and what does not yet.

In: a job. Out: nothing, or why it is refused. What is known to work is listed, so a key that is added to jobs later is
refused until somebody has made it work inside a warehouse too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.privacy.table_wide import TableWideModel

KEYS = frozenset(
    {
        "name",
        "source",
        "attributes",
        "unit",
        "subject",
        "knows",
        "max_rows",
        "privacy",
        "suppression_limit",
        "allow_empty_information",
        "utility",
        "search",
        "risk",
        "output",
        "dag",
        "backend",
        "memory_limit",
    }
)
ATTRIBUTE_KEYS = frozenset(
    {
        "role",
        "hierarchy",
        "weight",
        "minimum_level",
        "maximum_level",
        "nulls",
        "missing",
        "unseen",
        "order",
        "accept",
    }
)


def check_in_warehouse(job: Any) -> None:
    """Refuse what a `Job` with backend sql must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    if job.backend != "sql":
        return
    foreign = list(foreign_keys(job, KEYS, ATTRIBUTE_KEYS))
    if foreign:
        raise ValueError(
            f"{', '.join(foreign)}: backend sql does not do that inside a warehouse; take it out, or set backend: auto"
        )
    if job.source is None or job.source.conn_id is None:
        raise ValueError("backend: sql needs a source with a conn_id; set backend: auto to read files")
    if job.output is None or job.output.conn_id != job.source.conn_id:
        raise ValueError(
            f"output: backend sql needs a table over the connection of the source, conn_id {job.source.conn_id!r}, "
            "because no record leaves its database; set backend: auto to copy the release elsewhere"
        )
    if job.output.path is not None:
        raise ValueError(
            "output.path: backend sql writes no file of records; take it out, or set backend: auto to release files"
        )


def foreign_keys(job: Any, keys: frozenset[str], attribute_keys: frozenset[str]) -> Iterator[str]:
    """Name what is set and is not known to work where nobody reads the source record by record.

    Parameters
    ----------
    keys, attribute_keys : frozenset of str
        Keys of the job, and of its attributes, that are known to work.
    """
    yield from _beyond(job, keys, "")
    for name, attribute in job.attributes.items():
        yield from _beyond(attribute, attribute_keys, f"attributes.{name}.")
    for position, model in enumerate(job.privacy):
        if isinstance(model, TableWideModel):
            yield f"privacy.{position}: {model.model}, which suppresses by the order of the records"
        elif model.subset_file is not None:
            yield f"privacy.{position}: {model.model} with a subset, which is found record by record"


def _beyond(part: Any, keys: frozenset[str], prefix: str) -> Iterator[str]:
    for name, field in type(part).model_fields.items():
        if name not in keys and getattr(part, name) != field.get_default(call_default_factory=True):
            yield prefix + name
