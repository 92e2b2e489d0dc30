"""A simulated population of a state: how many people of each ZIP code, age, sex and race.

In: a shape, a number of people, a seed. Out: one row for each combination that occurs.

Numbers of people are drawn for whole combinations, so time and memory grow with the ZIP codes and not with the people.

- People per ZIP code are lognormal, so few ZIP codes have most people, cut off at the size of the largest ones of the
  country. Small three-digit areas have as few people as HIPAA Safe Harbor restricts.
- The shares of races in a ZIP code are drawn around the state's shares (Dirichlet).
- The ages of a ZIP code are a random mixture of three pyramids: families, students, the retired. The races of a state
  differ in age, and more old people are women.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from engine.errors import InvalidJob
from engine.frontiers.simulated_population.shapes import RACES, SEXES, SHAPES, Shape
from engine.hierarchy.builders.zip_areas import SAFE_HARBOR

MAXIMUM_AGE = 120
"""Years; nobody is older."""

_MOST_PERSONS = 1_000_000_000
_CHUNK = 64
_CODES = 100
_SMALLEST = 2_000
_LARGEST = 8.0
"""People of a ZIP code, as a multiple of the mean."""
_MIXTURE = 8.0 * np.array([0.68, 0.12, 0.2])
_TILT = np.array([-0.25, -0.05, -0.15, -0.45, 0.1])
"""By race: change of the logarithm of a share of people per 40 years of age."""


def population(shape: str, persons: int | None = None, seed: int = 1) -> pa.Table:
    """Simulate a population.

    Parameters
    ----------
    shape : str
        Name of one of `SHAPES`.
    persons : int, optional
        Number of people; by default that of the shape.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    pyarrow Table
        Columns `zip` (five digits), `age` (completed years), `sex`, `race`, `persons` (people of this combination, at
        least 1), in the order of the first four.

    Raises
    ------
    InvalidJob
        There is no such shape, or `persons` or `seed` is out of range.
    """
    described = _described(shape)
    people = described.persons if persons is None else persons
    if not 1 <= people <= _MOST_PERSONS:
        raise InvalidJob(f"persons: is {people}, allowed are 1 to {_MOST_PERSONS}")
    if seed < 0:
        raise InvalidJob(f"seed: is {seed}, it must be 0 or more")
    random = np.random.default_rng(seed)
    codes = zip_codes(described, random)
    inhabitants = _inhabitants(described, codes, people, random)
    return pa.concat_tables(_tables(described, codes, inhabitants, random)).combine_chunks()


def write_population(path: str | Path, shape: str, persons: int | None = None, seed: int = 1) -> None:
    """Write a simulated population (see `population`) as CSV or Parquet, by the ending of the file name.

    Raises
    ------
    InvalidJob
        The file's name ends in neither .csv nor .parquet, its folder does not exist, or an argument is out of range.
    """
    target = Path(path)
    if target.suffix not in {".csv", ".parquet"}:
        raise InvalidJob(f"{target.name}: the name must end in .csv or .parquet")
    if not target.parent.is_dir():
        raise InvalidJob(f"{target}: its folder does not exist; create it or name another")
    table = population(shape, persons, seed)
    if target.suffix == ".parquet":
        pa.parquet.write_table(table, target)
        return
    plain = pa.table({name: _plain(table[name]) for name in table.column_names})
    pa.csv.write_csv(plain, target, pa.csv.WriteOptions(quoting_style="needed"))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _described(shape: str) -> Shape:
    if shape not in SHAPES:
        raise InvalidJob(f"shape {shape!r}: is not known, allowed are {', '.join(SHAPES)}")
    return SHAPES[shape]


def zip_codes(shape: Shape, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw the ZIP codes as numbers, ascending: at least one in each area, and more in some areas than in others."""
    areas = np.array(shape.areas)
    keys = random.gumbel(size=(areas.size, _CODES)) + random.normal(scale=0.7, size=(areas.size, 1))
    keys[np.arange(areas.size), keys.argmax(axis=1)] = np.inf
    chosen = np.argsort(-keys, axis=None, kind="stable")[: max(shape.zips, areas.size)]
    codes: NDArray[np.int64] = np.sort(areas[chosen // _CODES] * _CODES + chosen % _CODES)
    return codes


def _inhabitants(
    shape: Shape, codes: NDArray[np.int64], persons: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the people of each ZIP code; they are `persons` in all."""
    weights = random.lognormal(sigma=shape.spread, size=codes.size)
    weights = np.minimum(weights, _LARGEST * weights.mean())
    small = {area: int(random.integers(_SMALLEST, SAFE_HARBOR, endpoint=True)) for area in shape.small_areas}
    found = np.zeros(codes.size, np.int64)
    elsewhere = np.ones(codes.size, np.bool_)
    # a state that consists mostly of small areas ignores them
    if 2 * sum(small.values()) < persons:
        for area, people in small.items():
            here = codes // _CODES == area
            found[here] = random.multinomial(people, weights[here] / weights[here].sum())
            elsewhere &= ~here
    rest = weights[elsewhere]
    found[elsewhere] = random.multinomial(persons - int(found.sum()), rest / rest.sum())
    return found


def _tables(
    shape: Shape, codes: NDArray[np.int64], inhabitants: NDArray[np.int64], random: np.random.Generator
) -> Iterator[pa.Table]:
    """Draw the people of some ZIP codes, one ZIP code after the other."""
    races = random.dirichlet(shape.mixing * np.array(shape.races), codes.size)
    mixtures = random.dirichlet(_MIXTURE, codes.size)
    texts = [f"{code:05d}" for code in codes.tolist()]
    for start in range(0, codes.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        shares = _shares(races[part], mixtures[part])
        drawn = random.multinomial(inhabitants[part], shares.reshape(shares.shape[0], -1)).reshape(shares.shape)
        zips, ages, sexes, people = np.nonzero(drawn)
        yield pa.table(
            {
                "zip": pa.DictionaryArray.from_arrays((zips + start).astype(np.int32), texts),
                "age": ages.astype(np.int32),
                "sex": pa.DictionaryArray.from_arrays(sexes.astype(np.int32), list(SEXES)),
                "race": pa.DictionaryArray.from_arrays(people.astype(np.int32), list(RACES)),
                "persons": drawn[zips, ages, sexes, people],
            }
        )


def _shares(races: NDArray[np.float64], mixtures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each age, sex and race among the people of each ZIP code.

    Parameters
    ----------
    races : float64, shape (zips, races)
    mixtures : float64, shape (zips, pyramids)

    Returns
    -------
    float64, shape (zips, ages, sexes, races); a ZIP code's sum to 1
    """
    years = np.arange(MAXIMUM_AGE + 1)
    ages = (mixtures @ _pyramids(years))[:, :, None] * np.exp(_TILT * (years[:, None] - 40) / 40)
    ages /= ages.sum(axis=1, keepdims=True)
    women = 0.49 + 0.2 / (1 + np.exp(-(years - 85) / 6))
    sexes = np.stack([women, 1 - women], axis=1)
    shares: NDArray[np.float64] = ages[:, :, None, :] * sexes[:, :, None] * races[:, None, None, :]
    shares /= shares.sum(axis=(1, 2, 3), keepdims=True)
    return shares


def _pyramids(years: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the shares of ages where families, students and the retired live, shape (3, ages)."""
    # Gompertz: mortality doubles about every eight years
    alive = np.exp(-4e-4 * np.expm1(0.09 * years))
    students = 0.5 + 12 * np.exp(-(((years - 21) / 3.0) ** 2) / 2)
    retired = 0.2 + 1.5 * np.exp(-(((years - 72) / 10.0) ** 2) / 2)
    pyramids = np.stack([alive, alive * students, alive * retired])
    shares: NDArray[np.float64] = pyramids / pyramids.sum(axis=1, keepdims=True)
    return shares
