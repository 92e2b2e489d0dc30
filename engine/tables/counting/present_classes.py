"""The classes that have records: privacy models judge these, and not those that only a population has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.tables.counting.frequency import Classes
from engine.tables.counting.histogram import Histogram


@dataclass(frozen=True, eq=False)
class PresentClasses:
    """The P classes of a partition that have records, in its order: these are judged by privacy models.

    Attributes
    ----------
    there : bool, shape (C,)
        Which classes of the partition they are.
    """

    _classes: Classes
    there: NDArray[np.bool_]

    @classmethod
    def of(cls, classes: Classes) -> PresentClasses:
        """Leave out the classes that only the population has."""
        return cls(classes, classes.counts > 0)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per class, shape (P,)."""
        return self._classes.counts[self.there]

    @property
    def population(self) -> NDArray[np.int64]:
        """Records of the population per class, shape (P,)."""
        return self._classes.population[self.there]

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """See `Classes.overlapping`, shape (P,)."""
        return self._classes.overlapping[self.there]

    def has_missing(self, attribute: str) -> bool:
        """See `Classes.has_missing`."""
        return self._classes.has_missing(attribute)

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """Distinct sensitive values per class, shape (P,)."""
        return self._classes.distinct(attribute)[self.there]

    def histogram(self, attribute: str) -> Histogram:
        """Sensitive values per class."""
        return self._present(self._classes.histogram(attribute))

    @property
    def persons(self) -> NDArray[np.int64]:
        """Distinct persons per class, shape (P,)."""
        return self._classes.persons[self.there]

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """See `Classes.fewer_persons_than`."""
        return self._classes.fewer_persons_than(least)[self.there]

    def person_histogram(self, attribute: str) -> Histogram:
        """See `Classes.person_histogram`."""
        return self._present(self._classes.person_histogram(attribute))

    def smallest_of_persons(self) -> NDArray[np.int64]:
        """Persons of the smallest class of each person, shape (persons of the table,); 0 for who is in none."""
        runs = self._classes.table.persons
        assert runs is not None  # noqa: S101 (only jobs that count persons ask)
        found = np.full(runs.number, np.iinfo(np.int64).max)
        sizes = np.repeat(self._classes.persons[self._classes.gid], np.diff(runs.runs.offsets))
        np.minimum.at(found, runs.runs.members, sizes)
        return np.where(found == np.iinfo(np.int64).max, 0, found)

    def _present(self, whole: Histogram) -> Histogram:
        return replace(whole, offsets=np.concatenate([whole.offsets[:1], whole.offsets[1:][self.there]]))
