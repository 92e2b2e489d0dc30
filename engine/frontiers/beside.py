"""What a frontier is compared with: Safe Harbor, the policy in use, and the k-anonymity frontiers.

In: a job and the plane of its table. Out: the entries of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.frontiers.compare.entry import written_entry
from engine.frontiers.compare.k_anonymity import k_anonymity_frontiers
from engine.frontiers.compare.safe_harbor import safe_harbor_entry
from engine.frontiers.document import WrittenPolicy
from engine.frontiers.measures.plane import Plane
from engine.frontiers.report import Beside
from engine.frontiers.tonight import read_tonight
from engine.job.frontier_settings import FrontierSettings
from engine.job.job import Job
from engine.job.policy_file import read_policy


def beside(job: Job, plane: Plane) -> Beside:
    """Measure in a plane what the job's frontier is compared with."""
    return Beside(safe_harbor_entry(job, plane), _current(job, plane), _k_anonymity(job.frontier_settings, plane))


def _current(job: Job, plane: Plane) -> WrittenPolicy | None:
    """Return the policy in use: from the settings' file, or the one the job executes."""
    path = job.frontier_settings.current
    document = read_policy(path) if path is not None else job.policy
    if document is None:
        return None
    bits = read_tonight(job, plane, document).bits
    return written_entry(plane, bits, plane.at(bits))


def _k_anonymity(settings: FrontierSettings, plane: Plane) -> Mapping[int, Any]:
    if not settings.k_anonymity:
        return {}
    return k_anonymity_frontiers(plane.space, plane.table, settings.k_anonymity, plane.at)
