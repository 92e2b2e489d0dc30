"""A file of a release as its entry has it, and what may be found of it."""

from __future__ import annotations

from dataclasses import dataclass

from engine import MOST_OF_A_MANIFEST

MATCHES, CHANGED, MISSING, ADDED, UNREACHABLE = "matches", "changed", "missing", "added", "unreachable"


@dataclass(frozen=True)
class Expected:
    """A file in the entry; `size` in bytes, None if the entry has none."""

    name: str
    size: int | None
    sha256: str

    def fits(self, size: int) -> bool:
        """Whether a file of a size can be this one; no entry has that of its manifest."""
        return size <= MOST_OF_A_MANIFEST if self.size is None else size == self.size
