"""The static files of the pages: this package's, and the charting library of the installed plotly."""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent / "static"
LIBRARY = "plotly.min.js"
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Asset:
    """A file as sent."""

    content: bytes
    media_type: str
    etag: str

    @functools.cached_property
    def compressed(self) -> bytes:
        """The gzipped content, computed once: the charting library has megabytes."""
        return gzip.compress(self.content, 6)


@functools.cache
def asset(name: str) -> Asset | None:
    """Return a file by its name; None if there is none."""
    path = _paths().get(name)
    if path is None:
        return None
    content = path.read_bytes()
    return Asset(content, TYPES[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def version(name: str) -> str:
    """Return a text that changes with the content of a file."""
    found = asset(name)
    return "" if found is None else found.etag.strip('"')[:12]


@functools.cache
def library_styles() -> tuple[str, ...]:
    """Return the ids of the elements that keep the charting library from writing styles into a page.

    The library adds style sheets for maps, each with its hash as id; no page has maps, and the security policy forbids
    inline styles.
    """
    found = asset(LIBRARY)
    return (
        ()
        if found is None
        else tuple(
            name.decode() for name in sorted(set(re.findall(rb'getElementById\("([0-9a-f]{64})"\)', found.content)))
        )
    )


@functools.cache
def _paths() -> dict[str, Path]:
    import plotly  # noqa: PLC0415 (only pages with charts need it)

    own = {path.name: path for path in STATIC.iterdir() if path.suffix in TYPES}
    return {**own, LIBRARY: Path(plotly.__file__).parent / "package_data" / LIBRARY}
