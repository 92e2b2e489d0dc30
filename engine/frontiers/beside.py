"""What a frontier is compared with: Safe Harbor, the policy in use, and the k-anonymity frontiers.

In: a job and the plane of its table. Out: the entries of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.frontiers.compare.k_anonymity import k_anonymity_frontiers
from engine.frontiers.compare.safe_harbor import SafeHarbor, kinds_of, populated_areas, safe_harbor
from engine.frontiers.document import ReportedPolicy, ReportedSafeHarbor
from engine.frontiers.measures.plane import Plane
from engine.frontiers.report import Beside, entry
from engine.frontiers.tonight import read_tonight
from engine.hierarchy.builders.zip import Zip
from engine.hierarchy.builders.zip_areas import SAFE_HARBOR, census_areas, file_areas
from engine.job.frontier_settings import FrontierSettings
from engine.job.job import Job
from engine.job.policy_file import read_policy


def beside(job: Job, plane: Plane) -> Beside:
    """Measure in a plane what the job's frontier is compared with."""
    return Beside(safe_harbor_entry(job, plane), _current(job, plane), _k_anonymity(job.frontier_settings, plane))


def safe_harbor_entry(job: Job, plane: Plane) -> ReportedSafeHarbor | None:
    """Return Safe Harbor as the report has it: the figures of the rule itself, and the policy that comes nearest."""
    found = _safe_harbor(job, plane)
    if found is None:
        return None
    return {**entry(plane, found.bits, plane.of_classes(found.classes)), "exact": found.is_exact}


def _safe_harbor(job: Job, plane: Plane) -> SafeHarbor | None:
    named = job.frontier_settings.safe_harbor
    if named is False:
        return None
    below = job.without_policy()
    builders = {name: below.attributes[name].hierarchy for name in below.quasi_identifiers}
    known = {name: builder for name, builder in builders.items() if builder is not None}
    kinds = kinds_of(known, named if isinstance(named, dict) else None)
    areas = [
        _areas(plane, place, known[domain.attribute])
        for place, domain in enumerate(plane.space.domains)
        if kinds.get(domain.attribute) == "zip"
    ]
    return safe_harbor(plane.space, kinds, frozenset.intersection(*areas) if areas else frozenset())


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


def _current(job: Job, plane: Plane) -> ReportedPolicy | None:
    """Return the policy in use: from the settings' file, or the one the job executes."""
    path = job.frontier_settings.current
    document = read_policy(path) if path is not None else job.policy
    if document is None:
        return None
    bits = read_tonight(job, plane, document).bits
    return entry(plane, bits, plane.at(bits))


def _k_anonymity(settings: FrontierSettings, plane: Plane) -> Mapping[int, Any]:
    if not settings.k_anonymity:
        return {}
    return k_anonymity_frontiers(plane.space, plane.table, settings.k_anonymity, plane.at)
