"""People whom a file lists for release: a research subset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from airflow_anon.expectations.file_texts import header_of, texts_in
from engine import Count, InvalidData, Message


def listed_rows(population: Mapping[str, Any]) -> int | None:
    """Return the rows of the subset's file, None if no subset is released."""
    if not population or not population["subset"]:
        return None
    columns = header_of(population["subset"], "subset")
    return sum(len(rows) for rows in texts_in(population["subset"], "subset", columns))


class ListedPeople:
    """The rows of a subset's file, by their values: how many people like each are released, and are not found yet."""

    def __init__(self, file: Mapping[str, Any]) -> None:
        self.columns = header_of(file, "subset")
        parts = [
            rows.fillna("").groupby(self.columns, sort=False).size() for rows in texts_in(file, "subset", self.columns)
        ]
        wanted = pd.concat(parts).groupby(self.columns, sort=False).sum() if parts else pd.Series(dtype="int64")
        self._keys = _keys(wanted.reset_index()[self.columns]) if parts else pd.MultiIndex.from_arrays([[]])
        self._left = wanted.to_numpy(np.int64).copy()

    def released(self, people: pd.DataFrame) -> NDArray[np.int64]:
        """Tell the people of a batch who are listed, 1 or 0: of those with equal values the first, as many as rows."""
        if not self._left.size:
            return np.zeros(len(people), np.int64)
        row = self._keys.get_indexer(_keys(people[self.columns].fillna("")))
        place = pd.Series(row).groupby(row).cumcount().to_numpy()
        released = (row >= 0) & (place < self._left[row])
        self._left -= np.bincount(row[released], minlength=self._left.size)
        return released.astype(np.int64)

    def check_complete(self) -> None:
        """Refuse rows that are like no record.

        Raises
        ------
        InvalidData
            There are some.
        """
        unmatched = int(self._left.sum())
        if unmatched:
            text = "subset: rows that are no records of the source: {unmatched}"
            raise InvalidData(Message.of(text, unmatched=Count(unmatched)))


def _keys(rows: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([rows[name].to_numpy(object) for name in rows])
