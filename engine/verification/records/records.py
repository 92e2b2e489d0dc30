"""Input of a recount: the classes of an output, those that are kept, and how many records they have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from engine.tables.class_table import ClassTable
from engine.verification.records.sensitive import SensitiveAttribute


@dataclass(frozen=True)
class Records:
    """The records of an output, counted by class.

    Attributes
    ----------
    table : ClassTable
        All of them; suppressed ones keep their sensitive values, so that this is the distribution classes are
        compared with.
    kept : ClassTable
        Those that are not suppressed; their equivalence classes are judged.
    sensitive : SensitiveAttribute
        Of the attribute that the model names.
    kept_rows : int
        How many are not suppressed. It differs from the rows of `kept` where kept records are `*` throughout, as
        suppressed ones are: the output alone cannot tell them apart.
    rows : int
        Records before suppressed ones were dropped.
    population : pyarrow Table, optional
        The population by class, of `Population.at`.
    minimum_class_size : int
        Records that the models of the job together demand of a class.
    as_file : bool
        Whether `kept` is the whole file, and the records that are `*` throughout are the class of the suppressed ones:
        to it belong all people of classes that are not released.
    """

    table: ClassTable
    kept: ClassTable
    sensitive: SensitiveAttribute
    kept_rows: int
    rows: int
    population: pa.Table | None = None
    minimum_class_size: int = 1
    as_file: bool = False

    def beside(self, population: pa.Table) -> Records:
        """Return the same records beside a population."""
        return replace(self, population=population)

    def whole(self) -> Records:
        """Return the records as whoever holds the file sees them: suppressed ones are one more class."""
        return replace(self, kept=self.table, kept_rows=self.table.rows, as_file=True)
