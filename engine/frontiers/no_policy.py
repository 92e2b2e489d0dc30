"""Why no policy meets a rule: how near the policies come to it, and what hindered those that were tried.

In: the rule, the policies with their figures, and the number of records. Out: a message with few digits, as all that is
told of the source: the least risk is most often that of one group of all records, 1 divided by their number, so that
with all digits it tells how few records a later release of the same table leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.frontiers.compare.rule import Candidate, Reference, dominates
from engine.frontiers.document import Tried
from engine.frontiers.published import MOST_DIGITS, digits_of_source, next_power_of_ten, significant
from engine.job.frontier_settings import Rule

FEWEST_RECORDS = 100
"""Records from which on a step of one digit is ten times what one of them moves."""
_HINDRANCES = {
    "levels": "go below a minimum_level, beyond a maximum_level, or do not fit some values",
    "privacy": "fail the privacy models within suppression_limit",
    "nothing-left": "leave nothing to tell apart, which allow_empty_information: true would allow",
    "risk": "have a higher risk",
    "dominates": "do not dominate Safe Harbor",
}
"""What the policies do that are hindered by something, by its key in the report."""


def no_policy_text(
    rule: Rule, candidates: Sequence[Candidate], dominated: Reference | None, tried: Tried, records: int
) -> str:
    """Return why nothing is released, and what may be changed.

    Parameters
    ----------
    dominated : Reference, optional
        What the rule's `dominates` names.
    records : int
        Of the table.
    """
    near = _near(rule.maximum_risk, candidates, dominated, records)
    counted = ", ".join(f"{_number(number)} {_HINDRANCES[key]}" for key, number in tried["hindered"].items())
    return (
        f"choose: no policy {rule.describe()} when it is released (before suppression {near}; of "
        f"{_number(tried['policies'])} tried: {counted or 'none'}); allow a higher maximum_risk, leave out dominates, "
        "raise suppression_limit, choose a weaker model, or raise frontier.policies"
    )


def _near(
    maximum_risk: float | None, candidates: Sequence[Candidate], dominated: Reference | None, records: int
) -> str:
    parts = []
    number = _number(len(candidates))
    if maximum_risk is not None:
        least = min((candidate.risk for candidate in candidates), default=None)
        within = sum(candidate.risk <= maximum_risk for candidate in candidates)
        least_text = "" if least is None else _risk(", the least risk is about {}", least, records)
        parts.append(f"{_number(within)} of {number} policies have a risk of at most {maximum_risk:g}{least_text}")
    if dominated is not None:
        better = sum(dominates(candidate, dominated) for candidate in candidates)
        risk_text = _share(dominated.risk, records)
        parts.append(f"{_number(better)} of {number} dominate Safe Harbor{risk_text}")
    return "; ".join(parts)


def _number(policies: int) -> str:
    """Say a number of policies, which depends on every cell of the source."""
    return f"up to {next_power_of_ten(policies):,}" if policies else "none"


def _share(risk: float, records: int) -> str:
    """Say a risk of several groups, of which one record more makes one more: in steps of ten times as much."""
    if records < FEWEST_RECORDS:
        return ""
    places = min(len(str(records)) - 2, MOST_DIGITS)
    told = round(risk, places)
    return f", of risk about {told:g}" if told else f", of risk below {10**-places:g}"


def _risk(text: str, risk: float, records: int) -> str:
    """Say the risk of one group of all records, of few records not at all."""
    return text.format(f"{significant(risk, digits_of_source(records)):g}") if records >= FEWEST_RECORDS else ""
