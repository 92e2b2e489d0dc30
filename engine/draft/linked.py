"""Drafts the job file of several tables of OMOP CDM 5.4 that share their persons: a job with `tables`.

In: tables of the model by name, and where each is. Out: a `Draft`. A column that several tables have gets one entry,
from the first of them, since it is one column of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.draft.draft import MOST_RECORDS, Draft, job_name, lines_of, sizes_of
from engine.draft.omop import omop_proposals
from engine.draft.profile import Profile, profiles
from engine.draft.roles import Proposal, with_fewer_quasi
from engine.draft.text import linked_text
from engine.errors import InvalidData, InvalidJob
from engine.job.load import load_job
from engine.job.yaml_text import read_yaml
from engine.tables.sources.source import open_data
from engine.tables.sources.table import Table

PERSON = "person_id"
_LEAST = 2


def draft_linked_job(
    tables: Mapping[str, Any],
    sources: Mapping[str, Mapping[str, Any]],
    output: Mapping[str, Any],
    *,
    name: str,
    most: int = MOST_RECORDS,
) -> Draft:
    """Draft the job file of several tables of OMOP CDM 5.4.

    Parameters
    ----------
    tables : mapping of name in the model to Table, or as of `run`
    sources : mapping of the same names to mapping
        Section `source` of each, as it is written.
    output : mapping
        Section of the job file, as it is written.
    name : str
        See `draft_job`.
    most : int
        Records that are read of each table.

    Raises
    ------
    InvalidJob
        The model has no such table, or there is only one.
    InvalidData
        A table lacks the column of persons, or has no record; or nothing could be generalized.
    """
    if len(tables) < _LEAST:
        raise InvalidJob("--table: names one table; name several, with commas between them, for a job of linked tables")
    found = {table: _profiled(table, data, most) for table, data in tables.items()}
    lacking = [table for table, columns in found.items() if PERSON not in columns]
    if lacking:
        raise InvalidData(
            f"source: {', '.join(lacking)} lack the column {PERSON!r}, by which the tables belong together; leave them "
            "out"
        )
    joined: dict[str, Proposal] = {}
    for table, columns in found.items():
        for column, one in omop_proposals(table, columns).items():
            joined.setdefault(column, _generalized(one))
    persons = next(columns[PERSON] for columns in found.values())
    joined = with_fewer_quasi(joined, persons.distinct)
    identity = job_name(name)
    made = {table: {column: joined[column] for column in columns} for table, columns in found.items()}
    text = linked_text(identity, sources, output, made, persons, list(sizes_of(joined)))
    load_job(read_yaml(text))
    lines = [line for table, columns in found.items() for line in (f"{table}:", *lines_of(made[table], columns), "")]
    partial = any(next(iter(columns.values())).records >= most for columns in found.values())
    return Draft(text, identity, lines[:-1], partial)


def _profiled(table: str, data: Any, most: int) -> Mapping[str, Profile]:
    opened: Table = data if hasattr(data, "batches") else open_data(data)
    columns = opened.schema.names
    found = profiles(opened, columns, most) if columns else {}
    if not found or not next(iter(found.values())).records:
        raise InvalidData(f"source: {table} has no records, so nothing is known of its columns; leave it out")
    return found


def _generalized(one: Proposal) -> Proposal:
    """Generalize what a table is about: no model of linked tables limits what a class tells of it."""
    if one.role != "sensitive":
        return one
    kept = {"missing": one.settings["missing"]} if "missing" in one.settings else {}
    settings = {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, **kept}
    reason = "what the table is about, kept or removed: decide, and give a hierarchy of its values to keep more"
    return replace(one, settings=settings, reason=reason)
