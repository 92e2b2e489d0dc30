"""The base of all hierarchies of a job file: it turns leaf values into rows of labels.

In: the distinct values of a column as text, nulls left out. Out: rows
`(leaf, label at level 1, ..., label at the highest level)`, each with `level_count` entries; each level is a function
of the one below. Shares and the domain size D are counted over the rows (definitions: loss). A builder with a fixed
domain (ages, a code system) gives one row for each value of that domain, whether it occurs in the data or not, so
losses of different nights can be compared. A builder without a fixed domain gives one row for each value of the data.
"""

from __future__ import annotations

import datetime as dt
import json
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import ClassVar

from engine.spec import Spec

Extent = tuple[Decimal | dt.date | None, Decimal | dt.date | None]
"""The smallest value of a label and the first one above all of its values, None where there is none.

Both are the same for a label that is a single value.
"""

SUPPRESSED = "*"
"""What replaces a suppressed value, and the usual label of the highest level."""

ANY_VALUE = f"any text but {SUPPRESSED!r}, which stands for removed values"
"""What is said of a hierarchy that has a row for each value but that one; see `HierarchyBuilder.admits`."""

Row = tuple[str, ...]


class HierarchyBuilder(Spec):
    """A source of a generalization hierarchy.

    Attributes
    ----------
    fixed_domain : bool
        Whether the rows are the same whatever the data holds, so that the domain size tells nothing of it.
    notation : str
        How the labels below the highest level are read, one sentence for those who use a release; empty where they
        speak for themselves.
    file_key : str
        The key that names its file; empty where the job file says all.
    """

    fixed_domain: ClassVar[bool] = False
    notation: ClassVar[str] = ""
    file_key: ClassVar[str] = ""

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
            Distinct values of the column. A value outside the builder's domain gets no row: the encoder finds all such
            values at once and decides about their records.

        Raises
        ------
        InvalidData
            If the hierarchy itself is invalid. The message never contains one of `values`.
        """

    @property
    def file(self) -> str | None:
        """The path of the file that it reads; None if it reads none."""
        found: str | None = getattr(self, self.file_key) if self.file_key else None
        return found

    def definition(self) -> Iterator[Row]:
        """Give what its labels follow from: its keys, and what it reads of a file or a package, wherever that is.

        A key that has its default is left out, so that one which a later version adds changes nothing.

        Raises
        ------
        InvalidJob, InvalidData
            The file is missing or broken.
        """
        keys = self.model_dump(mode="json", exclude_defaults=True, exclude={self.file_key, "builder"})
        yield self.builder, json.dumps(keys, sort_keys=True)
        yield from sorted(self._contents())

    def _contents(self) -> Iterable[Row]:
        """Give what is read of a file or a package, in any order."""
        return ()

    @property
    def admits(self) -> str:
        """Which values have a row, in words that end a sentence."""
        return "the values that it lists"

    def check_column(self, name: str, values: Collection[str]) -> None:
        """Refuse rows that belong to no column `name` with these distinct values.

        Raises
        ------
        InvalidData
            Such as for a header in a file. The message never contains one of `values`.
        """
        del name, values

    def nearly(self, values: Iterable[str]) -> int:
        """Count the values without a row that differ from one with a row by blanks, case or the sign of 0 alone."""
        del values
        return 0

    @property
    def is_of_missing_values(self) -> bool:
        """Whether it is meant for missing values alone: then a column without any other value has a hierarchy."""
        return False

    @property
    def example_value(self) -> str | None:
        """A value that the builder chooses from its domain, never one of the data; None if there is none."""
        return None

    def example(self) -> tuple[str | None, ...]:
        """Return the labels of one leaf at every level, as an example of each level.

        A label is None if the builder offers no value, or has no row for it.

        Raises
        ------
        InvalidJob, InvalidData
            A file of the hierarchy is missing or broken.
        """
        value = self.example_value
        rows = [] if value is None else self.rows([value])
        return next((row for row in rows if row[0] == value), (None,) * self.level_count)

    def extent(self, label: str, level: int) -> Extent | None:
        """Return where the values of a label begin and end; None if they are neither numbers nor dates."""
        return self._extent(label, level) if label != SUPPRESSED and self.is_label(label, level) else None

    def _extent(self, label: str, level: int) -> Extent | None:
        """Read the ends of a label of the level that is not `*`."""
        del label, level
        return None

    def place(self, label: str, level: int) -> Decimal | None:
        """Return a number by which the labels of a level are put in order; None if they have none."""
        start, end = self.extent(label, level) or (None, None)
        if start is None:
            return None if end is None else Decimal("-Infinity")
        return start if isinstance(start, Decimal) else Decimal(start.toordinal())

    @abstractmethod
    def is_label(self, label: str, level: int) -> bool:
        """Return whether `label` is possible at `level`, by the definition alone.

        Verification uses this without the source, so the answer must not depend on the data, and must be true for every
        label that `rows` can give at this level.
        """


def builder_names() -> frozenset[str]:
    """Return what a job file can name as a builder, `csv` included: of all kinds that are imported."""
    kinds, names = [HierarchyBuilder], set()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        names.add(kind.model_fields["builder"].default)
    return frozenset(name for name in names if isinstance(name, str))
