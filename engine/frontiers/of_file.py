"""The groups of a chosen policy as a release may tell them: of no value that only records have that are left out of it.

In: a job, the plane of its table, and what came of a policy. Out: the document of the same policy, whose groups keep
apart and join the same records of the file. It is in the release folder, and its ends are in the file as labels.

- All values in one group are `{node: "*"}`, which names none of them.
- Any other column has a group for missing values, whether or not somebody has one.
- A group without a value of the file, or of the population, is left out: how values that only suppressed records have
  are grouped follows from these. What is then in no group is suppressed, as it was.
- Where the hierarchy's values are those of the table, a group ends at values of the file, or of the population, which
  is no secret of the table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.document import PolicyDocument
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits, Domain
from engine.frontiers.space.group_runs import GroupRuns
from engine.hierarchy.policy_groups import EVERYTHING, MISSING_ALONE
from engine.job.job import Job
from engine.job.with_policy import has_values_of_table, leaves_out_groups


def policy_of_file(job: Job, plane: Plane, bits: Bits, suppressed: NDArray[np.int64]) -> PolicyDocument:
    """Return the document of a policy whose release leaves some tuples out.

    Parameters
    ----------
    bits : bool, shape (size,)
    suppressed : int64, shape (S,)
        Rows of the plane's table, without those that every transformation suppresses.
    """
    table = plane.table
    there = table.counts > 0
    there[suppressed] = False
    if table.refused is not None:
        there &= ~table.refused
    if table.population is not None:
        there |= table.population > 0
    found: PolicyDocument = {}
    for domain, codes, groups in zip(plane.space.domains, table.codes, plane.space.groups(bits), strict=True):
        own = job.attributes[domain.attribute]
        told = np.ones(domain.size, np.bool_)
        if leaves_out_groups(own):
            told[:] = False
            told[domain.leaf_positions[codes[there]]] = True
            if not has_values_of_table(own):
                told = np.isin(groups, groups[told])
        found[domain.attribute] = _groups(domain, groups, told)
    return found


def _groups(domain: Domain, groups: NDArray[np.int32], told: NDArray[np.bool_]) -> list[dict[str, object]]:
    if not groups.any():
        return [EVERYTHING]
    told = told & np.array([label is not None for label in domain.labels])
    return [MISSING_ALONE, *GroupRuns(domain).written(groups, told)]
