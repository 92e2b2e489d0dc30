"""The sizes of the equivalence classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.records import Marked, kept_records
from engine import Count, Finding, Message


class ExpectClassesToHoldAtLeast(ReleaseExpectation):
    """Every equivalence class of the kept records has at least a minimum number of records.

    Parameters
    ----------
    minimum : int
        Smallest class, in records, that all privacy models together imply.
    quasi_identifiers : list of str
    marked : {"none", "some", "all"}
        How many records of the release are suppressed ones, by its report.
    """

    minimum: int
    quasi_identifiers: list[str]
    marked: Marked

    success_keys: ClassVar[tuple[str, ...]] = ("minimum", "quasi_identifiers", "marked")
    template: ClassVar[str] = "Every equivalence class over $quasi_identifiers must hold at least $minimum records."

    def read_columns(self) -> list[str]:
        """Quasi-identifiers."""
        return self.quasi_identifiers

    def judge(self, records: pa.Table) -> Finding:
        """Count the records of each class; a missing value is a value."""
        kept = kept_records(records, self.quasi_identifiers, self.marked)
        sizes = class_sizes(kept, self.quasi_identifiers)
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


def class_sizes(kept: pa.Table, quasi_identifiers: Sequence[str]) -> pd.Series:
    """Count the records of each equivalence class; a missing value is a value.

    It uses pandas, so it shares nothing with the recount of the privacy models, which groups with Arrow.
    """
    frame = kept.select(quasi_identifiers).to_pandas(types_mapper=pd.ArrowDtype)
    return frame.groupby(list(quasi_identifiers), dropna=False, sort=False).size()


def classes_beside(
    kept: pa.Table, quasi_identifiers: Sequence[str], kept_rows: int, people: pa.Table | None
) -> pd.DataFrame:
    """Count the kept records and the people of each equivalence class, in the columns `records` and `people`.

    Parameters
    ----------
    kept_rows : int
        Number of kept records; records that `kept` lacks, or has in excess, are `*` in all columns.
    people : pyarrow Table, optional
        The result of `people_by_labels`; without it people are not counted.
    """
    keys = [str(place) for place in range(len(quasi_identifiers))]
    labels = pa.Table.from_arrays([kept[name].cast(pa.string()) for name in quasi_identifiers], names=keys)
    parts = [labels.to_pandas(types_mapper=pd.ArrowDtype).assign(records=1, people=0)]
    alike = pa.table({key: ["*"] for key in keys}).to_pandas(types_mapper=pd.ArrowDtype)
    parts.append(alike.assign(records=kept_rows - kept.num_rows, people=0))
    if people is not None:
        parts.append(people.drop_columns("released").to_pandas(types_mapper=pd.ArrowDtype).assign(records=0))
    counted = pd.concat(parts, ignore_index=True).groupby(keys, dropna=False, sort=False)[["records", "people"]].sum()
    return counted[counted["records"] > 0].astype("int64").reset_index(drop=True)
