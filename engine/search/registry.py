"""The search algorithms a job can name. This module imports none of them: schedulers read job files."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.search.problem import Method, Problem, Progress, Solution


def _method(module: str, name: str = "METHOD") -> Method:
    found: Method = getattr(importlib.import_module(f"engine.search.algorithms.{module}"), name)
    return found


def _optimal() -> Method:
    from engine.search.algorithms.optimal import optimal  # noqa: PLC0415 (compiles kernels)
    from engine.search.algorithms.whole_persons import whole_persons  # noqa: PLC0415
    from engine.search.problem import Method  # noqa: PLC0415 (imports numpy)

    def by_attacker(problem: Problem, progress: Progress | None = None) -> Solution | None:
        return (optimal if problem.known == "any-row" else whole_persons)(problem, progress)

    return Method(by_attacker)


ALGORITHMS: Mapping[str, Callable[[], Method]] = {
    "optimal": _optimal,
    "depth-first": partial(_method, "depth_first"),
    "best-first": partial(_method, "best_first"),
    "best-first-without-prediction": partial(_method, "best_first", "WITHOUT_PREDICTION"),
    "flash": partial(_method, "flash_two_phase"),
    "flash-monotonic": partial(_method, "flash"),
    "ola": partial(_method, "ola"),
    "incognito": partial(_method, "incognito"),
    "igreedy": partial(_method, "igreedy"),
    "datafly": partial(_method, "datafly"),
    "lattice-based": partial(_method, "lattice_based"),
}
"""Each module has a constant `METHOD`, which is imported when a run needs it."""

ASSUMING_MONOTONE = ("flash-monotonic", "ola")
"""Those that are exact only where all generalizations of a solution are solutions (`engine.search.nodes.monotone`)."""

POLICY = "policy"
"""The name for jobs with a policy, which leaves only one transformation."""


def method(name: str) -> Method:
    """Return an algorithm, or its replacement for a policy, by its name in the job."""
    return _method("fixed_policy") if name == POLICY else ALGORITHMS[name]()
