"""Privacy models that count distinct persons where others count records.

In: the models of a job with a `subject`. Out: models over the same classes, for search, report and the class of
suppressed records. A class size is the number of its persons; a person with several sensitive values in a class is
counted once for each, and the shares of a class, and of the table, are of the sum of these counts.

A union of classes has the persons of each of them, and the values too, so that a number of persons and the number of
distinct values are monotone with suppression, as over records. A share of persons is not: someone with the same value
in two classes is counted once in their union, which therefore may be farther from the table than both. Nothing is
inferred from models of shares but what their number of distinct values implies.

Of linked tables a class may have no record with the attribute: its table lacks it, or no person of a group has a row in
a table that has it. Nothing of the attribute is shown there, and such a class is not judged. What has records with
it still has them in every generalization, and in each of its parts, since cells of one table are never merged with
those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.privacy.model import DistinctValues, Monotonicity, Partition, PrivacyModel
from engine.privacy.plain_histogram import PlainHistogram

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.privacy.model import ClassHistogram
    from engine.privacy.requirement import Requirement


def counting_persons(
    models: Sequence[PrivacyModel], partial: Collection[str] = frozenset()
) -> tuple[PrivacyModel, ...]:
    """Return models that count persons; each says of itself that it can (`counts_persons`).

    Parameters
    ----------
    partial : collection of str
        Sensitive attributes that some of several linked tables lack.
    """
    return tuple(
        _EnoughPersons(model=model.model, of=model)
        if model.sensitive_attribute is None
        else (_OfPartialAttribute if model.sensitive_attribute in partial else _OfPersons)(model=model.model, of=model)
        for model in models
    )


class _OfPersons(PrivacyModel):
    """A model of a sensitive attribute, over the histograms of persons."""

    of: PrivacyModel

    @property
    def sensitive_attribute(self) -> str | None:
        return self.of.sensitive_attribute

    @property
    def distinct_values(self) -> DistinctValues | None:
        return self.of.distinct_values

    @property
    def monotonicity(self) -> Monotonicity:
        """Only that of a number of distinct values stays."""
        kept = self.of.monotonicity is Monotonicity.WITH_SUPPRESSION
        return Monotonicity.WITH_SUPPRESSION if kept else Monotonicity.NONE

    @property
    def minimum_class_size(self) -> int:
        """In records: a class has at least as many of them as of pairs of a person and a value."""
        return self.of.minimum_class_size

    def is_sized(self, *, suppressing: bool) -> bool:
        """No class fails by its records alone, unless they are too few for anything."""
        del suppressing
        return False

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        return self.of.violated(_PersonHistograms(partition, self._attribute))

    def surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        del suppressing
        return self.of.surely_violated(_PersonHistograms(partition, self._attribute), suppressing=True)

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        return self.of.observed(_PersonHistograms(partition, self._attribute), kept)

    def requirement(self, observed: float | None) -> Requirement:
        return self.of.requirement(observed)

    def describe(self) -> str:
        return in_persons(self.of)

    @property
    def _attribute(self) -> str:
        assert self.of.sensitive_attribute is not None  # noqa: S101 (see `counting_persons`)
        return self.of.sensitive_attribute


class _OfPartialAttribute(_OfPersons):
    """The same where a class may have no record with the attribute: such a class fails nothing."""

    @property
    def minimum_class_size(self) -> int:
        """A class that is not judged may have any size."""
        return 1

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        return self._where_there(partition, self.of.violated)

    def surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        del suppressing
        return self._where_there(partition, lambda found: self.of.surely_violated(found, suppressing=True))

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        found = _HavingValues(_PersonHistograms(partition, self._attribute), self._attribute)
        chosen = kept[found.there]
        return self.of.observed(found, chosen) if chosen.any() else None

    def _where_there(self, partition: Partition, judge: Callable[[Partition], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        found = _HavingValues(_PersonHistograms(partition, self._attribute), self._attribute)
        fails = found.there.copy()
        if found.there.any():
            fails[found.there] = judge(found)
        return fails


class _EnoughPersons(_OfPersons):
    """A model that only demands a size of each class: as many persons."""

    @property
    def monotonicity(self) -> Monotonicity:
        return Monotonicity.WITH_SUPPRESSION

    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        return partition.fewer_persons_than(self.of.minimum_class_size)

    def surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        del suppressing
        return self.violated(partition)

    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        persons = partition.persons[kept]
        return float(persons.min()) if persons.size else None


def in_persons(model: PrivacyModel) -> str:
    """Describe a model that counts persons."""
    return f"{model.describe()}, counted in persons"


@dataclass(frozen=True, eq=False)
class _PersonHistograms:
    """A partition as a model of one sensitive attribute reads it: what it counts are pairs of a person and a value."""

    _partition: Partition
    _attribute: str

    @property
    def counts(self) -> NDArray[np.int64]:
        """Pairs per class, shape (C,): the sum of its histogram."""
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        histogram = self.histogram(self._attribute)
        return np.diff(np.concatenate([[0], np.cumsum(histogram.counts)])[histogram.offsets])

    @property
    def population(self) -> NDArray[np.int64]:
        return self._partition.population

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        return self._partition.overlapping

    @property
    def persons(self) -> NDArray[np.int64]:
        return self._partition.persons

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        return self._partition.fewer_persons_than(least)

    def has_missing(self, attribute: str) -> bool:
        return self._partition.has_missing(attribute)

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        return self._partition.distinct(attribute)

    def histogram(self, attribute: str) -> ClassHistogram:
        return self._partition.person_histogram(attribute)

    def person_histogram(self, attribute: str) -> ClassHistogram:
        return self._partition.person_histogram(attribute)


class _HavingValues:
    """The classes of a partition that have some value of an attribute, P of them.

    Attributes
    ----------
    there : bool, shape (C,)
        Which classes of the partition they are.
    """

    def __init__(self, whole: _PersonHistograms, attribute: str) -> None:
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        found = whole.histogram(attribute)
        self.there: NDArray[np.bool_] = np.diff(found.offsets) > 0
        ends = np.concatenate([found.offsets[:1], found.offsets[1:][self.there]])
        self._histogram = PlainHistogram(ends, found.values, found.counts, found.totals, found.labels, found.hierarchy)
        self._whole = whole

    @property
    def counts(self) -> NDArray[np.int64]:
        return self._whole.counts[self.there]

    @property
    def population(self) -> NDArray[np.int64]:
        return self._whole.population[self.there]

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        return self._whole.overlapping[self.there]

    @property
    def persons(self) -> NDArray[np.int64]:
        return self._whole.persons[self.there]

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        return self._whole.fewer_persons_than(least)[self.there]

    def has_missing(self, attribute: str) -> bool:
        return self._whole.has_missing(attribute)

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        import numpy as np  # noqa: PLC0415

        return np.diff(self.histogram(attribute).offsets)

    def histogram(self, attribute: str) -> ClassHistogram:
        del attribute
        return self._histogram

    def person_histogram(self, attribute: str) -> ClassHistogram:
        return self.histogram(attribute)
