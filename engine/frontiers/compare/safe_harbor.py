"""Safe Harbor beside a frontier: measured in the plane of a job's table.

In: a job and a plane. Out: the entry of the report, with the figures of the rule itself and the policy that comes
nearest to it (`safe_harbor_rule`).
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from engine.frontiers.compare.entry import written_entry
from engine.frontiers.compare.safe_harbor_rule import SafeHarbor, kinds_of, populated_areas, safe_harbor
from engine.frontiers.document import SafeHarborPolicy
from engine.frontiers.measures.plane import Plane
from engine.hierarchy.builders.zip import Zip
from engine.hierarchy.builders.zip_areas import SAFE_HARBOR, census_areas, file_areas
from engine.job.job import Job


def safe_harbor_entry(job: Job, plane: Plane) -> SafeHarborPolicy | None:
    """Return Safe Harbor as the report has it: the figures of the rule itself, and the policy that comes nearest."""
    settings = job.frontier_settings
    if settings.safe_harbor is False:
        return None
    ages_on = settings.ages_on or dt.datetime.now(dt.timezone.utc).date()
    found = _safe_harbor(job, plane, ages_on)
    figures = written_entry(plane, found.bits, plane.of_classes(found.classes))
    return {**figures, "exact": found.is_exact, "ages_on": ages_on.isoformat()}


def _safe_harbor(job: Job, plane: Plane, ages_on: dt.date) -> SafeHarbor:
    named = job.frontier_settings.safe_harbor
    below = job.without_policy()
    builders = {name: below.attributes[name].hierarchy for name in below.quasi_identifiers}
    known = {name: builder for name, builder in builders.items() if builder is not None}
    kinds = kinds_of(known, named if isinstance(named, dict) else None)
    areas = [
        _areas(plane, place, known[domain.attribute])
        for place, domain in enumerate(plane.space.domains)
        if kinds.get(domain.attribute) == "zip"
    ]
    return safe_harbor(plane.space, kinds, frozenset.intersection(*areas) if areas else frozenset(), ages_on)


def _areas(plane: Plane, place: int, builder: Any) -> frozenset[str]:
    """Return the three-digit areas that are released: by the builder, the population or the census of 2020."""
    if isinstance(builder, Zip):
        least = max(builder.smallest_population, SAFE_HARBOR)
        if builder.populations is not None:
            return file_areas(builder.populations, least)
        return census_areas(builder.census, least)
    table = plane.table
    if table.population is not None:
        return populated_areas(plane.space.domains[place], table.codes[place], table.population)
    return census_areas(2020, SAFE_HARBOR)
