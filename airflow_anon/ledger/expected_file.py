"""A file of a release as its entry has it, and what may be found of it."""

from __future__ import annotations

from dataclasses import dataclass

MATCHES, CHANGED, MISSING, ADDED, UNREACHABLE = "matches", "changed", "missing", "added", "unreachable"


@dataclass(frozen=True)
class Expected:
    """A file in the entry; `size` in bytes, None if the entry has none."""

    name: str
    size: int | None
    sha256: str
