"""The visits of the people from 2023 to 2025: when, where, how long, and how they ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_anon.demo.dates import FIRST_DAY, LAST_DAY, age_in_years, random_day
from airflow_anon.demo.population import People

INPATIENT, EMERGENCY, OUTPATIENT = 0, 1, 2
"""Codes of `Visits.kind`."""

DISPOSITIONS = (
    ("home", 8536),
    ("home health care", 0),
    ("skilled nursing facility", 8863),
    ("rehabilitation facility", 8920),
    ("other hospital", 8717),
    ("hospice", 8546),
    ("against medical advice", 4021968),
    ("expired", 4216643),
    ("still patient", 0),
)
"""Discharge disposition and its OMOP concept, 0 if the standard vocabulary has none."""

_EXPIRED, _STILL_PATIENT = 7, 8
_AGES = np.array([0, 1, 5, 15, 45, 65, 75, 85])
# By the ages above: visits per year, share of inpatient and of emergency visits, median length of stay in days.
_YEARLY = np.array([2.6, 1.1, 0.5, 0.6, 0.75, 1.1, 1.4, 1.6])
_INPATIENT = np.array([0.06, 0.03, 0.03, 0.07, 0.10, 0.13, 0.17, 0.22])
_EMERGENCY = np.array([0.20, 0.25, 0.22, 0.25, 0.18, 0.14, 0.15, 0.18])
_MEDIAN_STAY = np.array([2.2, 2.0, 2.2, 2.4, 3.2, 3.8, 4.2, 4.6])
_STAY_SPREAD = 0.85  # standard deviation of the logarithm: one stay in a thousand is about fourteen medians long
_LONGEST_STAY = 180
# Share of dispositions 0 to 6 at discharge, by first age 0, 45, 65, 85.
_DISPOSITION_AGES = np.array([0, 45, 65, 85])
_DISPOSITION_SHARES = np.array([
    [0.930, 0.035, 0.001, 0.004, 0.015, 0.000, 0.015],
    [0.800, 0.110, 0.030, 0.015, 0.020, 0.005, 0.020],
    [0.580, 0.210, 0.130, 0.040, 0.015, 0.020, 0.005],
    [0.370, 0.220, 0.310, 0.040, 0.010, 0.048, 0.002],
])  # fmt: skip
_NO_VISIT, _BORN_HERE, _DIES_HERE = 0.015, 0.5, 0.35
_OVERDISPERSION = 1.2  # shape of the gamma distribution of visits among people of one age


@dataclass(frozen=True, kw_only=True)
class Visits:
    """Parallel arrays, one element per visit, ordered by person and first day.

    `person` is an index of people, `kind` INPATIENT, EMERGENCY or OUTPATIENT, `start` and `end` are days, `age` the age
    in years at the start, `disposition` an index of DISPOSITIONS (-1 for outpatients) and `birth` marks births.
    """

    person: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    end: np.ndarray
    age: np.ndarray
    disposition: np.ndarray
    birth: np.ndarray


def _stay_days(age: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    median = np.interp(age, _AGES, _MEDIAN_STAY)
    return np.clip(np.rint(median * np.exp(rng.normal(0, _STAY_SPREAD, len(age)))), 1, _LONGEST_STAY)


def _ordinary(people: People, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw person, kind, first day and birth mark of all visits except births and last stays."""
    first, last = np.maximum(people.birth, FIRST_DAY), np.fmin(people.death, LAST_DAY)
    years = ((last - first).astype(np.int64) + 1) / 365.25
    yearly = np.interp(age_in_years(people.birth, first), _AGES, _YEARLY)
    count = rng.poisson(yearly * years * rng.gamma(_OVERDISPERSION, 1 / _OVERDISPERSION, len(first)))
    # A person without a visit is rarely on record.
    count = np.where(rng.random(len(first)) < _NO_VISIT, 0, np.maximum(count, 1))
    person = np.repeat(np.arange(len(first)), count)
    start = random_day(first[person], last[person], rng)
    age = age_in_years(people.birth[person], start)
    inpatient, emergency = np.interp(age, _AGES, _INPATIENT), np.interp(age, _AGES, _EMERGENCY)
    uniform = rng.random(len(person))
    # The codes of the kinds count the thresholds passed.
    kind = (uniform >= inpatient).astype(np.int64) + (uniform >= inpatient + emergency)
    return person, kind, start, np.zeros(len(person), dtype=bool)


def _births(people: People, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    person = np.flatnonzero((people.birth >= FIRST_DAY) & (rng.random(len(people.birth)) < _BORN_HERE))
    kind = np.full(len(person), INPATIENT)
    return person, kind, people.birth[person], np.ones(len(person), dtype=bool)


def _last_stays(people: People, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Draw the stays that end with the person's death."""
    person = np.flatnonzero(~np.isnat(people.death) & (rng.random(len(people.death)) < _DIES_HERE))
    birth, death = people.birth[person], people.death[person]
    days = _stay_days(age_in_years(birth, death), rng).astype("timedelta64[D]")
    start = np.maximum(death - days, np.maximum(birth, FIRST_DAY))
    return person, np.full(len(person), INPATIENT), start, np.zeros(len(person), dtype=bool)


def _dispositions(age: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    group = np.searchsorted(_DISPOSITION_AGES, age, side="right") - 1
    thresholds = np.cumsum(_DISPOSITION_SHARES, axis=1)[:, :-1]
    return (rng.random(len(age))[:, None] >= thresholds[group]).sum(axis=1)


def draw_visits(people: People, rng: np.random.Generator) -> Visits:
    """Draw all visits; none begins before a person's birth or continues after the death."""
    ordinary, births, last_stays = _ordinary(people, rng), _births(people, rng), _last_stays(people, rng)
    person, kind, start, birth = (np.concatenate(parts) for parts in zip(ordinary, births, last_stays, strict=True))
    age, death = age_in_years(people.birth[person], start), people.death[person]
    days = np.where(kind == INPATIENT, _stay_days(age, rng), 0)
    is_last = np.arange(len(person)) >= len(person) - len(last_stays[0])
    planned = np.where(is_last, death, start + days.astype("timedelta64[D]"))
    end = np.fmin(np.minimum(planned, LAST_DAY), death)
    disposition = np.where(planned > LAST_DAY, _STILL_PATIENT, _dispositions(age, rng))
    disposition = np.where(end == death, _EXPIRED, disposition)
    disposition = np.where(kind == OUTPATIENT, -1, disposition)
    order = np.lexsort((end, start, person))
    columns = (person, kind, start, end, age, disposition, birth)
    names = ("person", "kind", "start", "end", "age", "disposition", "birth")
    return Visits(**{name: column[order] for name, column in zip(names, columns, strict=True)})
