"""The rule by which a policy was chosen, compared with what a report says of the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.message import Message
from engine.verification.finding import Finding
from engine.verification.tolerance import TOLERANCE, is_number

if TYPE_CHECKING:
    from engine.job.job import Job


def check_choice(job: Job, report: Mapping[str, Any] | None) -> Finding | None:
    """Compare the choice that a report gives with the job's rule.

    Returns
    -------
    Finding or None
        None for a job without a rule. The risk stated must be that of the release in the same report, which is
        recounted with the other figures. The utility loss depends on the source: it is compared with the rule as
        stated.
    """
    rule = job.choose
    if rule is None:
        return None
    choice = None if report is None else report.get("choice")
    if not isinstance(choice, Mapping):
        return _finding(holds=False, message="the job chooses a policy by a rule, and there is no report of the choice")
    stated = choice.get("rule")
    same = isinstance(stated, Mapping) and all(
        stated.get(key) == value for key, value in (("dominates", rule.dominates), ("maximum_risk", rule.maximum_risk))
    )
    if not same:
        return _finding(holds=False, message="the policy was chosen by another rule than the job's")
    released = report.get("risk") if report is not None else None
    risk = _figure(released, job.frontier_settings.risk) if isinstance(released, Mapping) else None
    own = _figure(choice, "risk")
    if risk is None or own is None or abs(own - risk) > TOLERANCE:
        return _finding(holds=False, message="the risk of the choice is not that of the release")
    # where few records are left out no loss is told, nor anything of Safe Harbor
    compared = rule.dominates is not None and choice.get("utility_loss") is not None
    meets = _is_low(choice, rule.maximum_risk) and (not compared or _dominates(choice))
    return _finding(holds=meets, message=f"the policy stated {'meets' if meets else 'does not meet'} the job's rule")


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
