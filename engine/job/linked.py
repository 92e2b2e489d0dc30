"""A job of several tables that share their persons: what each table is, and what does not go with them.

In: the tables of a job. Out: the columns of all of them, as one table of records has them
(`engine.tables.sources.linked`), or why the job is refused. What is not yet defined over several tables is refused by
its name, before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field
from typing_extensions import Self

from engine.hierarchy.builders.flat import Flat
from engine.job.attribute import Attribute
from engine.job.source import Source
from engine.spec import Spec
from engine.tables.sources.linked_name import TABLE

_FORM = r"^[A-Za-z_][A-Za-z0-9_]{0,62}$"
_RESERVED = {"manifest", "data", "codebook", "report", "job", "readme", "validation"}
_LEAST = 2


class LinkedTable(Spec):
    """One of the tables of a job: where its records come from, and the role of each of its columns."""

    source: Source | None = Field(default=None, description="Where the records of this table come from.")
    attributes: dict[str, Attribute] = Field(
        min_length=1,
        description="Every column of this table by its name. A column that several tables have is the same in all.",
    )

    def resolved(self, base: Path) -> Self:
        """Make the paths of source and hierarchies absolute."""
        return self.model_copy(
            update={
                "source": self.source and self.source.resolved(base),
                "attributes": {name: one.resolved(base) for name, one in self.attributes.items()},
            }
        )


def joined_attributes(tables: Mapping[str, LinkedTable]) -> dict[str, Attribute]:
    """Return the columns of all tables, and that which says of which table a record is: exact, and without weight."""
    found: dict[str, Attribute] = {
        TABLE: Attribute(role="quasi-identifying", hierarchy=Flat(), weight=0.0, maximum_level=0)
    }
    for table in tables.values():
        for name, attribute in table.attributes.items():
            found.setdefault(name, attribute)
    return found


def check_linked(job: Any) -> None:
    """Refuse what a `Job` with several tables must not say.

    Raises
    ------
    ValueError
        Names the keys and the fix.
    """
    _check_names(job.tables)
    _check_columns(job)
    if job.subject is None:
        raise ValueError("tables: need a subject, the column that says in every table whose a record is")
    lacking = [name for name, table in job.tables.items() if job.subject not in table.attributes]
    if lacking:
        raise ValueError(
            f"subject: {job.subject!r} is no column of {', '.join(f'tables.{name}' for name in lacking)}, so that "
            "nobody can tell whose the records there are; add it to attributes there, and to the source"
        )
    _check_sources(job)
    foreign = list(_undefined(job))
    if foreign:
        raise ValueError(f"{'; '.join(foreign)}: is not defined for a job with tables; take it out")
    _check_keys(job)


def _check_names(tables: Mapping[str, LinkedTable]) -> None:
    if len(tables) < _LEAST:
        raise ValueError("tables: names one table; a job of one table has source and attributes instead")
    for name in tables:
        if not re.fullmatch(_FORM, name) or name.casefold() in _RESERVED:
            raise ValueError(
                f"tables: {name!r} is no name of a table; allowed are letters, digits and _, at most 63, not beginning "
                f"with a digit, and none of {', '.join(sorted(_RESERVED))}, which name files of a release"
            )
    if len({name.casefold() for name in tables}) < len(tables):
        raise ValueError("tables: two names differ only in case, so that one file would take the place of the other")


def _check_columns(job: Any) -> None:
    """Refuse columns of one name that are not the same in all tables."""
    first: dict[str, tuple[str, str, Attribute]] = {}
    for table, one in job.tables.items():
        for name, attribute in one.attributes.items():
            if name.casefold() == TABLE:
                raise ValueError(
                    f"tables.{table}.attributes.{name}: a job with tables has a column of this name of its own; rename "
                    "it in a query"
                )
            seen = first.setdefault(name.casefold(), (table, name, attribute))
            if seen[1] != name:
                raise ValueError(
                    f"tables.{table}.attributes.{name}: differs from {seen[1]!r} of tables.{seen[0]} only in case; "
                    "rename one of them in a query"
                )
            if seen[2] != attribute:
                raise ValueError(
                    f"tables.{table}.attributes.{name}: is not as in tables.{seen[0]}; levels agree over tables, so a "
                    "column of one name has one entry: write it alike, or rename one of them in a query"
                )
    for name, attribute in job.attributes.items():
        if attribute.nulls == "error" and not all(name in one.attributes for one in job.tables.values()):
            raise ValueError(
                f"attributes {name!r}: nulls: error goes only with a column that every table has; take it out"
            )


def _check_sources(job: Any) -> None:
    sources = {name: table.source for name, table in job.tables.items()}
    named = [source for source in sources.values() if source is not None]
    lacking = [name for name, source in sources.items() if source is None]
    if named and lacking:
        raise ValueError(f"{', '.join(f'tables.{name}.source' for name in lacking)}: is missing; name it there as well")
    if len({source.conn_id for source in named}) > 1:
        raise ValueError(
            "tables: their sources are in several places, so that nobody can read them at one time; name one conn_id "
            "for all, or paths for all"
        )


def _undefined(job: Any) -> Iterator[str]:
    """Name what is defined for one table only."""
    if not job.utility.knows_lacking:
        yield f"utility.measure: {job.utility.measure}"
    if job.backend not in {"auto", "arrow"}:
        yield f"backend: {job.backend}"
    if job.search.start is not None:
        yield "search.start"


def shared_keys(job: Any) -> list[str]:
    """Return the pseudonymized columns but the subject that several tables have: keys between them."""
    return [
        name
        for name in job.pseudonymized
        if name != job.subject and sum(name in table.attributes for table in job.tables.values()) > 1
    ]


def _check_keys(job: Any) -> None:
    """Refuse to leave out single records of a person where keys join the tables."""
    joining = [name for name in job.pseudonymized if sum(name in one.attributes for one in job.tables.values()) > 1]
    if not joining:
        return
    if not job.suppresses_persons:
        raise ValueError(
            f"knows: with any-row single records of a person are left out, and pseudonyms of "
            f"{', '.join(map(repr, joining))} join the tables, so that records would refer to some that are gone; set "
            "knows: all-rows or {rows: 2}, or leave action out there"
        )
    if job.max_rows is not None:
        raise ValueError(
            f"max_rows: leaves out single records, and pseudonyms of {', '.join(map(repr, joining))} join the tables, "
            "so that records would refer to some that are gone; take one of them out"
        )
