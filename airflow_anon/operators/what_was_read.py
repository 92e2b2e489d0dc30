"""The note in `job.yaml` of a release on what its templated table or query was rendered to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import Job, write_manifest

JOB = "job.yaml"


def note_what_was_read(release: Path, job: Job, extracted: Any) -> str | None:
    """Add comments to `job.yaml` if something else was read than the words of the job; it stays the same job.

    Parameters
    ----------
    release : Path
        A complete release folder, which nobody else reads yet.
    extracted : mapping
        What ``extract`` returned; anything else, such as None, stands for nothing.

    Returns
    -------
    str or None
        The new SHA-256 of the manifest; None if nothing was changed.
    """
    read = extracted.get("read") if isinstance(extracted, Mapping) else None
    lines = _lines(job, read) if isinstance(read, Mapping) else []
    if not lines:
        return None
    with (release / JOB).open("a", encoding="utf-8") as file:
        file.writelines(f"# {_one_line(line)}\n" for line in lines)
    return write_manifest(release, {"name": job.name})


def _one_line(text: str) -> str:
    """Return a text that YAML takes for the rest of a comment."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _lines(job: Job, read: Mapping[str, Any]) -> list[str]:
    written = job.source
    lines = []
    if read.get("table") is not None and (written is None or read["table"] != written.table):
        lines.append(f"source.table was rendered to: {read['table']}")
    digest = read.get("query_sha256")
    if digest is not None and (written is None or digest != _sha256(written.query)):
        text = read.get("query") or "a text whose literals cannot be told from the rest"
        lines.append(f"source.query was rendered to, with '...' for its literals: {text}")
        lines.append(f"SHA-256 of the query with its literals: {digest}")
    return lines


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
