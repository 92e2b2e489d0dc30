"""What a frontier is compared with: Safe Harbor, the policy in use, and the k-anonymity frontiers.

In: a job and the plane of its table. Out: the entries of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.frontiers.by_rule import by_rule
from engine.frontiers.compare.entry import written_entry
from engine.frontiers.compare.k_anonymity import k_anonymity_frontiers
from engine.frontiers.compare.rule import Candidate, Reference
from engine.frontiers.compare.safe_harbor import safe_harbor_entry
from engine.frontiers.document import SafeHarborPolicy, WrittenPolicy
from engine.frontiers.measures.plane import Plane
from engine.frontiers.report import Beside
from engine.frontiers.tonight import read_tonight
from engine.job.frontier_settings import FrontierSettings
from engine.job.job import Job
from engine.job.policy_file import read_policy


def beside(job: Job, plane: Plane, found: Sequence[Candidate]) -> Beside:
    """Measure in a plane what the job's frontier is compared with; `found` are the policies that the search found."""
    harbor = safe_harbor_entry(job, plane)
    return Beside(harbor, _current(job, plane, harbor, found), _k_anonymity(job.frontier_settings, plane))


def _current(
    job: Job, plane: Plane, harbor: SafeHarborPolicy | None, found: Sequence[Candidate]
) -> WrittenPolicy | None:
    """Return the policy in use: from the settings' file, the one the job executes, or the one its rule chooses now."""
    path = job.frontier_settings.current
    document = read_policy(path) if path is not None else job.policy
    if document is None:
        return _chosen(job, plane, harbor, found)
    bits = read_tonight(job, plane, document).bits
    return written_entry(plane, bits, plane.at(bits))


def _chosen(
    job: Job, plane: Plane, harbor: SafeHarborPolicy | None, found: Sequence[Candidate]
) -> WrittenPolicy | None:
    """Return what a run of the job would release by its rule from the policies of this search."""
    rule = job.choose
    # a rule on the policies of an earlier report does not look at these
    if rule is None or rule.report is not None or (rule.dominates is not None and harbor is None):
        return None
    dominated = None
    if rule.dominates is not None and harbor is not None:
        dominated = Reference(harbor["risk"], harbor["utility_loss"])
    bits = by_rule(job, rule, plane, found, dominated).bits
    return None if bits is None else written_entry(plane, bits, plane.at(bits))


def _k_anonymity(settings: FrontierSettings, plane: Plane) -> Mapping[int, Any]:
    if not settings.k_anonymity:
        return {}
    return k_anonymity_frontiers(plane.space, plane.table, settings.k_anonymity, plane.at)
