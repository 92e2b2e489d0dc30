"""Chooses a policy by a job's rule on the current table.

In: a job with a rule, and its source. Out: the same job with the policy in place of levels, and the choice for the
report. The frontier is searched now, or its policies come from an earlier report and are measured again: no figure of
another table decides. If the release of no policy meets the rule, nothing is released.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from engine.errors import InvalidJob, NoSolution
from engine.frontiers.by_rule import by_rule
from engine.frontiers.compare.rule import Candidate, Reference, eligible
from engine.frontiers.compare.safe_harbor import safe_harbor_entry
from engine.frontiers.document import Choice, Place, SafeHarborPolicy
from engine.frontiers.measures.plane import Plane
from engine.frontiers.no_policy import no_policy_text
from engine.frontiers.of_file import policy_of_file
from engine.frontiers.run import members_of, plane_of, searched
from engine.frontiers.space.policy import Policy
from engine.frontiers.space.stored import read_policies
from engine.frontiers.tonight import possible_tonight
from engine.job.frontier_settings import Rule
from engine.job.job import Job
from engine.search.problem import Progress
from engine.tables.sources.table import Table


def choose(job: Job, source: Table, progress: Progress | None = None) -> tuple[Job, Choice]:
    """Apply a job's rule.

    Returns
    -------
    Job
        A job that executes the chosen policy.
    Choice
        For the report.

    Raises
    ------
    InvalidJob, InvalidData
        The job, the report it names or the table is invalid.
    NoSolution
        No policy meets the rule; the message tells what hindered those that were tried.
    """
    started = time.perf_counter()
    rule = job.choose
    assert rule is not None  # noqa: S101 (the caller looked)
    plane = plane_of(job, source)
    safe_harbor = _safe_harbor(job, plane, rule)
    candidates = _candidates(job, plane, rule, progress)
    dominated = None if safe_harbor is None else Reference(safe_harbor["risk"], safe_harbor["utility_loss"])
    chosen = by_rule(job, rule, plane, candidates, dominated)
    if chosen.trial is None or chosen.bits is None:
        raise NoSolution(no_policy_text(rule, candidates, dominated, chosen.tried, plane.table.records))
    reference: Place | None = None
    if dominated is not None:
        reference = {"risk": dominated.risk, "utility_loss": dominated.utility_loss}
    told = policy_of_file(job, plane, chosen.bits, chosen.trial.suppressed)
    return job.with_policy(told, chosen=True), {
        "rule": dict(job.document()["choose"]),
        "risk": chosen.trial.risk,
        "utility_loss": chosen.trial.utility_loss,
        "safe_harbor": reference,
        "policies": len(candidates),
        "met": len(eligible(candidates, rule.maximum_risk, dominated)),
        "tried": chosen.tried,
        "seconds": time.perf_counter() - started,
    }


def _safe_harbor(job: Job, plane: Plane, rule: Rule) -> SafeHarborPolicy | None:
    if rule.dominates is None:
        return None
    if job.frontier_settings.safe_harbor is False:
        raise InvalidJob("choose.dominates: names safe-harbor, and frontier.safe_harbor is false; set it to true")
    return safe_harbor_entry(job, plane)


def _candidates(job: Job, plane: Plane, rule: Rule, progress: Progress | None) -> list[Candidate]:
    if rule.report is not None:
        policies = list(_of_report(job, plane, rule.report))
        return [Candidate(*plane.at(policy.bits), policy.bits) for policy in policies]
    return members_of(searched(job.frontier_settings, plane, progress))


def _of_report(job: Job, plane: Plane, path: str) -> Iterator[Policy]:
    """Yield the policies of an earlier report that can be executed on the current table."""
    _, documents = read_policies(path, f"choose.from: report {Path(path).name}")
    for document in documents:
        policy = possible_tonight(job, plane, document)
        if policy is not None:
            yield policy
