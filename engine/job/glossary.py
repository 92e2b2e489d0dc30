"""What privacy models and measures declare for pages that meet their names in a report.

In: the registries. Out: plain data by name. No page lists models or measures of its own.
"""

from __future__ import annotations

import functools
from typing import Any

from engine.job.frontier_measures import RISKS, UTILITIES
from engine.privacy.models.differential_privacy import DifferentialPrivacy
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
        one class, and `is_private` (bool), whether its releases are differentially private.
        `utility`: measure to `title` and `meaning` (str), and `is_share` (bool), whether it is from 0 to 1.
        `frontier_risk`, `frontier_utility`: measure of a frontier to `axis` and `short_axis` (str).
    """
    return {
        "privacy": _models(),
        "utility": {
            _name(kind, "measure"): {"title": kind.title, "meaning": kind.meaning, "is_share": kind.is_share}
            for kind in MEASURES
        },
        "frontier_risk": {name: words._asdict() for name, words in RISKS.items()},
        "frontier_utility": {name: words._asdict() for name, words in UTILITIES.items()},
    }


def _models() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    # a name may have several forms, of which one is enough
    for kind in MODELS:
        told = found.setdefault(_name(kind, "model"), {"observes_records": False, "is_private": False})
        told["observes_records"] |= kind.observes_records
        told["is_private"] |= issubclass(kind, DifferentialPrivacy)
    return found


def _name(kind: type[Spec], tag: str) -> str:
    name: str = kind.model_fields[tag].default
    return name
