"""The diagnoses of the visits: one principal, and some secondary ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_anon.demo import visits as kinds
from airflow_anon.demo.dates import FIRST_DAY, age_in_years
from airflow_anon.demo.diagnoses import Catalogue
from airflow_anon.demo.morbidity import AMBULATORY, INPATIENT
from airflow_anon.demo.population import People
from airflow_anon.demo.visits import Visits

_SECONDARY = np.array([0.5, 2.0])  # mean number of secondary diagnoses, ambulatory and inpatient
_CHRONIC_AGAIN = 0.5  # share of the diagnoses of chronically ill people that are their chronic diagnosis


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Parallel arrays, one element per diagnosis, ordered by visit, the principal diagnosis first.

    `visit` is an index of visits, `code` an index of the catalogue's codes followed by its birth codes, `start` a day.
    """

    visit: np.ndarray
    code: np.ndarray
    principal: np.ndarray
    start: np.ndarray


def code_names(catalogue: Catalogue) -> np.ndarray:
    """List the codes to which `Conditions.code` is an index."""
    return np.concatenate([catalogue.codes, catalogue.birth])


def _chronic_codes(people: People, catalogue: Catalogue, rng: np.random.Generator) -> np.ndarray:
    # Drawn for the age at the first day, so that a lower age limit holds at every visit.
    age = np.maximum(age_in_years(people.birth, FIRST_DAY), 0)
    code = catalogue.draw(np.full(len(age), AMBULATORY), age, people.sex, rng)
    return np.where(catalogue.chronic[code], code, -1)


def _birth_codes(catalogue: Catalogue, count: int, rng: np.random.Generator) -> np.ndarray:
    weight = np.arange(1, len(catalogue.birth) + 1) ** -2.0
    return len(catalogue.codes) + rng.choice(len(catalogue.birth), count, p=weight / weight.sum())


def draw_conditions(people: People, visits: Visits, catalogue: Catalogue, rng: np.random.Generator) -> Conditions:
    """Draw the diagnoses of all visits; a visit has no diagnosis twice."""
    setting = np.where(visits.kind == kinds.INPATIENT, INPATIENT, AMBULATORY)
    count = 1 + rng.poisson(_SECONDARY[setting])
    visit = np.repeat(np.arange(len(count)), count)
    principal = np.diff(visit, prepend=-1) > 0
    person = visits.person[visit]
    code = catalogue.draw(setting[visit], visits.age[visit], people.sex[person], rng)
    chronic = _chronic_codes(people, catalogue, rng)[person]
    code = np.where((chronic >= 0) & (rng.random(len(code)) < _CHRONIC_AGAIN), chronic, code)
    birth = np.flatnonzero(principal & visits.birth[visit])
    code[birth] = _birth_codes(catalogue, len(birth), rng)
    days = (visits.end - visits.start)[visit].astype(np.int64) + 1
    later = np.where(principal, 0, np.floor(rng.random(len(visit)) ** 3 * days)).astype("timedelta64[D]")
    # The first of equal diagnoses of a visit stays; this keeps the principal one.
    stays = np.sort(np.unique(visit * (len(catalogue.codes) + len(catalogue.birth)) + code, return_index=True)[1])
    start = visits.start[visit] + later
    return Conditions(visit=visit[stays], code=code[stays], principal=principal[stays], start=start[stays])


def main_codes(people: People, visits: Visits, conditions: Conditions) -> np.ndarray:
    """Find each person's most frequent diagnosis, the earliest of equally frequent ones; -1 if there is none."""
    code_count = int(conditions.code.max(initial=0)) + 1
    key = visits.person[conditions.visit] * code_count + conditions.code
    pair, first, count = np.unique(key, return_index=True, return_counts=True)
    person, code = np.divmod(pair, code_count)
    best = np.lexsort((first, -count, person))
    of_person, position = np.unique(person[best], return_index=True)
    main = np.full(len(people.birth), -1)
    main[of_person] = code[best][position]
    return main
