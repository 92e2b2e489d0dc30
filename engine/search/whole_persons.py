"""Who is suppressed with all of his or her records: persons whose pictures are not those of enough others.

In: a problem whose attacker knows several rows of a person, and the classes of a transformation. Out: the persons who
are suppressed, the largest set of others being kept that satisfies the models among themselves. Of an attacker who
knows all rows, the models judge the groups of persons with equal pictures; of one who knows up to m rows, k persons
must share each part of m cells, and have l distinct values of a sensitive attribute where a model demands that
(`engine.tables.persons.pictures`).

Both only lose persons where a transformation is specialized, where the models are monotone; of the others
`surely_violated` is. So who is suppressed at the highest levels of a box is suppressed everywhere in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.lattice.space import Levels
from engine.privacy.model import PrivacyModel
from engine.search.problem import Problem, Solution
from engine.tables.counting.frequency import Classes, FrequencyTable
from engine.tables.counting.present_classes import PresentClasses
from engine.tables.known import Known
from engine.tables.persons.pictures import DiverseValues, Parts, apart_of, by_picture


def judged_classes(table: FrequencyTable, known: Known, solution: Solution, suppressed: NDArray[np.int64]) -> Classes:
    """Return what the models judge of a transformation: classes, each of which is suppressed whole or not at all.

    Parameters
    ----------
    suppressed : int64, shape (S,)
        Rows of the table that are suppressed.
    """
    recoding = solution.recoding
    cells = solution.partition(table) if recoding is None else recoding.partition(table, suppressed)
    if known == "any-row":
        return cells
    return by_picture(cells) if known == "all-rows" else cells.divided(suppressed)


def found_among(
    table: FrequencyTable, known: Known, levels: Levels, suppressed: NDArray[np.int64], file: PresentClasses
) -> NDArray[np.int64]:
    """Return the persons among whom an attacker finds each person, shape (P,); 0 for who is not in the file.

    Parameters
    ----------
    suppressed : int64, shape (S,)
        Rows of the table that are suppressed.
    file : PresentClasses
        The classes that the models judge, as the file shows them.
    """
    if not isinstance(known, int):
        return file.smallest_of_persons()
    parts, kept = _parts_of_kept(table, known, levels, suppressed)
    return parts.rarest(kept)


def values_among(
    table: FrequencyTable, known: int, levels: Levels, suppressed: NDArray[np.int64], model: PrivacyModel
) -> NDArray[np.int64]:
    """Return the fewest distinct values of those who share a part of each person's picture, shape (persons kept,).

    Parameters
    ----------
    suppressed : int64, shape (S,)
        See `found_among`.
    model : PrivacyModel
        One that demands `distinct_values`.
    """
    parts, kept = _parts_of_kept(table, known, levels, suppressed)
    demanded = model.distinct_values
    assert demanded is not None  # noqa: S101 (the job's own validation)
    return parts.fewest_values(kept, DiverseValues.of(table, *demanded))[kept]


def _parts_of_kept(
    table: FrequencyTable, known: int, levels: Levels, suppressed: NDArray[np.int64]
) -> tuple[Parts, NDArray[np.bool_]]:
    cells = table.partition(levels)
    apart = apart_of(cells)
    kept = np.ones(apart.offsets.size - 1, np.bool_)
    assert table.persons is not None  # noqa: S101 (see `apart_of`)
    kept[table.persons.runs.members[suppressed]] = False
    return Parts(cells, known), kept


class WholePersons:
    """Tells for transformations of a problem which persons are suppressed.

    Attributes
    ----------
    checked : int
        Partitions judged so far.
    inherited : bool
        Whether `surely_out` finds everybody whom `out` does.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._known = problem.known
        # who finds out why there is no solution tries each model alone
        sizes = [model.minimum_class_size for model in problem.models if model.sensitive_attribute is None]
        self._least = max(sizes, default=1)
        demanded = [model.distinct_values for model in problem.models] if isinstance(problem.known, int) else []
        self._diverse = [DiverseValues.of(problem.table, *one) for one in demanded if one is not None]
        self.inherited = all(model.is_inherited(suppressing=True) for model in problem.models)
        self.checked = 0

    def out(self, cells: Classes, before: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return who is suppressed, bool, shape (P,).

        Parameters
        ----------
        before : bool, shape (P,)
            Who is known to be: such as at higher levels.
        """
        return self._judged(cells, before, surely=False)

    def surely_out(self, cells: Classes, before: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return who is suppressed in every specialization of a partition, bool, shape (P,)."""
        return self._judged(cells, before, surely=True)

    def _judged(self, cells: Classes, before: NDArray[np.bool_], *, surely: bool) -> NDArray[np.bool_]:
        self.checked += 1
        if self._known != "all-rows":
            assert isinstance(self._known, int)  # noqa: S101 (any row: classes are suppressed, not persons)
            return ~Parts(cells, self._known).greatest(~before, self._least, self._diverse)
        groups = by_picture(cells)
        fails = np.zeros(groups.size, np.bool_)
        for model in self._problem.models:
            fails |= model.surely_violated(groups, suppressing=True) if surely else model.violated(groups)
        # the first row of each person has his or her group
        return fails[groups.gid[apart_of(cells).offsets[:-1]]]
