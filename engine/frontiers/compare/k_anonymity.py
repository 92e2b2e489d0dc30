"""The frontier of k-anonymity by full-domain generalization, for comparison with frontiers of policies.

Xia et al., R-U policy frontiers for health data de-identification, JAMIA 22:1029, 2015, section Experimental design:
Incognito gives every k-anonymous generalization; those that no other one dominates are the frontier. An ordered
quasi-identifier is generalized by a balanced hierarchy of halves, as in their full-domain initialization, any other one
by the levels of its own hierarchy. The paper does not say whether records are suppressed; here none are by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.search.full_domain import balanced_levels
from engine.frontiers.space.coarsening import finest_policy
from engine.frontiers.space.domain import Bits, Domain, PolicySpace
from engine.hierarchy.hierarchy import Hierarchy
from engine.lattice.space import Lattice, Levels
from engine.privacy.models.k_anonymity import KAnonymity
from engine.search.algorithms.incognito import incognito_solutions
from engine.search.problem import Problem
from engine.tables.counting.distinct_tuples import frequency_table
from engine.tables.counting.frequency import FrequencyTable
from engine.utility.measures.height import Height

Measure = Callable[[Bits], tuple[float, float]]
"""Risk and utility loss of a policy."""


@dataclass(frozen=True, eq=False)
class KAnonymous:
    """A k-anonymous policy.

    Attributes
    ----------
    levels : tuple of int
        Level of each quasi-identifier.
    bits : bool, shape (size,)
        The same as a policy.
    """

    levels: Levels
    bits: Bits
    risk: float
    utility_loss: float


def k_anonymity_frontiers(
    space: PolicySpace, table: FrequencyTable, ks: Iterable[int], measure: Measure, suppression_limit: float = 0.0
) -> dict[int, list[KAnonymous]]:
    """Return the undominated k-anonymous generalizations for each k, by ascending risk.

    Parameters
    ----------
    table : FrequencyTable
        Frequency table of the quasi-identifiers of `space`.
    ks : iterable of int
        Each at least 2.
    measure : callable
        Risk and utility loss of a policy's bits. Each policy is measured once.
    suppression_limit : float
        Share of the records that may be in classes of fewer than k. They are measured like all other records.
    """
    ladders = [_ladder(domain, hierarchy) for domain, hierarchy in zip(space.domains, table.hierarchies, strict=True)]
    records = _on_ladders(space, table, ladders)
    measured: dict[Levels, KAnonymous] = {}
    found: dict[int, list[KAnonymous]] = {}
    for k in ks:
        solutions = incognito_solutions(_problem(records, k, suppression_limit))
        for levels in solutions:
            if levels not in measured:
                bits = finest_policy(space, [ladder[level] for ladder, level in zip(ladders, levels, strict=True)])
                measured[levels] = KAnonymous(levels, bits, *measure(bits))
        found[k] = undominated([measured[levels] for levels in solutions])
    return found


def undominated(policies: Iterable[KAnonymous]) -> list[KAnonymous]:
    """Return the undominated policies, by ascending risk; of equal ones the first by levels."""
    kept: list[KAnonymous] = []
    for policy in sorted(policies, key=lambda one: (one.risk, one.utility_loss, one.levels)):
        if not kept or policy.utility_loss < kept[-1].utility_loss:
            kept.append(policy)
    return kept


def _ladder(domain: Domain, hierarchy: Hierarchy) -> NDArray[np.int32]:
    """Return the group of each position at each level, shape (levels, d)."""
    if domain.ordered:
        return np.stack([domain.groups(bits) for bits in reversed(balanced_levels(domain))])
    found = np.empty(hierarchy.codes.shape, np.int32)
    found[:, domain.leaf_positions] = hierarchy.codes
    return found


def _on_ladders(space: PolicySpace, table: FrequencyTable, ladders: Sequence[NDArray[np.int32]]) -> FrequencyTable:
    """Return the table of the records alone, with hierarchies whose leaves are positions."""
    there = table.counts > 0
    codes = np.stack(
        [domain.leaf_positions[own[there]] for domain, own in zip(space.domains, table.codes, strict=True)]
    )
    hierarchies = [
        Hierarchy(domain.attribute, [_row(position, ladder) for position in range(domain.size)])
        for domain, ladder in zip(space.domains, ladders, strict=True)
    ]
    return frequency_table(table.attributes, hierarchies, {}, np.ascontiguousarray(codes.T), table.counts[there])


def _row(position: int, ladder: NDArray[np.int32]) -> tuple[str, ...]:
    return (str(position), *map(str, ladder[1:, position].tolist()))


def _problem(table: FrequencyTable, k: int, suppression_limit: float) -> Problem:
    heights = tuple(hierarchy.level_count - 1 for hierarchy in table.hierarchies)
    lattice = Lattice((0,) * len(heights), heights)
    evaluator = Height().evaluator(table, (1.0,) * len(heights))
    return Problem(table, lattice, (KAnonymity(k=k),), evaluator, math.floor(suppression_limit * table.records))
