"""The command `doctor`, the part that needs no Airflow: versions, the cache of compiled kernels, space.

In: this installation. Out: findings; nothing is changed.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from engine import __version__

_NEEDED = ("numba", "numpy", "plotly", "pyarrow", "pydantic")
_OPTIONAL = ("duckdb", "pandas", "pyspark", "scikit-learn")
_LEAST_SPACE = 2 * 10**9
"""Bytes free where a run keeps temporary files: below that a table of some ten million records may not fit."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; as text, one line."""

    state: Literal["ok", "warning", "problem"]
    what: str
    text: str

    @property
    def exit_code(self) -> int:
        """2 for a problem, else 0."""
        return 2 if self.state == "problem" else 0

    def __str__(self) -> str:
        return f"{self.state:8} {self.what}: {self.text}"


def is_airflow_there() -> bool:
    """Tell whether there is an Airflow to look at."""
    return all(importlib.util.find_spec(name) is not None for name in ("airflow_anon", "airflow"))


def engine_findings() -> Iterator[Finding]:
    """Look at the engine's part of the installation."""
    from engine.kernels.warm_up import cache_warnings  # noqa: PLC0415 (loads numba)

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", "airflow-anon", f"{__version__}, Python {python}, in {Path(__file__).parents[2]}")
    versions = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
    missing = [name for name in _NEEDED if versions[name] is None]
    listed = ", ".join(f"{name} {found or 'is missing'}" for name, found in versions.items())
    yield Finding("problem" if missing else "ok", "packages", listed)
    slow = cache_warnings()
    yield Finding("warning" if slow else "ok", "compiled kernels", slow[0] if slow else "are kept")
    yield space("temporary folder", Path(tempfile.gettempdir()))
    if not is_airflow_there():
        yield Finding("warning", "Airflow", "is not installed: jobs read files only; install airflow-anon[airflow]")


def space(what: str, folder: Path) -> Finding:
    """Look at a folder: whether it can be written, and how much is free."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(there).free
    text = f"{folder}, {free / 10**9:.1f} GB free"
    if free < _LEAST_SPACE:
        return Finding("warning", what, f"{text}; at least {_LEAST_SPACE / 10**9:.0f} GB are advised")
    return Finding("ok", what, text)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
