"""The tables of the frontier benchmarks: adult with ZIP codes of simulated states, and samples of their people.

In: the name of a state. Out: its policy space, its frequency table, and what Safe Harbor is in it. All four
quasi-identifiers are ordered, as bits of a policy need no more than an order: ZIP codes and races by their text.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 (the project root must be on the path)
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.csv  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from engine.frontiers.compare.k_anonymity import KAnonymous, k_anonymity_frontiers  # noqa: E402
from engine.frontiers.compare.safe_harbor_rule import SafeHarbor, populated_areas, safe_harbor  # noqa: E402
from engine.frontiers.measures.along_paths import Measures, Point  # noqa: E402
from engine.frontiers.measures.any_partition import point_of  # noqa: E402
from engine.frontiers.measures.risk_marketer import MARKETER  # noqa: E402
from engine.frontiers.measures.utility_kl_divergence import KL_DIVERGENCE  # noqa: E402
from engine.frontiers.simulated_population import population, with_zip  # noqa: E402
from engine.frontiers.simulated_population.generator import MAXIMUM_AGE  # noqa: E402
from engine.frontiers.simulated_population.shapes import RACES, SEXES  # noqa: E402
from engine.frontiers.space.domain import PolicySpace, policy_space  # noqa: E402
from engine.frontiers.space.tuples import Tuples  # noqa: E402
from engine.hierarchy.hierarchy import Hierarchy  # noqa: E402
from engine.tables.counting.distinct_tuples import frequency_table  # noqa: E402
from engine.tables.counting.frequency import FrequencyTable  # noqa: E402

ADULT = ROOT.parent / "shared" / "data" / "adult" / "adult.csv"
ATTRIBUTES = ("zip", "age", "sex", "race")
ORDERS = {"zip": "text", "age": "integer", "sex": "text", "race": "text"}
KINDS = {"zip": "zip", "age": "age"}


@dataclass(frozen=True, eq=False)
class State:
    """A table and its population."""

    name: str
    space: PolicySpace
    table: FrequencyTable

    def measures(self) -> Measures:
        """Return marketer risk and Kullback-Leibler divergence."""
        return Measures(self.space, Tuples.of(self.table, self.space), MARKETER, KL_DIVERGENCE)

    def rule(self) -> SafeHarbor:
        """Return Safe Harbor by the people of the population."""
        areas = populated_areas(self.space.domains[0], self.table.codes[0], self.table.population)
        return safe_harbor(self.space, KINDS, areas, dt.date(2015, 1, 1))  # no column is a date

    def safe_harbor(self) -> Point:
        """Measure Safe Harbor, areas of 000 that lie apart included."""
        return point_of(self.rule().classes, Tuples.of(self.table, self.space), MARKETER, KL_DIVERGENCE)

    def k_anonymity(
        self, measures: Measures, ks: Sequence[int], suppression_limit: float = 0.0
    ) -> dict[int, list[KAnonymous]]:
        """Return the frontiers of full-domain generalization by balanced hierarchies."""
        return k_anonymity_frontiers(self.space, self.table, ks, measures.at, suppression_limit)


def adult_of(name: str, seed: int = 1) -> State:
    """Give the records of adult ZIP codes of a simulated state, which is their population."""
    options = pa.csv.ParseOptions(delimiter=";")
    records = pa.csv.read_csv(ADULT, parse_options=options).select(["age", "sex", "race"])
    people = population(name, seed=seed)
    zips = _zips(people)
    table = with_zip(records, people, seed)
    codes = _codes(table, zips)
    return _state(f"adult-{name}", zips, codes, np.ones(codes.shape[1], np.int64), people)


def sample_of(name: str, records: int, seed: int = 1, zips_joined: int = 1) -> State:
    """Draw records from the people of a simulated state, each person at most once.

    Parameters
    ----------
    zips_joined : int
        How many neighbouring ZIP codes are taken as one: a smaller domain.
    """
    people = population(name, seed=seed)
    zips = _zips(people)
    persons = np.array(people["persons"], np.int64)
    drawn = np.random.default_rng(seed).choice(int(persons.sum()), records, replace=False)
    rows = np.searchsorted(np.cumsum(persons), drawn, "right")
    codes = _codes(people, zips)[:, rows]
    return _state(f"{records:,} of {name}", zips, codes, np.ones(records, np.int64), people, zips_joined)


def _zips(people: pa.Table) -> list[str]:
    return sorted(pc.unique(people["zip"].cast(pa.string())).to_pylist())


def _codes(table: pa.Table, zips: Sequence[str]) -> NDArray[np.int32]:
    """Return the leaf codes of rows, int32, shape (4, rows)."""
    codes = np.empty((len(ATTRIBUTES), table.num_rows), np.int32)
    codes[0] = pc.index_in(table["zip"].cast(pa.string()), value_set=pa.array(zips)).to_numpy()
    codes[1] = table["age"].to_numpy()
    codes[2] = pc.index_in(table["sex"].cast(pa.string()), value_set=pa.array(SEXES)).to_numpy()
    codes[3] = pc.index_in(table["race"].cast(pa.string()), value_set=pa.array(RACES)).to_numpy()
    return codes


def _state(
    name: str,
    zips: Sequence[str],
    codes: NDArray[np.int32],
    counts: NDArray[np.int64],
    people: pa.Table,
    zips_joined: int = 1,
) -> State:
    codes = np.concatenate([codes, _codes(people, zips)], axis=1)
    codes[0] //= zips_joined
    leaves = [list(zips)[::zips_joined], [str(age) for age in range(MAXIMUM_AGE + 1)], list(SEXES), list(RACES)]
    hierarchies = [
        Hierarchy(attribute, [(leaf, "*") for leaf in own]) for attribute, own in zip(ATTRIBUTES, leaves, strict=True)
    ]
    persons = np.array(people["persons"], np.int64)
    table = frequency_table(
        ATTRIBUTES,
        hierarchies,
        {},
        np.ascontiguousarray(codes.T),
        np.concatenate([counts, np.zeros(persons.size, np.int64)]),
        population=np.concatenate([np.zeros(counts.size, np.int64), persons]),
    )
    return State(name, policy_space(hierarchies, ATTRIBUTES, ORDERS), table)
