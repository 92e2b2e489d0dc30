"""What the columns of a table hold: type, missing values, distinct values, how often the most frequent one occurs.

In: a `Table`, of which the first records are read. Out: one `Profile` per column. A profile has values of records in
`values`, which only the choice of a hierarchy reads: nothing of them may be written or told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from engine.errors import InvalidData
from engine.hierarchy.builders.date import Date, Format
from engine.identifiers.kinds import Kind
from engine.identifiers.names import kind_of_name
from engine.identifiers.values import kind_of_values
from engine.linter.findings import FEWEST_RECORDS, NEARLY_UNIQUE
from engine.tables.sources.column_text import as_text
from engine.tables.sources.table import Table

Type = Literal["empty", "integer", "decimal", "date", "text", "other"]
FORMATS: tuple[Format, ...] = (
    "YYYY-MM-DD",
    "YYYYMMDD",
    "YYYY/MM/DD",
    "DD.MM.YYYY",
    "DD/MM/YYYY",
    "MM/DD/YYYY",
    "DD-MM-YYYY",
    "DDMonYYYY",
)
MISSING = frozenset(
    {
        "",
        " ",
        "?",
        "-",
        "--",
        ".",
        "NA",
        "N/A",
        "n/a",
        "na",
        "NaN",
        "nan",
        "NULL",
        "null",
        "None",
        "none",
        "\\N",
        "#N/A",
    }
)
"""Texts that mean a missing value; those among them that a column has are written into its job."""
_KEPT = 200_000
"""Distinct values of a column that are held; of a column with more, the others are only counted."""
_LOOKED_AT = 5_000
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,2})?")
_EARLIEST, _LATEST = 1850, 2100
"""Years of dates that are written without separators: other numbers of eight digits are none."""


@dataclass(frozen=True)
class Profile:
    """What one column holds.

    Attributes
    ----------
    column : str
    type : {"empty", "integer", "decimal", "date", "text", "other"}
        By the values, whatever the type of the column is; `other` has no text form.
    records, missing : int
        Records read, and those of them without a value.
    missing_texts : tuple of str
        The texts among them that mean a missing value.
    distinct : int
        Distinct values; of a column with very many, at least that.
    most_frequent : int
        Records with the most frequent value.
    repeats : bool
        Whether some two records have the same value.
    format : Format or None
        How dates are written.
    named, seen : Kind or None
        The kind of identifier that the name, or the values, look like.
    values : tuple of str
        Distinct values, never to be told.
    """

    column: str
    type: Type
    records: int
    missing: int
    missing_texts: tuple[str, ...]
    distinct: int
    most_frequent: int
    repeats: bool
    format: Format | None
    named: Kind | None
    seen: Kind | None
    values: tuple[str, ...] = field(repr=False)

    @property
    def present(self) -> int:
        """Records with a value."""
        return self.records - self.missing

    @property
    def kind(self) -> Kind | None:
        """The kind of identifier: by the values, else by the name, which may be of a mere indicator."""
        if self.seen is not None and self.seen != "free-text":
            return self.seen
        is_indicator = self.distinct <= 2 < self.present  # noqa: PLR2004 (yes and no)
        named = None if is_indicator and self.type != "date" else self.named
        return named or self.seen

    @property
    def is_nearly_unique(self) -> bool:
        """Whether the linter would refuse to release the column as it is, or nearly so."""
        return self.present >= FEWEST_RECORDS // 2 and self.distinct >= NEARLY_UNIQUE * self.present

    @property
    def largest_share(self) -> float:
        """Share of the records with the most frequent value, among those with a value."""
        return self.most_frequent / self.present if self.present else 0.0


class _Column:
    """The values of one column, while it is read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts: Counter[str | None] = Counter()
        self.is_opaque = False
        self.further = 0

    def see(self, column: pa.Array) -> None:
        try:
            texts = as_text(column, self.name)
        except InvalidData:
            self.is_opaque = True
            self.counts[None] += len(column)
            return
        for entry in pc.value_counts(texts).to_pylist():
            value = entry["values"]
            if value in self.counts or len(self.counts) < _KEPT:
                self.counts[value] += entry["counts"]
            else:
                self.further += entry["counts"]

    def profile(self) -> Profile:
        absent = {value for value in self.counts if value is None or value in MISSING}
        missing = sum(self.counts[value] for value in absent)
        records = self.counts.total() + self.further
        values = tuple(value for value in self.counts if value is not None and value not in absent)
        most = max((self.counts[value] for value in values), default=0)
        form = None if self.is_opaque else _format(values)
        return Profile(
            column=self.name,
            type="other" if self.is_opaque else _type(values, form),
            records=records,
            missing=missing,
            missing_texts=tuple(sorted(value for value in absent if value is not None)),
            distinct=len(values) + self.further,
            most_frequent=most,
            repeats=most > 1,
            format=form,
            named=kind_of_name(self.name),
            seen=kind_of_values(values[:_LOOKED_AT]),
            values=values,
        )


def profiles(table: Table, columns: Sequence[str], most: int) -> Mapping[str, Profile]:
    """Profile the columns of a table, by its first records.

    Parameters
    ----------
    most : int
        Records after which the reading stops.

    Raises
    ------
    InvalidData
        The source is damaged.
    """
    seen = {name: _Column(name) for name in columns}
    read = 0
    for batch in table.batches(list(columns)):
        for name, column in seen.items():
            column.see(batch.column(name).slice(0, min(most - read, batch.num_rows)))
        read += batch.num_rows
        if read >= most:
            break
    return {name: column.profile() for name, column in seen.items()}


def _type(values: Sequence[str], form: Format | None) -> Type:
    if not values:
        return "empty"
    if form is not None:
        return "date"
    if all(map(_INTEGER.fullmatch, values)):
        return "integer"
    return "decimal" if all(map(_DECIMAL.fullmatch, values)) else "text"


def _format(values: Sequence[str]) -> Format | None:
    """Return the first format in which all values are dates."""
    for form in FORMATS:
        builder = Date(format=form, levels=("year",))
        first = builder.rows(values[:1])
        rows = builder.rows(values) if first else []
        likely = form != "YYYYMMDD" or all(_EARLIEST <= int(row[1]) <= _LATEST for row in rows)
        if rows and len(rows) == len(values) and likely:
            return form
    return None
