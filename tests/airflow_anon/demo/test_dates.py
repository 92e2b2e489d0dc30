"""Ages count birthdays."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_anon.demo.dates import age_in_years, random_day, year_month_day


@pytest.mark.parametrize(
    ("birth", "day", "age"),
    [
        ("2000-01-01", "2026-01-01", 26),
        ("2000-01-02", "2026-01-01", 25),
        ("2004-02-29", "2025-02-28", 20),
        ("2004-02-29", "2025-03-01", 21),
        ("1921-12-31", "2026-01-01", 104),
        ("2025-12-31", "2026-01-01", 0),
    ],
)
def test_age(birth, day, age):
    assert age_in_years(np.array([birth], "datetime64[D]"), np.datetime64(day)).tolist() == [age]


def test_parts_of_days_before_and_after_1970():
    days = np.array(["1924-02-29", "1969-12-31", "1970-01-01", "2025-12-31"], "datetime64[D]")
    assert [part.tolist() for part in year_month_day(days)] == [
        [1924, 1969, 1970, 2025],
        [2, 12, 1, 12],
        [29, 31, 1, 31],
    ]


def test_both_ends_are_drawn_and_nothing_beyond():
    first = np.full(1000, np.datetime64("2024-02-28"))
    drawn = random_day(first, first + 2, np.random.default_rng(0))
    assert set(np.unique(drawn).astype(str)) == {"2024-02-28", "2024-02-29", "2024-03-01"}
