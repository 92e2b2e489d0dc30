"""The base of all privacy models: a value that judges equivalence classes and tells the search what it may infer.

In: a `Partition`, the equivalence classes of one transformation. Out: one boolean per class.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from typing_extensions import Self

from engine.privacy.lack import Lack, of_shares
from engine.privacy.requirement import Requirement
from engine.spec import Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.hierarchy.hierarchy import Hierarchy


class Monotonicity(enum.Enum):
    """When a class that satisfies the model still does after further generalization."""

    WITH_SUPPRESSION = "with suppression"
    """Any union of a satisfying class with other records satisfies: holds with suppression too."""
    GENERALIZATION_ONLY = "generalization only"
    """Any union of satisfying classes satisfies: holds only without suppression."""
    NONE = "none"


class Partition(Protocol):
    """The equivalence classes of a transformation, C of them."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Records per class, shape (C,)."""

    @property
    def population(self) -> NDArray[np.int64]:
        """Records of the population per class, shape (C,); the class may have no record of the table.

        Of a local recoding those of `engine.tables.recoding.covering.people_of`.
        """

    @property
    def overlapping(self) -> NDArray[np.bool_]:
        """Whether a class has labels of people who may be in another class too, shape (C,): of a local recoding."""

    def has_missing(self, attribute: str) -> bool:
        """Whether a record of the table lacks a value of a sensitive attribute: then it is the first value."""

    def distinct(self, attribute: str) -> NDArray[np.int64]:
        """Distinct values of a sensitive attribute per class, shape (C,)."""

    def histogram(self, attribute: str) -> ClassHistogram:
        """Values of a sensitive attribute per class, sparse."""

    @property
    def persons(self) -> NDArray[np.int64]:
        """Distinct persons per class, shape (C,); only of a job that counts persons, as the two below."""

    def fewer_persons_than(self, least: int) -> NDArray[np.bool_]:
        """Whether a class has fewer than `least` distinct persons, shape (C,)."""

    def person_histogram(self, attribute: str) -> ClassHistogram:
        """Persons by value of a sensitive attribute per class, sparse: each once for each value."""


class ClassHistogram(Protocol):
    """The values of a sensitive attribute in C classes: class c holds `[offsets[c]:offsets[c + 1]]`, at least one.

    Attributes
    ----------
    offsets : int64, shape (C + 1,)
    values : int32
        Codes of values in the attribute's order, ascending within a class.
    counts : int64
        Records with the value.
    totals : int64, shape (V,)
        Records of the whole table with each value.
    labels : tuple
        The values of the codes.
    hierarchy : Hierarchy or None
        The attribute's own hierarchy.
    """

    @property
    def offsets(self) -> NDArray[np.int64]: ...  # noqa: D102 (see the class)

    @property
    def values(self) -> NDArray[np.int32]: ...  # noqa: D102

    @property
    def counts(self) -> NDArray[np.int64]: ...  # noqa: D102

    @property
    def totals(self) -> NDArray[np.int64]: ...  # noqa: D102

    @property
    def labels(self) -> tuple[str | None, ...]: ...  # noqa: D102

    @property
    def hierarchy(self) -> Hierarchy | None: ...  # noqa: D102


class DistinctValues(NamedTuple):
    """A number of distinct values of a sensitive attribute, of which a missing one may be one."""

    attribute: str
    least: int
    with_missing: bool


class PrivacyModel(Spec):
    """A privacy criterion of a job.

    A subclass declares everything that job, search, report and pages need of a model; none of them knows a model by its
    name. Three fields have a fixed meaning in every model that has them: `attribute` is the sensitive
    attribute that it reads, `subset` and `population` are paths of files.

    Attributes
    ----------
    model : str
        The name in the job file.
    compares_with_table : bool
        Whether classes are compared with the sensitive values of all records, suppressed ones too.
    observes_records : bool
        Whether the observed figure counts the records or people of one class: then pages withhold a small figure.
    counts_persons : bool
        Whether it can count distinct persons instead of records (`engine.privacy.of_persons`): it reads nothing of a
        class but the histogram of its sensitive attribute, whose sum is the size, or demands nothing but a size.
    """

    compares_with_table: ClassVar[bool] = False
    observes_records: ClassVar[bool] = False
    counts_persons: ClassVar[bool] = False

    model: str

    @property
    def sensitive_attribute(self) -> str | None:
        """Name of the sensitive attribute the model reads, if it reads one."""
        return getattr(self, "attribute", None)

    @property
    def subset_file(self) -> str | None:
        """Path of the research subset, if the model compares it with its population, the source."""
        return getattr(self, "subset", None)

    @property
    def population_file(self) -> str | None:
        """Path of the population's own table, if the model reads one."""
        return getattr(self, "population", None)

    @property
    def distinct_values(self) -> DistinctValues | None:
        """The distinct values that a class must have, if nothing else is demanded of it.

        Then whatever contains a set of persons that satisfies it does so too, which parts of pictures need
        (`engine.tables.persons.pictures`).
        """
        return None

    def resolved(self, base: Path) -> Self:
        """Make the paths of files absolute."""
        paths = {"subset": self.subset_file, "population": self.population_file}
        return self.model_copy(update={key: str(base / path) for key, path in paths.items() if path})

    @property
    def reads_order(self) -> bool:
        """Whether the figure depends on how the values of the sensitive attribute are ordered."""
        return False

    @property
    def reads_hierarchy(self) -> bool:
        """Whether the figure depends on the hierarchy of the sensitive attribute."""
        return False

    @property
    def tells_apart(self) -> bool:
        """Whether the figure depends on how many different values there are, so that one written twice would be two."""
        return False

    @property
    def leaves_out_missing(self) -> bool:
        """Whether a missing value is none of the values of a class."""
        return False

    def lacking(self, order: str | None, *, has_hierarchy: bool) -> str | None:
        """Return what the sensitive attribute's entry lacks for this model, and the fix; None if nothing.

        Parameters
        ----------
        order : {"text", "integer", "decimal", "date"} or None
            How the values of the attribute are ordered; None: by the column's type, which is not known yet. Once the
            source is open, this is asked again.
        has_hierarchy : bool
            Whether the attribute has one.
        """
        del order, has_hierarchy
        return None

    @property
    def reads_population(self) -> bool:
        """Whether classes are compared with their people of a population."""
        return self.subset_file is not None or self.population_file is not None

    @property
    def least_people(self) -> int:
        """People of the population of the smallest class that can satisfy the model: 1 if it implies none."""
        return 1

    @property
    def demands_people_alone(self) -> bool:
        """Whether every class of `least_people` people satisfies the model.

        So does a class of as many records, of a table that is in the population: each is of one of its people.
        """
        return False

    @property
    def refuses_empty_classes(self) -> bool:
        """Whether classes with records of the population only are forbidden.

        If any model implies a minimum class size, such classes are left out instead (definitions: delta-presence).
        """
        return False

    @property
    def monotonicity(self) -> Monotonicity:
        """The kind of monotonicity of the model."""
        return Monotonicity.NONE

    @property
    def minimum_class_size(self) -> int:
        """Smallest class, in records, that can satisfy the model: 1 if it implies none."""
        return 1

    def least_class_size(self, attribute: ClassHistogram | None) -> int:
        """Smallest class, in records, that can satisfy the model in a table with known sensitive values.

        Parameters
        ----------
        attribute : ClassHistogram or None
            The model's sensitive attribute, of any partition of the table; None if it reads none.
        """
        del attribute
        return self.minimum_class_size

    @abstractmethod
    def violated(self, partition: Partition) -> NDArray[np.bool_]:
        """Return which classes fail, shape (C,)."""

    def surely_violated(self, partition: Partition, *, suppressing: bool) -> NDArray[np.bool_]:
        """Return which classes fail however they are split, shape (C,).

        Parameters
        ----------
        suppressing : bool
            Whether any record may be suppressed. If not, one failing class fails the transformation and, for a model
            monotone in generalization, all its specializations.
        """
        inherited = self.is_inherited(suppressing=suppressing)
        return self.violated(partition) if inherited else partition.counts < self.minimum_class_size

    def is_sized(self, *, suppressing: bool) -> bool:
        """Whether `surely_violated` finds the classes below `minimum_class_size` and no others."""
        overridden = type(self).surely_violated is not PrivacyModel.surely_violated
        return not overridden and not self.is_inherited(suppressing=suppressing)

    @property
    def looks_inside(self) -> bool:
        """Whether `most_kept` tells more than the size of a class."""
        return False

    def most_kept(self, partition: Partition, least: int) -> NDArray[np.int64]:
        """Bound the records of each class that any split of it into parts keeps, shape (C,).

        Kept are the parts that satisfy the model; the bound is that of their union, and 0 if there can be none. Where a
        union of satisfying parts satisfies, it is the largest part of the class that does. It may read the sensitive
        values, unlike `surely_violated` of a model that is not monotone.

        Parameters
        ----------
        least : int
            Records that a part must have, at least 1.
        """
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        return np.where(partition.counts < least, 0, partition.counts)

    def lack(self, attribute: ClassHistogram) -> Lack:
        """Return what classes lack of the model while they fail it: nearness to the table, which satisfies it.

        Parameters
        ----------
        attribute : ClassHistogram
            The model's sensitive attribute, of any partition of the table; only what it says of the table is read.
        """
        import numpy as np  # noqa: PLC0415 (job files parse without numpy)

        return of_shares(np.arange(len(attribute.labels))[None, :], 0.5, 0.0)

    def is_inherited(self, *, suppressing: bool) -> bool:
        """Whether a violation in a transformation is a violation in all its specializations."""
        return self.monotonicity is Monotonicity.WITH_SUPPRESSION or (
            self.monotonicity is Monotonicity.GENERALIZATION_ONLY and not suppressing
        )

    def holds(self, partition: Partition, kept: NDArray[np.bool_]) -> bool:
        """Tell whether the kept classes satisfy the model."""
        return not bool((self.violated(partition) & kept).any())

    @abstractmethod
    def observed(self, partition: Partition, kept: NDArray[np.bool_]) -> float | None:
        """Return the figure of the worst kept class, in the unit of the model's parameter; None if none is kept."""

    @abstractmethod
    def requirement(self, observed: float | None) -> Requirement:
        """Return the bound of the observed figure; of a model with two bounds, the nearer one."""

    @abstractmethod
    def describe(self) -> str:
        """Return the model and its parameters as text for a person."""
