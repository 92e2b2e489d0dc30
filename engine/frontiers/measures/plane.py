"""The plane of risk and utility loss of one table: its policy space and its measures.

In: a frequency table, the order of each quasi-identifier that has one, the names of the two measures. Out: the figures
of any policy, and of classes that no policy can have, such as those of Safe Harbor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.frontiers.measures.along_paths import Measures, Point
from engine.frontiers.measures.any_partition import point_of, utility_loss_of
from engine.frontiers.measures.registry import RISKS, UTILITIES
from engine.frontiers.space.domain import Bits, Domain, PolicySpace, policy_space
from engine.frontiers.space.tuples import Tuples, measured_rows
from engine.hierarchy.value_keys import OrderName
from engine.tables.counting.frequency import FrequencyTable


def missing_last(space: PolicySpace) -> PolicySpace:
    """Let missing values of ordered domains join the others only if all others are one group, as in a hierarchy."""
    return PolicySpace([_missing_last(domain) for domain in space.domains])


def _missing_last(domain: Domain) -> Domain:
    if not domain.ordered or domain.labels[0] is not None or domain.bits == 0:
        return domain
    # the first bit separates the missing value from the others; while it is set, any of these may be joined
    parents = np.zeros(domain.bits, np.int32)
    parents[0] = -1
    return replace(domain, parents=parents)


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane of the policies of one table.

    Attributes
    ----------
    table : FrequencyTable
    space : PolicySpace
    measures : Measures
    """

    table: FrequencyTable
    space: PolicySpace
    measures: Measures
    _tuples: Tuples

    @classmethod
    def of(cls, table: FrequencyTable, orders: Mapping[str, OrderName | None], risk: str, utility: str) -> Plane:
        """Make the policy space of a table and measure its ends.

        Raises
        ------
        InvalidJob, InvalidData
            As of `policy_space` and `Tuples.of`.
        """
        space = missing_last(policy_space(table.hierarchies, table.attributes, orders))
        tuples = Tuples.of(table, space)
        return cls(table, space, Measures(space, tuples, RISKS[risk], UTILITIES[utility]), tuples)

    def at(self, bits: Bits) -> Point:
        """Return the point of a policy."""
        return self.measures.at(bits)

    def of_classes(self, classes: Sequence[NDArray[np.int32]]) -> Point:
        """Return the point of classes of values that may not be a policy.

        Parameters
        ----------
        classes : sequence of int32, shape (d,)
            For each quasi-identifier the class of each position, numbered from 0.
        """
        return point_of(classes, self._tuples, self.measures.risk, self.measures.utility)

    def utility_loss_with(self, bits: Bits, suppressed: NDArray[np.int64]) -> float:
        """Return the utility loss of a policy of which some rows of the table are suppressed, int64, shape (S,)."""
        if not suppressed.size:
            return self.at(bits).utility_loss
        gone = np.zeros(self.table.counts.size, np.bool_)
        gone[suppressed] = True
        gone = gone[measured_rows(self.table)]
        return utility_loss_of(self.space.groups(bits), self._tuples, self.measures.utility, gone)

    def normalized(self, point: Point) -> Point:
        """Return risk as a share of that of the bottom, utility loss as a share of that of the top."""
        return Point(
            _share(point.risk, self.measures.highest_risk), _share(point.utility_loss, self.measures.highest_loss)
        )


def _share(figure: float, whole: float) -> float:
    return figure / whole if whole > 0 else 0.0
