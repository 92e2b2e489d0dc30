"""What a published report says, in a few lines for a terminal.

In: a report as it may leave the run. Out: text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.message import visible


def summary(report: Mapping[str, Any], output: Path | None) -> str:
    """Say what was released, and where; without an output what a release would be."""
    search = report["search"]
    proof = _proof(report)
    below, suppressed = report["suppressed_class"].get("below"), report["suppressed_class"]["records"]
    private = "classes_of_at_least" in report.get("sample", {})
    few = f"those of fewer than {below} persons" if "persons" in report else f"fewer than {below}"
    gone = f"{few} left out" if below else "the others are not told" if private else f"{suppressed} suppressed"
    lines = [
        "released     nothing: this was a check" if output is None else f"released     {output}",
        f"records      {report['released'] if below else report['rows']}, {gone}",
        *_persons(report),
        _transformation(report),
        f"loss         {_loss(report)} ({proof})",
        *(f"criterion    {model['description']}: observed {model['observed']:g}" for model in _observed(report)),
        f"risk         prosecutor {report['risk']['prosecutor']:.4g}, marketer {report['risk']['marketer']:.4g}",
        *(f"warning      {warning}" for warning in report.get("warnings", ())),
        f"search       at most {search['checked']} checks in a space of {search['space']}{_seconds(search)}",
    ]
    return "\n".join(map(visible, lines))


def _seconds(search: Mapping[str, Any]) -> str:
    return "" if search["seconds"] is None else f", {search['seconds']:.2f} s"


def _persons(report: Mapping[str, Any]) -> list[str]:
    """Return the persons of a job that counts them, and the rows that were left out, as far as they may be told."""
    if "persons" not in report:
        return []
    share, further = report["persons_suppressed_share"], report.get("further_rows", {"share": 0.0})["share"]
    gone = "" if share is None else f"; of {share:.2%} no record is kept"
    told = "withheld" if report["persons"] is None else report["persons"]
    knows = report.get("knows", "any-row")
    known = f"up to {knows['rows']} rows" if isinstance(knows, dict) else knows.replace("-", " ")
    lines = [f"persons      {told}{gone}; criteria and risk count persons, of whom {known} may be known"]
    return lines if further == 0.0 else [*lines, f"further rows {_share(further)} left out"]


def _share(share: float | None) -> str:
    return "few were" if share is None else f"{share:.2%} of all rows were"


def _proof(report: Mapping[str, Any]) -> str:
    solution = report["solution"]
    if "policy" in report:
        chosen = report.get("choice")
        return "by the policy given" if chosen is None else "the best policy of the frontier by the rule"
    if solution["optimal"]:
        return "proven optimal"
    gap = solution["gap"]
    # a bound of few digits may prove nothing
    saved = "" if gap is None or gap >= 1 else f"; at most {math.ceil(100 * gap)}% of it could be saved"
    return f"lower bound {figure(solution['lower_bound'])}{saved}"


def _transformation(report: Mapping[str, Any]) -> str:
    """Return the levels; of mixed ones what is exact; for a policy the number of groups of each column."""
    if "policy" not in report:
        levels = report["solution"]["levels"]
        if levels is None:
            exact = ", ".join(f"{name} {shares[0]:.1%}" for name, shares in report["solution"]["shares"].items())
            return f"levels       mixed; records with the exact value: {exact}"
        return f"levels       {', '.join(f'{name} {level}' for name, level in levels.items())}"
    sizes = ", ".join(f"{name} {len(groups)}" for name, groups in report["policy"].items())
    chosen = report.get("choice")
    why = "" if chosen is None else f"; chosen by the rule, risk {chosen['risk']:.4g}"
    return f"policy       groups: {sizes}{why}"


def _loss(report: Mapping[str, Any]) -> str:
    if "solution.information_loss" in report["withheld"]:
        return "withheld"
    value = report["solution"]["information_loss"]
    return "infinite" if value is None else f"{value:.10g}"


def _observed(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [model for model in report["privacy"] if model["observed"] is not None]


def figure(value: float | None) -> str:
    """Write a figure to six digits."""
    return "unknown" if value is None else f"{value:.6g}"
