"""The records of a release with their persons, as models judge them: found in the staged source with pandas.

A class is kept if the release has its cell. Where whole persons are left out, those are kept who satisfy the models
among themselves (`pictures`). What comes out must be the records of the release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.pictures import fewest_values, kept_by_parts, kept_by_pictures, rarest_parts
from airflow_anon.expectations.source_records import CELL, has_of, source_records, value_of

if TYPE_CHECKING:
    from airflow_anon.expectations.class_table import ClassTable
    from airflow_anon.expectations.source_records import Asked


@dataclass(frozen=True)
class PersonsOfFile:
    """The records of a release: `cell`, `person`, whether it is `kept`, and each sensitive attribute (`value_of`).

    `cell` is the class that models judge: the equivalence class, or the group of persons with equal pictures.

    Attributes
    ----------
    number : int
        Distinct persons of the source.
    values : dict of attribute to pyarrow Array
        The value of each code.
    left_out : int or None
        Rows beyond the `max_rows` of a person; None without.
    rows : int
        Records to release, the suppressed ones included.
    parts : Series or None
        Persons who share the rarest part of each person's picture, if attackers know some rows.
    shared : list of Series
        Then, of each model of the job in its order, that number, or the fewest distinct values of who shares a part.
    """

    records: pd.DataFrame
    number: int
    values: dict[str, pa.Array]
    left_out: int | None
    rows: int
    parts: pd.Series | None = None
    shared: list[pd.Series] = field(default_factory=list)

    def sizes(self) -> pd.DataFrame:
        """Return `persons` and `records` of each class."""
        by_class = self.records.groupby(CELL)["person"]
        return pd.DataFrame({"persons": by_class.nunique(), "records": by_class.size()})

    def smallest_classes(self) -> pd.Series:
        """Return the persons among whom each person is found: of the smallest class, or who share a part."""
        if self.parts is not None:
            return self.parts
        sizes = self.records[CELL].map(self.sizes()["persons"])
        return sizes.groupby(self.records["person"]).min()

    @property
    def persons_without_kept(self) -> int:
        """Persons of whom no record is kept."""
        return self.number - int(self.records.loc[self.records["kept"], "person"].nunique())

    def counted(self, attribute: str | None, *, kept: bool) -> tuple[pa.Table, pa.Table]:
        """Return the persons once for each value in the release, and once for each value in each class."""
        chosen = self.records[self.records["kept"]] if kept else self.records
        if attribute is None:
            classes = self._table(chosen[[CELL, "person"]].drop_duplicates(), None)
            return classes, classes
        column, has = value_of(attribute), has_of(attribute)
        chosen = chosen[chosen[has]]
        whole = self.records.loc[self.records[has], ["person", column]].drop_duplicates().assign(**{CELL: 0})
        return self._table(whole, attribute), self._table(chosen[[CELL, "person", column]].drop_duplicates(), attribute)

    def _table(self, rows: pd.DataFrame, attribute: str | None) -> pa.Table:
        cells = pa.array(rows[CELL].to_numpy()).cast(pa.string())
        if attribute is None:
            return pa.table({CELL: cells})
        return pa.table({CELL: cells, attribute: self.values[attribute].take(pa.array(rows[value_of(attribute)]))})


def persons_of(of: Asked, release: ClassTable) -> PersonsOfFile | None:
    """Give the records of a release their persons; None if they are not those of the source.

    Raises
    ------
    InvalidData
        The source is not given, or cannot be read, or lacks a column or a person.
    """
    source = source_records(of, release)
    records, rows = source.records, len(source.records)
    if of.knows == "any-row":
        kept = records[CELL].isin(set(source.released)) & ~records["refused"]
        if of.suppressed == "star" and (~kept).sum() < of.reported_suppressed:
            # a class that is * by its own labels is one of those that are suppressed
            kept &= records[CELL] != source.star
        file = records.assign(**{CELL: records[CELL].where(kept, source.star), "kept": kept})
        file = file[kept] if of.suppressed == "drop" else file
        found = PersonsOfFile(file, source.number, source.values, source.left_out, rows)
        return found if source.agree(file) else None
    if of.known_rows:
        file = kept_by_parts(records, source.values, of).assign(kept=True)
        parts = rarest_parts(file, of.known_rows)
        shared = [
            fewest_values(file, source.values, model, of.known_rows) if "attribute" in model else parts
            for model in of.models
        ]
        found = PersonsOfFile(file, source.number, source.values, source.left_out, rows, parts, shared)
        return found if source.agree(file) else None
    file = kept_by_pictures(records, source.values, of).assign(kept=True)
    groups = file.assign(**{CELL: file["group"]})
    found = PersonsOfFile(groups, source.number, source.values, source.left_out, rows)
    return found if source.agree(file) else None
