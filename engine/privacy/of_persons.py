"""Privacy models that count distinct persons where others count records.

In: the models of a job with a `subject`. Out: models over the same classes, for search, report and the class of
suppressed records. A class size is the number of its persons; a person with several sensitive values in a class is
counted once for each, and the shares of a class, and of the table, are of the sum of these counts.

A union of classes has the persons of each of them, and the values too, so that a number of persons and the number of
distinct values are monotone with suppression, as over records. A share of persons is not: someone with the same value
in two classes is counted once in their union, which therefore may be farther from the table than both. Nothing is
inferred from models of shares but what their number of distinct values implies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.privacy.model import Monotonicity, Partition, PrivacyModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.privacy.model import ClassHistogram
    from engine.privacy.requirement import Requirement


def counting_persons(models: Sequence[PrivacyModel]) -> tuple[PrivacyModel, ...]:
    """Return models that count persons; each says of itself that it can (`counts_persons`)."""
    return tuple(
        _EnoughPersons(model=model.model, of=model)
        if model.sensitive_attribute is None
        else _OfPersons(model=model.model, of=model)
        for model in models
    )


class _OfPersons(PrivacyModel):
    """A model of a sensitive attribute, over the histograms of persons."""

    of: PrivacyModel

    @property
    def sensitive_attribute(self) -> str | None:
        return self.of.sensitive_attribute

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
