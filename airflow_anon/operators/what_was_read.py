"""The notes in `job.yaml` of a release or a frontier on what its templated tables or queries were rendered to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_anon.transport.release_files import JOB
from engine import Job, write_manifest


def note_what_was_read(release: Path, job: Job, extracted: Any, population_extracted: Any = None) -> str | None:
    """Add comments to `job.yaml` if something else was read than the words of the job; it stays the same job.

    Parameters
    ----------
    release : Path
        A complete release folder, which nobody else reads yet.
    extracted, population_extracted : mapping
        What ``extract`` and ``extract_population`` returned; anything else, such as None, stands for nothing.

    Returns
    -------
    str or None
        The new SHA-256 of the manifest; None if nothing was changed.
    """
    lines = notes_on_what_was_read(job, extracted, population_extracted)
    if not lines:
        return None
    with (release / JOB).open("a", encoding="utf-8") as file:
        file.write(lines)
    return write_manifest(release, {"name": job.name})


def notes_on_what_was_read(job: Job, extracted: Any, population_extracted: Any = None) -> str:
    """Return the comments, a line each; "" if the words of the job are what was read."""
    source, people = job.source, job.population_query
    lines = [
        *_lines("source", source and source.table, source and source.query, _read(extracted)),
        *_lines_of_tables(job, _read(extracted)),
        *_how(extracted),
        *_lines("frontier.population", people and people.table, people and people.query, _read(population_extracted)),
    ]
    return "".join(f"# {_one_line(line)}\n" for line in lines)


def _read(extracted: Any) -> Mapping[str, Any]:
    read = extracted.get("read") if isinstance(extracted, Mapping) else None
    return read if isinstance(read, Mapping) else {}


def _how(extracted: Any) -> list[str]:
    """Return what to say of a source that tells changes: whether all rows were read, and why."""
    how = extracted.get("incremental") if isinstance(extracted, Mapping) else None
    return [f"source: {how}"] if isinstance(how, str) else []


def _one_line(text: str) -> str:
    """Return a text that YAML takes for the rest of a comment."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _lines(key: str, table: str | None, query: str | None, read: Mapping[str, Any]) -> list[str]:
    """Return what to say of a table or query of the job, under its key; nothing if the job's own words were read."""
    lines = []
    if read.get("table") is not None and read["table"] != table:
        lines.append(f"{key}.table was rendered to: {read['table']}")
    digest = read.get("query_sha256")
    if digest is not None and digest != _sha256(query):
        text = read.get("query") or "a text whose literals cannot be told from the rest"
        lines.append(f"{key}.query was rendered to, with '...' for its literals: {text}")
        lines.append(f"SHA-256 of that query with its literals: {digest}")
    return lines


def _lines_of_tables(job: Job, read: Mapping[str, Any]) -> list[str]:
    """Return what to say of each of the linked tables."""
    told = read.get("tables")
    told = told if isinstance(told, Mapping) else {}
    found = []
    for name, table in (job.tables or {}).items():
        source = table.source
        of_table = told.get(name)
        words = of_table if isinstance(of_table, Mapping) else {}
        found += _lines(f"tables.{name}.source", source and source.table, source and source.query, words)
    return found


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
