"""The settings that differ between two jobs: dotted keys with list positions, and both values as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_anon.plugin.page_forms.comparison import Difference

LONGEST = 200
"""Longest value in characters; longer ones are cut."""
NOTHING = object()


def differences(before: Any, after: Any) -> list[Difference]:
    """Return `key`, `before` and `after` of each setting that differs; a value is None if the key is missing."""
    return [
        {"key": key or "(everything)", "before": _written(old), "after": _written(new)}
        for key, old, new in _differing("", before, after)
    ]


def _differing(key: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            below = f"{key}.{name}" if key else str(name)
            yield from _differing(below, before.get(name, NOTHING), after.get(name, NOTHING))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differing(f"{key}[{place}]", old, new)
    elif before is NOTHING or after is NOTHING or not _same(before, after):
        yield key, before, after


def _same(before: Any, after: Any) -> bool:
    """Tell whether two values are the same in a job: Python takes 1, 1.0 and true as equal, a job does not."""
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def _written(value: Any) -> str | None:
    if value is NOTHING:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
