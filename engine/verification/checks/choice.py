"""The rule by which a policy was chosen, compared with what a report says of the choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from engine.message import Message
from engine.verification.finding import Finding
from engine.verification.tolerance import TOLERANCE, is_number

if TYPE_CHECKING:
    from engine.job.job import Job


def check_choice(job: Job, report: Mapping[str, Any] | None) -> Finding | None:
    """Compare the choice that a report gives with the job's rule, or with the one that it names itself.

    Returns
    -------
    Finding or None
        None for a job without a rule, unless it has the policy that a rule chose, as the job of a release has, and the
        report says by which rule. The risk stated must be that of the release in the same report, which is recounted
        with the other figures. The utility loss depends on the source: it is compared with the rule as stated.
    """
    # a report may be anything: what is none of a run is told by another check
    choice = report.get("choice") if isinstance(report, Mapping) else None
    if job.choose is None and (job.policy is None or choice is None):
        return None
    if not isinstance(choice, Mapping):
        return _finding(holds=False, message="the job chooses a policy by a rule, and there is no report of the choice")
    stated = choice.get("rule")
    stated = stated if isinstance(stated, Mapping) else {}
    rule = {key: stated.get(key) for key in ("dominates", "maximum_risk")}
    own = rule if job.choose is None else {key: getattr(job.choose, key) for key in rule}
    highest = rule.get("maximum_risk")
    if rule != own or not (highest is None or is_number(highest)) or not _is_from(stated, job):
        return _finding(holds=False, message="the policy was chosen by another rule than the job's")
    released = report.get("risk") if isinstance(report, Mapping) else None
    risk = _figure(released, job.frontier_settings.risk) if isinstance(released, Mapping) else None
    told = _figure(choice, "risk")
    if risk is None or told is None or abs(told - risk) > TOLERANCE:
        return _finding(holds=False, message="the risk of the choice is not that of the release")
    # where few records are left out no loss is told, nor anything of Safe Harbor
    compared = rule["dominates"] is not None and choice.get("utility_loss") is not None
    meets = _is_low(choice, highest) and (not compared or _dominates(choice))
    return _finding(holds=meets, message=f"the policy stated {'meets' if meets else 'does not meet'} the rule")


def _is_from(stated: Mapping[str, Any], job: Job) -> bool:
    """Tell whether a rule names where its policies are from, by the name of the file, and nothing else."""
    place = stated.get("from")
    same = job.choose is None or (isinstance(place, str) and PurePath(place).name == PurePath(job.choose.source).name)
    return isinstance(place, str) and same and set(stated) <= {"from", "dominates", "maximum_risk"}


def _is_low(choice: Mapping[str, Any], maximum: float | None) -> bool:
    risk = _figure(choice, "risk")
    return maximum is None or (risk is not None and risk <= maximum)


def _dominates(choice: Mapping[str, Any]) -> bool:
    other = choice.get("safe_harbor")
    if not isinstance(other, Mapping):
        return False
    pairs = [(_figure(choice, key), _figure(other, key)) for key in ("risk", "utility_loss")]
    known = [(own, others) for own, others in pairs if own is not None and others is not None]
    if len(known) < len(pairs):
        return False
    return all(own <= others for own, others in known) and any(own < others for own, others in known)


def _figure(figures: Mapping[str, Any], key: str) -> float | None:
    value = figures.get(key)
    return float(value) if is_number(value) else None


def _finding(*, holds: bool, message: str) -> Finding:
    return Finding("choice", holds=holds, observed=None, required=None, column=None, message=Message(message))
