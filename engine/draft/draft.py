"""Drafts the job file of a table: profiles ▶ proposals ▶ text, which is read again before it is returned.

In: a table, and where it is. Out: a `Draft`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.draft.omop import omop_proposals
from engine.draft.profile import Profile, profiles
from engine.draft.roles import Proposal, few, proposals, sensitive_as_quasi
from engine.draft.text import job_text
from engine.errors import InvalidData, InvalidJob
from engine.job.load import load_job
from engine.job.yaml_text import read_yaml
from engine.message import visible
from engine.tables.sources.source import open_data
from engine.tables.sources.table import Table

MOST_RECORDS = 200_000
"""Records that are read by default."""
_LONGEST_NAME = 100
_VALUE = re.compile(
    r"(?!(?:18|19|20)[0-9]{2}$)[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?|[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}|\S+@\S+\.\S+"
)


@dataclass(frozen=True)
class Draft:
    """A first job file.

    Attributes
    ----------
    text : str
        YAML; a valid job.
    name : str
    lines : list of str
        For whoever drafts: a line per column with its type, shares and role, without a value.
    is_partial : bool
        Whether there may be more records than were read.
    is_of_file : bool
        Whether the source is a file, from which no DAG extracts.
    """

    text: str
    name: str
    lines: list[str]
    is_partial: bool
    is_of_file: bool = False

    def write(self, target: Path) -> str:
        """Write the job file, and return what is said of it: of each column its profile, and no value.

        Raises
        ------
        InvalidJob
            Something is there already, or the folder is not.
        """
        check_target(target)
        with target.open("x", encoding="utf-8") as file:
            file.write(self.text)
        notes = ["there may be more records than were read; see --rows"] if self.is_partial else []
        if self.is_of_file:
            notes.append(
                "the source is a file: `airflow-anon run` makes its releases; a DAG extracts from a connection, so for "
                "nights load the table into a database, and draft with --conn"
            )
        after = f"drafted      {target}: read it, above all the lines that say 'decide'"
        return "\n".join([*self.lines, "", *notes, after])


def check_target(target: Path) -> None:
    """Refuse a place where a job file cannot be written, before the table is read.

    Raises
    ------
    InvalidJob
        Something is there, or the folder is not.
    """
    if target.exists():
        raise InvalidJob(f"{target}: is there already, and is not replaced; name another place with --output")
    if not target.resolve().parent.is_dir():
        raise InvalidJob(f"{target}: must be in a folder that exists")


def draft_job(
    table: Any,
    source: Mapping[str, Any],
    output: Mapping[str, Any],
    *,
    name: str,
    omop: str | None = None,
    most: int = MOST_RECORDS,
) -> Draft:
    """Draft the job file of a table.

    Parameters
    ----------
    table : Table, or as of `run`
    source, output : mapping
        Sections of the job file, as they are written there.
    name : str
        What the job is about, such as the name of the table; characters that names of jobs lack are replaced.
    omop : str, optional
        The name of the table in OMOP CDM 5.4, whose columns are then known.
    most : int
        Records that are read.

    Raises
    ------
    InvalidJob
        OMOP CDM has no such table.
    InvalidData
        The table has no column, no record, no header, or nothing that could be generalized.
    """
    opened: Table = table if hasattr(table, "batches") else open_data(table)
    columns = opened.schema.names
    if not columns:
        raise InvalidData("source: has no column that can be read; name another table, or ask for the right to read it")
    _refuse_no_header(columns)
    found = profiles(opened, columns, most)
    if not next(iter(found.values())).records:
        raise InvalidData("source: has no records, so nothing is known of its columns; draft the job once it has some")
    made = proposals(found) if omop is None else omop_proposals(omop, found)
    if not any(one.role == "quasi-identifying" for one in made.values()):
        made = sensitive_as_quasi(made)
    identity = job_name(name)
    text = job_text(identity, source, output, made, found, list(sizes_of(made)))
    load_job(read_yaml(text))
    is_partial = next(iter(found.values())).records >= most
    return Draft(text, identity, list(lines_of(made, found)), is_partial, "path" in source)


def job_name(name: str) -> str:
    """Return a name that a job may have."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:_LONGEST_NAME]
    return plain or "table"


def _refuse_no_header(columns: list[str]) -> None:
    # years are names of columns, in a table with a column per year
    like_values = sum(bool(_VALUE.fullmatch(column.strip())) for column in columns)
    if 2 * like_values > len(columns):
        # the names are not told: they are values of a record
        raise InvalidData(
            f"source: column names that look like values: {like_values} of {len(columns)}, so it seems to have no "
            "header; add one as the first line"
        )


def sizes_of(made: Mapping[str, Proposal]) -> Iterator[int]:
    """Yield the number of levels of each quasi-identifier.

    Raises
    ------
    InvalidData
        There is none.
    """
    quasi = {name: one.settings for name, one in made.items() if one.role == "quasi-identifying"}
    if not quasi:
        raise InvalidData(
            "source: every column looks like an identifier, is empty, or is nearly unique, so there is nothing to "
            "generalize; name a table with other columns, or write the job by hand"
        )
    job = load_job({"name": "sizes", "attributes": quasi, "privacy": [{"model": "k-anonymity", "k": 2}]})
    for name in job.quasi_identifiers:
        attribute = job.attributes[name]
        assert attribute.hierarchy is not None  # noqa: S101 (the job's own validation)
        yield attribute.hierarchy.level_count - attribute.minimum_level


def lines_of(made: Mapping[str, Proposal], found: Mapping[str, Profile]) -> Iterator[str]:
    """Yield the profile of each column, as a table of text."""
    rows = [("column", "type", "distinct", "missing", "role", "why")]
    rows += [
        (visible(name), _type(found[name]), few(found[name].distinct), _share(found[name]), one.role, one.reason)
        for name, one in made.items()
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


def _type(profile: Profile) -> str:
    return profile.type if profile.format in {None, "YYYY-MM-DD"} else f"date {profile.format}"


def _share(profile: Profile) -> str:
    share = profile.missing / profile.records
    return "none" if not profile.missing else "all" if share == 1 else f"{100 * share:.2g}%"
