"""Policies of earlier days, read for the table at hand: its values may have grown since.

In: the document of a policy, from a file or an earlier report, and the plane of tonight's table. Out: a `Policy` of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.frontiers.measures.plane import Plane
from engine.frontiers.space.domain import Bits, Domain
from engine.frontiers.space.policy import Policy
from engine.hierarchy.builder import Row
from engine.hierarchy.policy_groups import PolicyGroups
from engine.job.job import Job
from engine.message import Count, Message


class Executed(NamedTuple):
    """How a job executes a policy on the table at hand.

    Attributes
    ----------
    job : Job
        The job with the groups of the policy (`Job.with_policy`).
    rows : list of mapping of str to Row
        For each quasi-identifier the rows of its values by these groups, by value.
    """

    job: Job
    rows: list[dict[str, Row]]


def read_tonight(job: Job, plane: Plane, document: Mapping[str, Any]) -> Policy:
    """Read the document of a policy that can be executed on the current table.

    New values belong to the run or node of the policy that contains them; groups without a value are not an error.

    Raises
    ------
    InvalidJob
        It cannot be executed: impossible groups, values in no group, or levels that the job forbids.
    """
    return _read(job, plane, document)[1]


def _read(job: Job, plane: Plane, document: Mapping[str, Any]) -> tuple[Executed, Policy]:
    executed = Executed(job.with_policy(document), [])
    groups = []
    for domain, hierarchy in zip(plane.space.domains, plane.table.hierarchies, strict=True):
        builder = executed.job.attributes[domain.attribute].hierarchy
        assert isinstance(builder, PolicyGroups)  # noqa: S101 (what executing makes)
        unseen = -1 if hierarchy.unseen_code < 0 else int(domain.leaf_positions[hierarchy.unseen_code])
        rows = {row[0]: row for row in builder.rows([label for label in domain.labels if label is not None])}
        executed.rows.append(rows)
        groups.append(_groups(domain, builder, rows, unseen))
    return executed, Policy.of_groups(plane.space, groups)


def possible_tonight(job: Job, plane: Plane, document: Mapping[str, Any]) -> Policy | None:
    """Read a policy; None if it cannot be executed here because of the job's levels or new values."""
    try:
        return read_tonight(job, plane, document)
    except InvalidJob:
        return None


def executed_tonight(job: Job, plane: Plane, bits: Bits) -> Executed | None:
    """Return how a job executes a policy; None if the job's levels or missing values forbid it."""
    try:
        executed, policy = _read(job, plane, Policy(plane.space, bits).document())
    except InvalidJob:
        return None
    return executed if (policy.bits == bits).all() else None


def _groups(domain: Domain, builder: PolicyGroups, rows: Mapping[str, Row], unseen: int) -> NDArray[np.int32]:
    """Return the group of each position of a domain, int32, shape (d,).

    `unseen` is the position of all values without a hierarchy entry, -1 for none; it is a group by itself.
    """
    numbers: dict[Any, int] = {}
    found, outside = [], 0
    for position, value in enumerate(domain.labels):
        if position == unseen:
            group: Any = builder.labels[0] if builder.is_root and builder.takes_missing else ()
        elif value is None:
            outside += not builder.takes_missing
            group = builder.labels[0] if builder.is_root else None
        else:
            outside += value not in rows
            group = rows[value][1] if value in rows else None
        found.append(numbers.setdefault(group, len(numbers)))
    if outside:
        raise InvalidJob(
            Message.of(
                "policy of column {name!r}: values of the table, including missing ones, that are "
                "in no group: {outside}; add them to a group",
                name=domain.attribute,
                outside=Count(outside),
            )
        )
    return np.array(found, np.int32)
