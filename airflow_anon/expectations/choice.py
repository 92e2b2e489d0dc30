"""The policy that a rule chose: the rule is the job's, and the policy meets it by the figures of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.stated import is_number
from engine import Finding

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable

FIGURES = ("risk", "utility_loss")


class ExpectPolicyByRule(ReleaseExpectation):
    """The release was made by the policy that the job's rule chooses.

    The risk stated must be that of the release in the same report, which is recounted with the other figures. The
    utility loss depends on the source, so it is compared with the rule as stated. The labels of the columns prove that
    the release has this policy and no other.

    Parameters
    ----------
    rule : dict
        `dominates` and `maximum_risk` of the job, as far as it names them.
    stated : dict
        What the report says: `rule`, `risk`, `utility_loss`, and `safe_harbor` with the same two figures, or empty.
    released_risk : float or None
        Risk of the release by the job's `frontier.risk`, by the report.
    """

    rule: dict[str, Any]
    stated: dict[str, Any]
    released_risk: float | None

    success_keys: ClassVar[tuple[str, ...]] = ("rule", "stated", "released_risk")
    template: ClassVar[str] = "The policy must be chosen by the rule ($rule); the report states $stated."

    def judge(self, release: ClassTable) -> Finding:  # noqa: ARG002 (the labels are judged elsewhere)
        """Compare the rule with the stated figures."""
        found = [text for text in (self._other_rule(), self._risk(), self._dominated()) if text]
        return Finding(
            self.expectation_type,
            holds=not found,
            observed=self.stated["risk"],
            required=self.rule.get("maximum_risk"),
            column=None,
            message="; ".join(found) or "the policy meets the rule",
        )

    def _other_rule(self) -> str:
        return "" if self.stated["rule"] == self.rule else "the report names another rule"

    def _risk(self) -> str:
        highest = self.rule.get("maximum_risk")
        if highest is not None and self.stated["risk"] > highest:
            return "its risk is higher than the rule allows"
        same = self.released_risk is not None and math.isclose(self.stated["risk"], self.released_risk, rel_tol=1e-9)
        return "" if same else "its risk is not that of the release"

    def _dominated(self) -> str:
        if self.rule.get("dominates") is None or "utility_loss" not in self.stated:
            return ""
        other = self.stated["safe_harbor"]
        if not other:
            return "nothing is stated of Safe Harbor, which it must dominate"
        differences = [self.stated[key] - other[key] for key in FIGURES]
        return "" if max(differences) <= 0 and min(differences) < 0 else "it does not dominate Safe Harbor"


def stated_choice(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choice of a report, without the name of the file of the policies.

    Raises
    ------
    ValueError
        The report has no choice, or figures that are not numbers.
    """
    choice = report.get("choice")
    rule = choice.get("rule") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(rule, Mapping):
        raise ValueError("report: names no choice, which the job's rule must have made; the release was made without")  # noqa: TRY004 (a wrong document, not a wrong argument)
    harbor = choice.get("safe_harbor")
    # where few records are left out no loss is told, nor anything of Safe Harbor
    is_withheld = harbor is None and choice.get("utility_loss") is None
    return {
        "rule": {key: value for key, value in rule.items() if key != "from"},
        **_figures(choice, ("risk",) if is_withheld else FIGURES),
        "safe_harbor": _figures(harbor, FIGURES) if isinstance(harbor, Mapping) else {},
    }


def _figures(figures: Mapping[str, Any], names: Sequence[str]) -> dict[str, float]:
    found = {key: figures.get(key) for key in names}
    if not all(is_number(value) for value in found.values()):
        raise ValueError("report: risk and utility_loss of choice and of its safe_harbor must be numbers")
    return {key: float(value) for key, value in found.items() if value is not None}
