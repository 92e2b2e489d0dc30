"""The text of a first job file, with the reason of each role as a comment.

In: proposals, and where the table is. Out: YAML that holds no value of a record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from engine.draft.profile import Profile
from engine.draft.roles import SMALL_CLASS, Proposal, is_person, least_class

_HEAD = (
    "# Drafted by airflow-anon init from names, types and frequencies of the columns; it runs as it is. Read",
    "# each line, above all those that say 'decide', before anything is released: a program cannot know what",
    "# others know of a person. Columns that are 'identifying' are not released. docs/job-file.md has every key.",
)
_LARGE = 200_000
"""Transformations from which on the search gets a time limit."""
_SECONDS = 300
_DIVERSE = 3
"""Sensitive columns that get a privacy model; with many at once hardly any class holds all of them."""
_ONE_VALUE = 0.8
"""Share of the most frequent value from which on a class can seldom have two values."""


def job_text(
    name: str,
    source: Mapping[str, Any],
    output: Mapping[str, Any],
    made: Mapping[str, Proposal],
    found: Mapping[str, Profile],
    sizes: Sequence[int],
) -> str:
    """Write the job file.

    Parameters
    ----------
    sizes : sequence of int
        Number of levels of each quasi-identifier.
    """
    subject = next((one for one in found.values() if made[one.column].role == "identifying" and is_person(one)), None)
    lines = [
        *_HEAD,
        f"name: {_scalar(name)}",
        f"source: {_flow(source)}",
        *_counted(subject, made, found),
        "attributes:  # an unlisted column ends the run",
        *(_attribute(one) for one in made.values()),
        "privacy:",
        *_privacy(subject, made, found),
        "suppression_limit: 0.05  # at most this share of the records is suppressed",
        *_search(sizes),
        f"output: {_flow(output)}",
    ]
    if "conn_id" in source:
        lines.append('dag: {schedule: "@daily", retries: 1}')
    return "\n".join(lines) + "\n"


def linked_text(
    name: str,
    sources: Mapping[str, Mapping[str, Any]],
    output: Mapping[str, Any],
    made: Mapping[str, Mapping[str, Proposal]],
    persons: Profile,
    sizes: Sequence[int],
) -> str:
    """Write the job file of several tables that share their persons.

    Parameters
    ----------
    sources, made : mapping of table name
        Where each table is, and the proposals for its columns.
    persons : Profile
        Of the column that says whose a record is.
    sizes : sequence of int
        Number of levels of each quasi-identifier.
    """
    lines = [
        *_HEAD,
        f"name: {_scalar(name)}",
        f"subject: {_scalar(persons.column)}  # whose a record is, in every table: persons are counted, not records",
        "knows: {rows: 2}  # decide: what others may know of a person, in whichever tables; all-rows protects better",
        "tables:",
    ]
    for table, columns in made.items():
        lines += [f"  {table}:", f"    source: {_flow(sources[table])}"]
        lines += ["    attributes:  # an unlisted column ends the run"]
        lines += [f"    {_attribute(one)}" for one in columns.values()]
    lines += [
        "privacy:",
        *_privacy(persons, {}, {}),
        "suppression_limit: 0.05  # at most this share of the records is suppressed",
        *_search(sizes),
        f"output: {_flow(output)}",
    ]
    if any("conn_id" in source for source in sources.values()):
        lines.append('dag: {schedule: "@daily", retries: 1}')
    return "\n".join(lines) + "\n"


def _counted(subject: Profile | None, made: Mapping[str, Proposal], found: Mapping[str, Profile]) -> list[str]:
    if subject is not None:
        return [f"subject: {_scalar(subject.column)}  # whose a record is: persons are counted, not records"]
    hidden = [name for name, one in made.items() if one.role == "identifying"]
    if any(found[name].repeats for name in hidden):
        return [
            "unit: record  # decide: if a person can have several records, name the column that says whose a record is",
            "              # instead, as subject: COLUMN",
        ]
    return []


def _attribute(one: Proposal) -> str:
    return f"  {_scalar(one.column)}: {_flow(one.settings)}  # {one.reason}"


def _privacy(subject: Profile | None, made: Mapping[str, Proposal], found: Mapping[str, Profile]) -> Iterator[str]:
    counted = subject.distinct if subject is not None else next(iter(found.values())).records
    k = least_class(counted)
    of = "persons" if subject is not None else "records"
    small = "" if k == SMALL_CLASS else "; the table is small, a larger k protects better"
    yield f"  - {{model: k-anonymity, k: {k}}}  # nobody among fewer than {k} {of}{small}"
    given = 0
    for name, one in made.items():
        if one.role != "sensitive":
            continue
        line = f"- {{model: l-diversity, variant: distinct, attribute: {_scalar(name)}, l: 2}}"
        if given < _DIVERSE and found[name].largest_share <= _ONE_VALUE and found[name].distinct > 1:
            given += 1
            yield f"  {line}"
        else:
            why = "one value is very frequent" if found[name].largest_share > _ONE_VALUE else "each model costs detail"
            yield f"  # {line}  # decide: {why}"


def _search(sizes: Sequence[int]) -> list[str]:
    if math.prod(sizes) < _LARGE:
        return []
    return [f"search: {{time_limit_seconds: {_SECONDS}}}  # many transformations: the best found so far counts"]


def _flow(value: Any) -> str:
    """Write plain data in one line of YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value) if isinstance(value, str) else json.dumps(value)


def _scalar(text: str) -> str:
    """Write a text, in quotes where YAML would read something else."""
    plain = text.isascii() and text.replace("_", "").replace("-", "").isalnum() and text[0].isalpha()
    if plain and yaml.safe_load(text) == text:
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
