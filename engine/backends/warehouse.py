"""A source inside a database, and the place of its release in the same one: what the engine asks of it.

Whoever knows the database implements it (`airflow_anon.warehouse`), so the engine speaks to no network. In: columns to
count, labels and codes of values. Out: counts. No record of the source ever comes out, only distinct values of columns,
combinations of them with their numbers of records, and counts. Of a job that counts persons the combinations come with
numbers that stand for persons, given at random by the database, never with what identifies them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.hierarchy.hierarchy import Label
from engine.tables.altered.row_cap import RowsBeyond


class ColumnFigures(NamedTuple):
    """How the values of a column of the source vary.

    Attributes
    ----------
    records : int
        Records that have a value.
    missing : int
        Records that have none, or a text that means a missing value.
    distinct : int
        Distinct values.
    agreeing_pairs : int
        Ordered pairs of different records with the same value.
    rare : int
        Records whose value fewer records have than asked.
    """

    records: int
    missing: int
    distinct: int
    agreeing_pairs: int
    rare: int


class PersonsRead(NamedTuple):
    """What was found when the records of a source got their persons.

    Attributes
    ----------
    missing : int
        Records without a value, or with a blank one, in the column of persons.
    alike : int
        Its values that are another one but for case or blanks.
    further : RowsBeyond
        Rows of persons beyond the most that stay.
    """

    missing: int
    alike: int
    further: RowsBeyond


class PersonCounts(NamedTuple):
    """Combinations of a person and of values of some columns, each once or more often.

    Attributes
    ----------
    values : RecordBatch
        The values of the columns.
    persons : int64, shape (rows,)
        Number of the person, from 0.
    records : int64, shape (rows,)
        Records of the combination.
    """

    values: pa.RecordBatch
    persons: NDArray[np.int64]
    records: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ValueLabels:
    """What becomes of n values of a quasi-identifier.

    Attributes
    ----------
    codes : int32, shape (n,)
        Codes of the labels at the level of the release.
    labels : sequence of n labels
        None is a missing one.
    refused : bool, shape (n,)
        Values whose records are suppressed whatever their class.
    """

    codes: NDArray[np.int32]
    labels: Sequence[Label]
    refused: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ReleaseRules:
    """How records become those of a release.

    Attributes
    ----------
    columns : sequence of str
        Columns of the release, in order.
    labels_of : mapping of quasi-identifier to callable
        Takes values of it as the source has them, and returns what becomes of them; raises InvalidData for a value that
        was not counted.
    suppressed : int32, shape (S, m)
        Label codes of the classes that are suppressed, a column per quasi-identifier.
    drop : bool
        Leave suppressed records out instead of replacing their quasi-identifiers by `*`.
    records : int
        Number of records of the release.
    counted : sequence of str
        Columns that criteria read, of a job that counts persons: `Warehouse.people` gives them afterwards.
    left_out : int64, shape (P,), or None
        Numbers of the persons who are left out with all of their records; None where classes are suppressed.
    """

    columns: Sequence[str]
    labels_of: Mapping[str, Callable[[pa.Array], ValueLabels]]
    suppressed: NDArray[np.int32]
    drop: bool
    records: int
    counted: Sequence[str] = ()
    left_out: NDArray[np.int64] | None = None


class Warehouse(ABC):
    """A source and the place of its release, both of one moment: one transaction that sees one snapshot.

    It is a `Table` whose records cannot be read.
    """

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns that may be released, and their types."""

    @abstractmethod
    def tuples(self, columns: Sequence[str]) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        """Yield the combinations of values of some columns, with the records of each, int64, shape (rows,)."""

    @abstractmethod
    def type_of(self, column: str) -> pa.DataType | None:
        """Return the type of a column that may not be released; None where the source lacks it."""

    @abstractmethod
    def read_persons(self, subject: str, most: int | None) -> PersonsRead:
        """Give each record the number of its person, at random from 0, before anything else is counted.

        From then on all records are those that stay: of each person `most` at random, or all.

        Parameters
        ----------
        subject : str
            The column that says whose a record is: equal texts are one person.
        """

    @abstractmethod
    def tuples_of_persons(self, columns: Sequence[str]) -> Iterator[PersonCounts]:
        """Yield the combinations of a person and of values of some columns, after `read_persons`."""

    @abstractmethod
    def people(self, columns: Sequence[str]) -> Iterator[tuple[PersonCounts, NDArray[np.bool_]]]:
        """Yield the same for a recount, by other statements, once the release is written; rows beyond too.

        Parameters
        ----------
        columns : sequence of str
            Among `ReleaseRules.counted`.

        Yields
        ------
        PersonCounts, bool array of shape (rows,)
            Combinations, and which of them are of rows beyond the most of a person; their values are missing.
        """

    @abstractmethod
    def values(self, column: str) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
        """Yield the distinct values of a column of the source, a missing one too, with the records of each.

        They are those of all records, whoever stays of them; nothing is kept of the question.
        """

    @abstractmethod
    def figures(self, column: str, missing: frozenset[str], fewer_than: int) -> ColumnFigures:
        """Count how a column varies; a text of `missing` is a missing value.

        Raises
        ------
        InvalidData
            Texts mean a missing value in a column that is not text.
        """

    @abstractmethod
    def release(self, rules: ReleaseRules) -> None:
        """Write the release, by class and at random within a class, with random numbers that nobody can know.

        Raises
        ------
        InvalidData
            It would not have as many records as were counted.
        """

    @property
    @abstractmethod
    def released(self) -> pa.Schema:
        """The columns of the release that was written, and their types, as the database tells them."""

    @abstractmethod
    def classes(self, columns: Sequence[str], count: str) -> Iterator[pa.RecordBatch]:
        """Yield the combinations of values of some columns of the release, with the records of each as `count`."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Refuse to read records: none leaves the database."""
        raise InvalidData(
            f"columns {', '.join(map(repr, columns))}: records of a warehouse are not read outside of it; set backend: "
            "arrow to extract them"
        )
