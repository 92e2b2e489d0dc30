"""Adds a ZIP code to each record of a table: that of a person of the same age, sex and race.

Xia et al., R-U policy frontiers for health data de-identification, JAMIA 22:1029, 2015, section Materials: the records
of the adult table are given the ZIP codes of the people of a state with their demographics. No two records get the same
person, so a combination has no more records than people, except for records without any matching person.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.errors import InvalidData
from engine.message import Count, Message

_LIKE = (("age", "sex", "race"), ("sex", "race"), ("race",), ())
"""Columns in which a person matches a record: if nobody is left, the age may differ, then the sex, then all."""


def with_zip(table: pa.Table, population: pa.Table, seed: int = 1) -> pa.Table:
    """Add a column `zip`.

    Parameters
    ----------
    table : pyarrow Table
        With the columns `age`, `sex` and `race`, and without `zip`.
    population : pyarrow Table
        Columns `zip`, `age`, `sex`, `race`, `persons`, as `engine.frontiers.simulated_population.population` makes it.
    seed : int
        The same seed gives the same ZIP codes.

    Returns
    -------
    pyarrow Table

    Raises
    ------
    InvalidData
        A column is missing, there is a column `zip` already, or the population has fewer people than the table has
        records.
    """
    _check(table, population)
    random = np.random.default_rng(seed)
    keys = {name: _codes(table[name], population[name]) for name in ("age", "sex", "race")}
    left = np.array(population["persons"], np.int64)
    row = np.full(table.num_rows, -1, np.int64)
    for names in _LIKE:
        waiting = np.flatnonzero(row < 0)
        records, people = _joined([keys[name] for name in names], table.num_rows, left.size)
        row[waiting] = _draw(records[waiting], people, left, random)
    return table.append_column("zip", population["zip"].cast(pa.string()).take(pa.array(row)))


def _check(table: pa.Table, population: pa.Table) -> None:
    for name, columns, needed in (
        ("table", table.column_names, {"age", "sex", "race"}),
        ("population", population.column_names, {"zip", "age", "sex", "race", "persons"}),
    ):
        missing = sorted(needed - set(columns))
        if missing:
            raise InvalidData(f"{name}: lacks the columns {', '.join(map(repr, missing))}")
    if "zip" in table.column_names:
        raise InvalidData("table: has a column 'zip' already; rename or drop it")
    people = pc.sum(population["persons"]).as_py() or 0
    if people < table.num_rows:
        raise InvalidData(
            Message.of(
                "population: has {people} people and the table {records} records; every record needs a person",
                people=Count(people),
                records=Count(table.num_rows),
            )
        )


def _codes(records: pa.ChunkedArray, people: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return numbers of the values of a column, the same in both tables."""
    texts = pa.chunked_array([*records.cast(pa.string()).chunks, *people.cast(pa.string()).chunks], pa.string())
    codes = np.array(texts.combine_chunks().dictionary_encode(null_encoding="encode").indices, np.int64)
    return codes[: len(records)], codes[len(records) :]


def _joined(
    keys: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], records: int, people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Combine the numbers of some columns into one number."""
    of_records, of_people = np.zeros(records, np.int64), np.zeros(people, np.int64)
    for record_codes, person_codes in keys:
        width = 1 + max(int(record_codes.max(initial=0)), int(person_codes.max(initial=0)))
        of_records = of_records * width + record_codes
        of_people = of_people * width + person_codes
    return of_records, of_people


def _draw(
    records: NDArray[np.int64], people: NDArray[np.int64], left: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a person for each record, among the remaining people with the same number.

    Parameters
    ----------
    records : int64, shape (records,)
    people : int64, shape (rows,)
    left : int64, shape (rows,)
        People left in each row of the population; counted down in place.

    Returns
    -------
    int64, shape (records,)
        Row of the population, -1 if nobody is left.
    """
    found = np.full(records.size, -1, np.int64)
    by_number = np.argsort(people, kind="stable")
    by_record = np.argsort(records, kind="stable")
    numbers, starts, wanted = np.unique(records[by_record], return_index=True, return_counts=True)
    first = np.searchsorted(people[by_number], numbers, "left")
    last = np.searchsorted(people[by_number], numbers, "right")
    for start, want, begin, end in zip(*map(np.ndarray.tolist, (starts, wanted, first, last)), strict=True):
        rows = by_number[begin:end]
        reached = np.cumsum(left[rows])
        total = int(reached[-1]) if rows.size else 0
        drawn = random.choice(total, min(want, total), replace=False) if total else np.empty(0, np.int64)
        chosen = rows[np.searchsorted(reached, drawn, "right")]
        found[by_record[start : start + chosen.size]] = chosen
        np.subtract.at(left, chosen, 1)
    return found
