"""Whether the levels of the release before stay: a change of levels refines every trace of a series.

In: tonight's problem, the solution that the search found, and the levels of the newest remembered release. Out: the
solution that is released, and what it costs to stay.
"""

from __future__ import annotations

from dataclasses import replace

from engine.errors import NoSolution
from engine.job.stability import Stability
from engine.lattice.space import Lattice, Levels
from engine.pipeline.measured import finite
from engine.search.problem import Problem, Solution
from engine.search.registry import method
from engine.series.document import StabilityStated
from engine.utility.information_loss import leading

INFEASIBLE = (
    "stability: the levels of the release before do not satisfy the models tonight; say change_only_if: {or: "
    "infeasible} to let them change then, or raise suppression_limit"
)


def warm_start(problem: Problem, last: Levels | None) -> Problem:
    """Return the problem whose search begins at the levels of the release before, if these are allowed."""
    return problem if last is None or not _is_allowed(problem, last) else replace(problem, start=last)


def stable(
    stability: Stability, problem: Problem, solution: Solution, last: Levels
) -> tuple[Solution, StabilityStated]:
    """Return the solution to release: that of the levels before, unless the job says that these change.

    Raises
    ------
    NoSolution
        The levels before are no solution, and the job does not let them change then.
    """
    reason = stability.change_only_if
    kept = None
    if _is_allowed(problem, last):
        kept = method("optimal").run(replace(problem, lattice=Lattice(last, last), start=None))
    if kept is None and reason.otherwise is None:
        raise NoSolution(INFEASIBLE)
    stated: StabilityStated = {
        "kept": False,
        "loss_kept": None if kept is None else finite(kept.loss),
        "loss_possible": finite(solution.loss),
    }
    if kept is None or (reason.loss_improves_by is not None and _improves(kept, solution) >= reason.loss_improves_by):
        return solution, {**stated, "kept": solution.levels == last}
    stays = replace(
        kept,
        lower_bound=solution.lower_bound,
        checked=solution.checked,
        optimal=solution.optimal and leading(kept.loss) <= leading(solution.loss),
        exhaustive=solution.exhaustive,
    )
    return stays, {**stated, "kept": True}


def _improves(kept: Solution, solution: Solution) -> float:
    """Return the share of the loss of kept levels that the best ones would save."""
    loss = leading(kept.loss)
    return (loss - leading(solution.loss)) / loss if loss > 0 else 0.0


def _is_allowed(problem: Problem, levels: Levels) -> bool:
    pairs = zip(problem.lattice.low, levels, problem.lattice.high, strict=True)
    return all(low <= level <= high for low, level, high in pairs)
