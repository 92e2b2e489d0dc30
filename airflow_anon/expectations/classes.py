"""The sizes of the equivalence classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_table import MARK
from engine import Count, Finding, Message

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_anon.expectations.class_table import ClassTable


class ExpectClassesToHoldAtLeast(ReleaseExpectation):
    """Every equivalence class of the release, that of the suppressed records included, has a minimum number of records.

    Parameters
    ----------
    minimum : int
        Smallest class, in records, that all privacy models together imply.
    quasi_identifiers : list of str
    """

    minimum: int
    quasi_identifiers: list[str]

    success_keys: ClassVar[tuple[str, ...]] = ("minimum", "quasi_identifiers")
    template: ClassVar[str] = "Every equivalence class over $quasi_identifiers must hold at least $minimum records."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers."""
        return self.quasi_identifiers

    def judge(self, release: ClassTable) -> Finding:
        """Count the records of each class; a missing value is a value."""
        sizes = release.sizes
        below = int((sizes < self.minimum).sum())
        return Finding(
            self.expectation_type,
            holds=below == 0,
            observed=int(sizes.min()) if len(sizes) else None,
            required=self.minimum,
            column=None,
            message=Message.of(
                "equivalence classes with fewer than {minimum} records: {below} of {classes}",
                below=Count(below),
                classes=Count(len(sizes)),
                minimum=self.minimum,
            ),
        )


def classes_beside(release: ClassTable, people: pa.Table | None, *, starred: bool) -> pd.DataFrame:
    """Count the records and the people of each equivalence class of a release, in the columns `records` and `people`.

    Parameters
    ----------
    people : pyarrow Table, optional
        The result of `people_beside`; without it people are not counted.
    starred : bool
        Whether suppressed records are in the release. With them belong all people of classes that it does not have.
    """
    if people is None:
        return pd.DataFrame({"records": release.sizes, "people": 0})
    labels = release.text()
    keys = labels.column_names
    parts = [
        labels.to_pandas(types_mapper=pd.ArrowDtype).assign(records=release.sizes, people=0),
        people.select([*keys, "people"]).to_pandas(types_mapper=pd.ArrowDtype).assign(records=0),
    ]
    counted = pd.concat(parts, ignore_index=True).groupby(keys, dropna=False, sort=False)[["records", "people"]].sum()
    counted = counted.astype("int64").reset_index()
    there = counted["records"] > 0
    if starred:
        mark = pd.concat([counted[key].fillna("").eq(MARK).astype(bool) for key in keys], axis=1).all(axis=1)
        counted["people"] = counted["people"].mask(mark, counted["people"][mark | ~there].sum())
    return counted.loc[there, ["records", "people"]].reset_index(drop=True)
