"""The population of a job inside a validation: people by labels, and how many of them are released.

Read batch by batch and counted with pandas, so it shares nothing with the engine's verification except the rows of
hierarchies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from airflow_anon.expectations.file_texts import header_of, texts_in
from airflow_anon.expectations.labels_of_values import labels_of
from airflow_anon.expectations.listed_people import ListedPeople
from engine import InvalidData

PERSONS = "persons"
"""The column of a population file with the number of persons per row."""
_COUNTS = ("people", "released")
_TEXT = pd.ArrowDtype(pa.string())
_WAITING = 1 << 20
"""Tuples of batches that wait until they are added up; more where there are more distinct ones."""


def people_by_labels(population: Mapping[str, Any]) -> pa.Table | None:
    """Count the people by their labels.

    Returns
    -------
    pyarrow Table or None
        One text column for each quasi-identifier, in their order; `people` and `released`, int64. None for a job
        without a population.

    Raises
    ------
    InvalidData
        A file cannot be read, or values have no entry in the hierarchy.
    """
    if not population:
        return None
    places = [str(place) for place in range(len(population["attributes"]))]
    return _by_labels(population, distinct_people(population), places)


def distinct_people(population: Mapping[str, Any]) -> pd.DataFrame:
    """Return the distinct tuples of values of a population, with `people` and `released` beside them.

    Raises
    ------
    InvalidData
        A file cannot be read.
    """
    if population["people"]["path"] is None:
        raise InvalidData("the extracted source is compared with the release and is not given; give its path as source")
    names = list(population["attributes"])
    places = [str(place) for place in range(len(names))]
    listed = ListedPeople(population["subset"]) if population["subset"] else None
    header = header_of(population["people"], "population")
    if listed is not None and not set(listed.columns) <= set(header):
        raise InvalidData("subset: has columns that the extracted source lacks; check its header and the delimiter")
    lacking = [name for name in names if name not in header]
    if lacking:
        raise InvalidData(f"population: lacks the columns {', '.join(lacking)}; give the one the release was made of")
    wanted = dict.fromkeys(
        [*names, *([PERSONS] if PERSONS in header else []), *([] if listed is None else listed.columns)]
    )
    tuples = _Tuples(places)
    for people in texts_in(population["people"], "population", list(wanted)):
        persons = _persons(population, people)
        released = np.zeros(len(people), np.int64) if listed is None else listed.released(people)
        part = pd.DataFrame({place: people[name] for place, name in zip(places, names, strict=True)})
        part = part.assign(people=persons, released=released)
        tuples.add(part[persons > 0])
    if listed is not None:
        listed.check_complete()
    return tuples.summed()


def _by_labels(population: Mapping[str, Any], found: pd.DataFrame, places: Sequence[str]) -> pa.Table:
    labels = {
        place: labels_of(name, found[place], attribute, population["levels"][name])
        for place, (name, attribute) in zip(places, population["attributes"].items(), strict=True)
    }
    frame = pd.DataFrame({place: label for place, (label, _) in labels.items()}, index=found.index)
    frame = frame.assign(**{name: found[name] for name in _COUNTS})
    for _, refused in labels.values():
        frame = frame[~refused.loc[frame.index]]
    counted = frame.groupby(list(places), dropna=False, sort=False)[list(_COUNTS)].sum().reset_index()
    columns = [pa.array([None if pd.isna(v) else v for v in counted[place]], pa.string()) for place in places]
    counts = [pa.array(counted[name].to_numpy(np.int64), pa.int64()) for name in _COUNTS]
    return pa.Table.from_arrays([*columns, *counts], names=[*places, *_COUNTS])


class _Tuples:
    """Distinct tuples of values with their people, added up from time to time: memory grows with the tuples alone."""

    def __init__(self, places: Sequence[str]) -> None:
        self._places = list(places)
        self._found = [pd.DataFrame({place: pd.Series(dtype=_TEXT) for place in places}).assign(people=0, released=0)]
        self._waits = 0

    def add(self, people: pd.DataFrame) -> None:
        """Add the people of a batch."""
        part = self._sum(people)
        self._found.append(part)
        self._waits += len(part)
        if self._waits > max(_WAITING, len(self._found[0])):
            self.summed()

    def summed(self) -> pd.DataFrame:
        """Return every tuple once, with the sums of `people` and `released`."""
        self._found, self._waits = [self._sum(pd.concat(self._found, ignore_index=True))], 0
        return self._found[0]

    def _sum(self, people: pd.DataFrame) -> pd.DataFrame:
        counts = people.groupby(self._places, dropna=False, sort=False)[list(_COUNTS)].sum()
        return counts.astype("int64").reset_index()


def _persons(population: Mapping[str, Any], people: pd.DataFrame) -> pd.Series:
    """Return the number of persons of each row; each record of a source is one person.

    Raises
    ------
    InvalidData
        The column `persons` has values other than whole numbers from 0.
    """
    weighted = population.get("weighted", False) and PERSONS not in population["attributes"]
    if not weighted or PERSONS not in people.columns:
        return pd.Series(1, index=people.index)
    numbers = {text: _whole(text) for text in people[PERSONS].unique()}
    if None in numbers.values():
        raise InvalidData(
            f"population: the column {PERSONS!r} says how many persons a row stands for, and holds something else than "
            "whole numbers from 0; give the file that the release was made of"
        )
    return people[PERSONS].map(numbers).astype("int64")


def _whole(text: Any) -> int | None:
    """Return a text such as `3`, or `3.00` from a column of decimals, as a whole number from 0; else None."""
    try:
        number = Decimal(text)
    except (InvalidOperation, TypeError):
        return None
    return int(number) if number.is_finite() and number >= 0 and number == int(number) else None
