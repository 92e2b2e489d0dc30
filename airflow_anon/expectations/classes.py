"""The sizes of the equivalence classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.records import MARK
from engine import Count, Finding, Message


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

    def judge(self, records: pa.Table) -> Finding:
        """Count the records of each class; a missing value is a value."""
        sizes = class_sizes(records, self.quasi_identifiers)
        below = int((sizes < self.minimum).sum())
        return Finding(
            self.expectation_type,
            holds=below == 0,
            observed=int(sizes.min()) if len(sizes) else None,
            required=self.minimum,
            column=None,
            message=Message.of(
                "{below} of {classes} equivalence classes have fewer than {minimum} records",
                below=Count(below),
                classes=Count(len(sizes)),
                minimum=self.minimum,
            ),
        )


def class_sizes(records: pa.Table, quasi_identifiers: Sequence[str]) -> pd.Series:
    """Count the records of each equivalence class; a missing value is a value.

    It uses pandas, so it shares nothing with the recount of the privacy models, which groups with Arrow.
    """
    frame = records.select(quasi_identifiers).to_pandas(types_mapper=pd.ArrowDtype)
    return frame.groupby(list(quasi_identifiers), dropna=False, sort=False).size()


def classes_beside(
    records: pa.Table, quasi_identifiers: Sequence[str], people: pa.Table | None, *, starred: bool
) -> pd.DataFrame:
    """Count the records and the people of each equivalence class of a release, in the columns `records` and `people`.

    Parameters
    ----------
    people : pyarrow Table, optional
        The result of `people_by_labels`; without it people are not counted.
    starred : bool
        Whether suppressed records are in the release. With them belong all people of classes that it does not have.
    """
    keys = [str(place) for place in range(len(quasi_identifiers))]
    labels = pa.Table.from_arrays([records[name].cast(pa.string()) for name in quasi_identifiers], names=keys)
    parts = [labels.to_pandas(types_mapper=pd.ArrowDtype).assign(records=1, people=0)]
    if people is not None:
        parts.append(people.drop_columns("released").to_pandas(types_mapper=pd.ArrowDtype).assign(records=0))
    counted = pd.concat(parts, ignore_index=True).groupby(keys, dropna=False, sort=False)[["records", "people"]].sum()
    counted = counted.astype("int64").reset_index()
    there = counted["records"] > 0
    if starred:
        mark = pd.concat([counted[key].fillna("").eq(MARK).astype(bool) for key in keys], axis=1).all(axis=1)
        counted["people"] = counted["people"].mask(mark, counted["people"][mark | ~there].sum())
    return counted.loc[there, ["records", "people"]].reset_index(drop=True)
