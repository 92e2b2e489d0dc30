"""Somebody has the whole population, and leaves out for each record whom it cannot be.

In: random populations of six people with two quasi-identifiers, and every table of three of them, under 2-map without
suppression, released at one level for all and by local recoding. A record is *found* where fewer than two people are
left. Out, for each kind of release: the share of records that are found by the labels of all records together, which
k-map promises never to be (docs/adr/0011); and by somebody who also runs the code on every table that could have been,
and leaves out those with another release (downcoding, Cohen 2022), against which the criteria promise nothing.
"""

from __future__ import annotations

import itertools
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import engine
from redteam.outcome import Outcome, share

PEOPLE, RECORDS, K = 6, 3, 2
POPULATIONS = 40
AGES = {"20": ("20", "20-39", "*"), "30": ("30", "20-39", "*"), "40": ("40", "40-59", "*"), "50": ("50", "40-59", "*")}
SEXES = {"f": ("f", "*"), "m": ("m", "*")}
CELLS = list(itertools.product(AGES, SEXES))
Cell = tuple[str, str]
Release = tuple[Cell, ...]


def attack(populations: int = POPULATIONS) -> Iterator[Outcome]:
    """Yield two outcomes of each kind of release: knowing the labels, and knowing the code as well."""
    for kind in ("full-domain", "local-recoding"):
        draws, records, by_labels, by_code = np.random.default_rng(7), 0, 0, 0
        for _ in range(populations):
            people = [CELLS[place] for place in draws.integers(0, len(CELLS), PEOPLE).tolist()]
            for release, tables in _releases(people, kind).items():
                everybody = itertools.combinations(range(PEOPLE), RECORDS)
                records += len(tables) * RECORDS
                by_labels += len(tables) * _found(release, people, everybody)
                by_code += len(tables) * _found(release, people, tables)
        name = f"{kind}, {K}-map"
        few = f"records with fewer than {K} people left"
        yield Outcome(f"{few}, by labels", name, records, share(by_labels, records), 0.0, 0.0, exact=True)
        yield Outcome(f"{few}, by code", name, records, share(by_code, records), 0.0, 1.0, exact=True)


def _releases(people: list[Cell], kind: str) -> dict[Release, list[tuple[int, ...]]]:
    """Return the tables, as places of people, that have each release."""
    found: dict[Release, list[tuple[int, ...]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        job = _job(Path(folder), people, kind)
        for table in itertools.combinations(range(PEOPLE), RECORDS):
            release = _released(_table([people[place] for place in table]), job)
            if release is not None:
                found[release].append(table)
    return found


def _found(release: Release, people: list[Cell], tables: Iterable[tuple[int, ...]]) -> int:
    """Return how many records of a release have fewer than K people left, if it is of one of these tables."""
    left: list[set[int]] = [set() for _ in release]
    for table in tables:
        for order in itertools.permutations(table):
            if all(_fits(people[place], cell) for place, cell in zip(order, release, strict=True)):
                for of_record, place in zip(left, order, strict=True):
                    of_record.add(place)
    return sum(len(of_record) < K for of_record in left)


def _released(table: pa.Table, job: engine.Job) -> Release | None:
    try:
        rows = engine.run(job, table).table.to_pylist()
    except engine.NoSolution:
        return None
    return tuple(sorted((row["age"], row["sex"]) for row in rows))


def _job(folder: Path, people: list[Cell], kind: str) -> engine.Job:
    attributes = {}
    for name, hierarchy in (("age", AGES), ("sex", SEXES)):
        path = folder / f"{name}.csv"
        path.write_text("".join(";".join(labels) + "\n" for labels in hierarchy.values()))
        attributes[name] = {"role": "quasi-identifying", "hierarchy": str(path)}
    pq.write_table(_table(people), folder / "people.parquet")
    return engine.load_job(
        {
            "name": "small",
            "transformation": kind,
            "unit": "record",
            "attributes": attributes,
            "privacy": [{"model": "k-map", "k": K, "population": str(folder / "people.parquet")}],
            "allow_empty_information": True,
        }
    )


def _table(people: list[Cell]) -> pa.Table:
    return pa.table({"age": [age for age, _ in people], "sex": [sex for _, sex in people]})


def _fits(person: Cell, cell: Cell) -> bool:
    return cell[0] in AGES[person[0]] and cell[1] in SEXES[person[1]]
