"""What privacy models and measures declare for pages that meet their names in a report.

In: the registries. Out: plain data by name. No page lists models or measures of its own.
"""

from __future__ import annotations

import functools
from typing import Any

from engine.job.frontier_measures import RISKS, UTILITIES
from engine.privacy.registry import MODELS
from engine.spec import Spec
from engine.utility.registry import MEASURES


@functools.cache
def glossary() -> dict[str, dict[str, dict[str, Any]]]:
    """Return what is declared of each name that a job can give.

    Returns
    -------
    dict
        `privacy`: model to `observes_records` (bool), whether its observed figure counts the records, or the people, of
        one class. `utility`: measure to `title` and `meaning` (str), and `is_share` (bool), whether it is from 0 to 1.
        `frontier_risk`, `frontier_utility`: measure of a frontier to `axis` and `short_axis` (str).
    """
    counting = {_name(kind, "model") for kind in MODELS if kind.observes_records}
    return {
        "privacy": {name: {"observes_records": name in counting} for name in (_name(kind, "model") for kind in MODELS)},
        "utility": {
            _name(kind, "measure"): {"title": kind.title, "meaning": kind.meaning, "is_share": kind.is_share}
            for kind in MEASURES
        },
        "frontier_risk": {name: words._asdict() for name, words in RISKS.items()},
        "frontier_utility": {name: words._asdict() for name, words in UTILITIES.items()},
    }


def _name(kind: type[Spec], tag: str) -> str:
    name: str = kind.model_fields[tag].default
    return name
