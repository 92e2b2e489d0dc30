"""Diagnoses of visits: ICD-10-CM codes, Zipf-like in frequency, by age, sex and setting.

The common categories of a chapter follow a Zipf law; its other categories come after them in a fixed order, and within
a category the short, unspecified codes come first. Codes that require an age or a sex occur only in such people.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from airflow_anon.demo import morbidity
from airflow_anon.demo.morbidity import AGE_GROUPS, AGE_LIMITS, CHAPTERS
from airflow_anon.demo.population import FEMALE, MALE

_SEXES = 3
_CATEGORY_EXPONENT, _CODE_EXPONENT = 1.05, 1.3
# Order of the rarer categories; independent of the warehouse's seed, so the same codes are common in every warehouse.
_ORDER_SEED = 10


class Catalogue(NamedTuple):
    """Codes and how often each occurs.

    `codes` holds C codes as text, `chronic` (bool, C) whether a code stays with a person, `cumulative` (float64,
    2 settings x 11 age groups x 3 sexes x C) the distribution functions to draw from, and `birth` the codes of live
    birth, most frequent first.
    """

    codes: np.ndarray
    chronic: np.ndarray
    cumulative: np.ndarray
    birth: np.ndarray

    def draw(self, setting: np.ndarray, age: np.ndarray, sex: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the index of a code for each element of `setting`, `age` (years) and `sex`."""
        group = np.searchsorted(AGE_GROUPS, age, side="right") - 1
        cell = np.ravel_multi_index((setting, group, sex), self.cumulative.shape[:3])
        functions = self.cumulative.reshape(-1, len(self.codes))
        uniform, drawn = rng.random(len(cell)), np.zeros(len(cell), dtype=np.int64)
        order = np.argsort(cell, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
            if len(members):
                function = functions[cell[members[0]]]
                last = np.searchsorted(function, function[-1])
                index = np.searchsorted(function, uniform[members] * function[-1], side="right")
                drawn[members] = np.minimum(index, last)
        return drawn


def _commonness(code: str) -> tuple[int, bool, str]:
    return (len(code), not code.endswith("9"), code)


def _leaves() -> dict[str, list[str]]:
    import simple_icd_10_cm as icd  # noqa: PLC0415 (reads the whole classification, two seconds)

    leaves: dict[str, list[str]] = {}
    for code in dict.fromkeys(icd.get_all_codes(with_dots=True)):
        later = len(code) == len("S93.401D") and code[-1] in morbidity.LATER_ENCOUNTER
        # A block is not a code, although some blocks have no categories of their own.
        if icd.is_leaf(code) and "-" not in code and not later:
            leaves.setdefault(code[:3], []).append(code)
    return {category: sorted(codes, key=_commonness) for category, codes in leaves.items()}


def _within(category: str, ranges: tuple[tuple[str, str], ...]) -> bool:
    return any(first <= category <= last for first, last in ranges)


def _sexes_of(code: str) -> np.ndarray:
    import simple_icd_10_cm as icd  # noqa: PLC0415 (reads the whole classification, two seconds)

    text = morbidity.BOTH_SEXES.sub("", icd.get_description(code))
    if code.startswith("P"):
        text = ""
    female = _within(code[:3], morbidity.FEMALE) or bool(morbidity.FEMALE_WORDS.search(text))
    male = _within(code[:3], morbidity.MALE) or bool(morbidity.MALE_WORDS.search(text))
    weight = np.ones(_SEXES)
    if female or male:
        weight[:] = 0
        weight[FEMALE], weight[MALE] = female, male
    if code.startswith("C50"):
        weight[MALE] *= morbidity.MALE_BREAST_CANCER
    return weight


def _ages_of(code: str) -> np.ndarray:
    possible = np.ones(len(AGE_GROUPS))
    for beginnings, first, last in AGE_LIMITS:
        if code.startswith(tuple(beginnings.split())):
            possible *= np.isin(AGE_GROUPS, range(first, last + 1))
    return possible


def _ranked(chapter: morbidity.Chapter, categories: list[str], rng: np.random.Generator) -> list[str]:
    inside = [name for name in categories if chapter.first <= name <= chapter.last]
    common = chapter.common.split()
    rare = [name for name in inside if name not in common and not _within(name, morbidity.LEFT_OUT)]
    return common + [rare[index] for index in rng.permutation(len(rare))]


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Read the classification and weigh its codes; takes three seconds, once per process."""
    leaves, rng = _leaves(), np.random.default_rng(_ORDER_SEED)
    codes: list[str] = []
    weights: list[np.ndarray] = []
    for chapter in CHAPTERS:
        ranked = _ranked(chapter, sorted(leaves), rng)
        parts = [_category(leaves[name], (rank + 1) ** -_CATEGORY_EXPONENT) for rank, name in enumerate(ranked)]
        shares = np.concatenate(parts, axis=2)
        total = shares.sum(axis=2, keepdims=True)
        # A chapter that cannot occur at an age or in a sex has no frequency to distribute.
        shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        by_age = np.array(chapter.by_age)[:, None, None]
        weights.append(np.stack([shares * by_age, shares * by_age * chapter.inpatient]))
        codes += [code for name in ranked for code in leaves[name]]
    names = np.array(codes)
    chronic = np.array([_within(code[:3], morbidity.CHRONIC) for code in codes])
    return Catalogue(
        names, chronic, np.cumsum(np.concatenate(weights, axis=3), axis=3), np.array(sorted(leaves["Z38"]))
    )


def _category(codes: list[str], share: float) -> np.ndarray:
    """Weigh the codes of one category: age groups x sexes x codes."""
    weight = np.arange(1, len(codes) + 1) ** -_CODE_EXPONENT
    ages = np.stack([_ages_of(code) for code in codes], axis=1)
    sexes = np.stack([_sexes_of(code) for code in codes], axis=1)
    return ages[:, None, :] * sexes * (share * weight / weight.sum())
