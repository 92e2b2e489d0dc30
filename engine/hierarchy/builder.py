"""What every source of a hierarchy is: a value of the job file that turns leaf values into rows of labels.

In: the distinct values of a column as text, nulls left out. Out: rows `(leaf, label at level 1, ..., label at the
highest level)`, all of `level_count` entries, each level a function of the one below. The rows are the hierarchy
"file": shares and the domain size D are counted over them (definitions: loss), so a builder with a domain of its own
(ages, a code system) gives a row for each of its values whether the data holds it or not, and losses compare from
night to night; a builder without one gives a row for each value of the data.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from engine.spec import Spec

SUPPRESSED = "*"
"""What replaces a suppressed value, and the usual label of the highest level."""

Row = tuple[str, ...]


class HierarchyBuilder(Spec):
    """A source of a generalization hierarchy."""

    builder: str

    @property
    @abstractmethod
    def level_count(self) -> int:
        """Number of levels, level 0 (the leaf) included; known without data."""

    @abstractmethod
    def rows(self, values: Sequence[str]) -> list[Row]:
        """Build the rows of the hierarchy.

        Parameters
        ----------
        values : sequence of str
            Distinct values of the column. A value outside the builder's domain gets no row: the encoder finds all
            such values at once and decides what becomes of their records.

        Raises
        ------
        InvalidData
            When the hierarchy itself is broken. The message never holds one of `values`.
        """

    @property
    def example_value(self) -> str | None:
        """A value of the builder's domain that it chooses itself, never one of the data; None where it has none."""
        return None

    def example(self) -> tuple[str | None, ...]:
        """Return the labels of one leaf at every level, for a reader who wants to see what a level means.

        None stands where no label can be given: the builder offers no value, or has no row for the one it offers.

        Raises
        ------
        InvalidJob, InvalidData
            A file of the hierarchy is missing or broken.
        """
        value = self.example_value
        rows = [] if value is None else self.rows([value])
        return next((row for row in rows if row[0] == value), (None,) * self.level_count)

    @abstractmethod
    def is_label(self, label: str, level: int) -> bool:
        """Tell whether `label` can stand at `level`, from the definition alone.

        Verification asks this of an output whose source it does not have, so it must not depend on the data, and
        must accept every label that `rows` can give at that level.
        """
