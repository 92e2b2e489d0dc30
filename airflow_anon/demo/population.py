"""The people of the warehouse: birth, sex, race, home, death and direct identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_anon.demo import names
from airflow_anon.demo.dates import FIRST_DAY, LAST_DAY, REFERENCE_DAY, age_in_years, random_day
from airflow_anon.demo.geography import AREA_CODES, MIXES, RACES, Places, places

# First age of each band and the band's share in percent: the population pyramid of the United States, patients in it
# being somewhat older.
_BANDS = (
    (0, 1.3), (1, 4.3), (5, 5.4), (10, 5.6), (15, 5.9), (20, 6.2), (25, 6.6), (30, 6.9), (35, 6.7), (40, 6.2),
    (45, 6.0), (50, 6.3), (55, 6.6), (60, 6.6), (65, 5.9), (70, 5.0), (75, 3.5), (80, 2.3), (85, 1.3), (90, 0.6),
    (95, 0.15), (100, 0.03),
)  # fmt: skip
_OLDEST = 104
_FEW_REACH_THE_END = 95  # first age of the bands in which most people are younger
_PEOPLE_PER_HOUSEHOLD = 1.7
_SEX_UNKNOWN, _RACE_UNKNOWN, _ETHNICITY_UNKNOWN, _ZIP_UNKNOWN = 0.002, 0.018, 0.015, 0.01
_NO_PHONE, _NO_MAIL = 0.02, 0.08
# Hispanic or Latino people, by race, relative to their share in the region; in the order of RACES.
_HISPANIC_BY_RACE = np.array([0.8, 0.3, 0.05, 0.3, 0.3, 3.0])

MALE, FEMALE, UNKNOWN = 0, 1, 2
"""Codes of `People.sex`."""


@dataclass(frozen=True, kw_only=True)
class People:
    """Parallel arrays, one element per person.

    `birth` and `death` are days, `death` is NaT for the living. `sex` is MALE, FEMALE or UNKNOWN; `race` an index of
    RACES, `hispanic` 0 or 1, both -1 where unknown. `home` is an index of `homes`, the indices of the places of homes.
    """

    birth: np.ndarray
    death: np.ndarray
    sex: np.ndarray
    race: np.ndarray
    hispanic: np.ndarray
    home: np.ndarray
    homes: np.ndarray
    zip_known: np.ndarray
    places: Places


def _birthdays(count: int, rng: np.random.Generator) -> np.ndarray:
    first = np.array([age for age, _ in _BANDS])
    size = np.diff(np.append(first, _OLDEST + 1))
    share = np.array([percent for _, percent in _BANDS])
    band = rng.choice(len(_BANDS), count, p=share / share.sum())
    exponent = np.where(first[band] >= _FEW_REACH_THE_END, 2, 1)
    age = first[band] + np.floor(rng.random(count) ** exponent * size[band]).astype(np.int64)
    year = REFERENCE_DAY.astype("datetime64[Y]") - 1 - age.astype("timedelta64[Y]")
    return random_day(year.astype("datetime64[D]"), (year + 1).astype("datetime64[D]") - 1, rng)


def _sexes(age: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    female = np.interp(age, [0, 18, 60, 75, 85, 95, 105], [0.488, 0.490, 0.515, 0.545, 0.620, 0.730, 0.840])
    sex = np.where(rng.random(len(age)) < female, FEMALE, MALE)
    return np.where(rng.random(len(age)) < _SEX_UNKNOWN, UNKNOWN, sex)


def _races(mix: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    race = np.zeros(len(mix), dtype=np.int64)
    hispanic = np.zeros(len(mix), dtype=np.int64)
    for name, (shares, hispanic_share) in MIXES.items():
        here = np.flatnonzero(mix == name)
        race[here] = rng.choice(len(RACES), len(here), p=np.array(shares) / sum(shares))
        chance = np.clip(hispanic_share * _HISPANIC_BY_RACE[race[here]], 0, 0.9)
        hispanic[here] = rng.random(len(here)) < chance
    race[rng.random(len(mix)) < _RACE_UNKNOWN] = -1
    hispanic[rng.random(len(mix)) < _ETHNICITY_UNKNOWN] = -1
    return race, hispanic


def _deaths(birth: np.ndarray, age: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    # Gompertz: the yearly risk doubles about every seven years; flattened in the oldest.
    yearly = np.where(age < 1, 0.005, np.minimum(0.00004 * np.exp(0.095 * age), 0.25))
    dies = rng.random(len(birth)) < 1 - (1 - yearly) ** 3
    day = random_day(np.maximum(birth, FIRST_DAY), np.full(len(birth), LAST_DAY), rng)
    return np.where(dies, day, np.datetime64("NaT"))


def draw_people(count: int, rng: np.random.Generator) -> People:
    """Draw `count` people."""
    map_ = places()
    households = max(1, round(count / _PEOPLE_PER_HOUSEHOLD))
    homes = rng.choice(len(map_.zip), households, p=map_.weight)
    # Every household has at least one person.
    home = rng.permutation(np.append(np.arange(households), rng.integers(0, households, count - households)))
    birth = _birthdays(count, rng)
    age = age_in_years(birth, REFERENCE_DAY)
    race, hispanic = _races(map_.mix[homes[home]], rng)
    return People(
        birth=birth,
        death=_deaths(birth, age, rng),
        sex=_sexes(age, rng),
        race=race,
        hispanic=hispanic,
        home=home,
        homes=homes,
        zip_known=rng.random(households) >= _ZIP_UNKNOWN,
        places=map_,
    )


def draw_identities(people: People, rng: np.random.Generator) -> dict[str, list[str | None]]:
    """Draw the direct identifiers of each person, by column of `patient_identity`."""
    count = len(people.birth)
    given, family = names.given_names(count, rng), names.family_names(count, rng)
    area_codes = [AREA_CODES[state] for state in people.places.state[people.homes[people.home]].tolist()]
    return {
        "mrn": list(names.record_numbers(count, rng)),
        "given_name": list(given),
        "family_name": list(family),
        "phone": _with_gaps(names.telephone_numbers(area_codes, rng), _NO_PHONE, rng),
        "email": _with_gaps(names.mail_addresses(given, family, rng), _NO_MAIL, rng),
        "ssn": list(names.social_security_like_numbers(count, rng)),
    }


def _with_gaps(values: list[str], share: float, rng: np.random.Generator) -> list[str | None]:
    gaps = (rng.random(len(values)) < share).tolist()
    return [None if gap else value for value, gap in zip(values, gaps, strict=True)]
