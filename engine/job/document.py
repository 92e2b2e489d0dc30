"""The document of a job, plain data: what is left out of it, of columns and of the folders of the run's machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from engine.job.shared import PATHS


def tidied(attributes: dict[str, Any]) -> None:
    """Take out of entries of columns what their roles do not have."""
    for attribute in attributes.values():
        if attribute["role"] != "quasi-identifying" or "microaggregation" in attribute:
            attribute.pop("weight")
            attribute.pop("minimum_level")
            attribute.pop("unseen")
            if not attribute["missing"]:
                attribute.pop("missing")
        if attribute["role"] != "identifying" and attribute["action"] != "shift":
            attribute.pop("action")


def without_folders(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of a job in which no path says where files are on the machine of the run.

    Further shares are left out: whoever repeats the job has none of them.
    """
    found = _shortened(document, PATHS)
    if isinstance(found.get("output"), Mapping):
        found["output"] = {key: part for key, part in found["output"].items() if key != "also"}
    if isinstance(found.get("choose"), Mapping):
        found["choose"] = _shortened(found["choose"], ("from",))
    return found


def _shortened(document: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {
        key: _last_name(part) if key in keys and isinstance(part, str) else _shortened_part(part, keys)
        for key, part in document.items()
    }


def _shortened_part(part: Any, keys: Sequence[str]) -> Any:
    if isinstance(part, Mapping):
        return _shortened(part, keys)
    return [_shortened_part(item, keys) for item in part] if isinstance(part, list | tuple) else part


def _last_name(path: str) -> str:
    plain = path.removeprefix("file://")
    return PurePath(plain).name or "." if PurePath(plain).is_absolute() else path
