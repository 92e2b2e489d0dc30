"""The section `incremental` of a job: how the source tells which rows changed since last night.

In: a job. Out: nothing, or why it is refused. docs/incremental-nights.md says what is read and what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from typing_extensions import Self

from engine.spec import FileName, Spec

MOST_NIGHTS = 1000
LARGEST_MARK = 2**62


class IncrementalSettings(Spec):
    """Only rows that changed are read; the others are those of last night, which are kept in a private folder."""

    key: str = Field(min_length=1, description="Column that names a row: unique, never missing, numbers or text.")
    changed: str = Field(
        min_length=1,
        description="Column with a whole number or a moment that the warehouse raises whenever it writes a row; of the "
        "query, if there is one.",
    )
    query: str | None = Field(
        default=None,
        min_length=1,
        description="One SELECT of the log of changes: the key and `changed` of each row that was written or deleted.",
    )
    deleted: str | None = Field(
        default=None,
        min_length=1,
        description="Column that marks a row as deleted: true, a number but 0, or a moment. Such rows are not read.",
    )
    list_keys: bool = Field(
        default=False, strict=True, description="All keys are read each night, so that rows that are gone are seen."
    )
    overlap: int = Field(
        ge=0,
        le=LARGEST_MARK,
        strict=True,
        description="How far below the highest `changed` of last night rows are read again, in seconds or in numbers: "
        "more than the longest transaction takes, because what it writes is seen when it ends.",
    )
    kept_in: FileName = Field(description="Private folder (mode 0700) of the rows of last night; made if absent.")
    full_every: int = Field(
        default=7,
        ge=1,
        le=MOST_NIGHTS,
        strict=True,
        description="Each so many nights all rows are read, whatever the source tells.",
    )

    @model_validator(mode="after")
    def _sees_deletions(self) -> Self:
        named = [name for name in ("query", "deleted", "list_keys") if getattr(self, name)]
        if len(named) != 1:
            fault = "say one of these alone" if named else "rows that are deleted would stay"
            raise ValueError(
                f"{', '.join(named) or 'query, deleted, list_keys'}: {fault}; name a query of the log of changes, or a "
                "column under deleted, or say list_keys: true"
            )
        return self

    def resolved(self, base: Path) -> Self:
        """Make the path absolute."""
        return self.model_copy(update={"kept_in": str(base / self.kept_in)})


def check_incremental(job: Any) -> None:
    """Refuse what a `Job` that reads changes alone must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    settings = job.incremental
    if settings is None:
        return
    foreign = list(_foreign(job))
    if foreign:
        raise ValueError(f"{'; '.join(foreign)}: does not go with incremental; take it out")
    if job.source is None or job.source.conn_id is None:
        raise ValueError("incremental: a file does not tell what changed; name a conn_id under source, or take it out")
    columns = {"key": settings.key, "deleted": settings.deleted}
    if settings.query is None:
        columns["changed"] = settings.changed
    for name, column in columns.items():
        if column is not None and column not in job.attributes:
            raise ValueError(
                f"incremental.{name}: is {column!r}, must be a column of attributes; role identifying leaves it out of "
                "the release"
            )
    if settings.deleted is not None and job.attributes[settings.deleted].role != "identifying":
        raise ValueError(
            f"incremental.deleted: column {settings.deleted!r} says the same of all rows that are read; give it the "
            "role identifying, which leaves it out"
        )
    for place in () if job.output is None else job.output.folders:
        if place in (Path(settings.kept_in), *Path(settings.kept_in).parents):
            raise ValueError(
                "incremental.kept_in: must not be in the folder of the releases; name a private folder outside of it"
            )


def _foreign(job: Any) -> Iterator[str]:
    """Name what is not read row by row from one table."""
    if job.tables is not None:
        yield "tables"
    if job.backend == "sql":
        yield "backend: sql, which reads no row"
