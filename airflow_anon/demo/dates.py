"""Calendar arithmetic on arrays of days (datetime64[D])."""

from __future__ import annotations

import numpy as np

REFERENCE_DAY = np.datetime64("2026-01-01", "D")
"""The date of the data in the warehouse; ages are ages on this day, and nothing happens later."""

FIRST_DAY = np.datetime64("2023-01-01", "D")
LAST_DAY = np.datetime64("2025-12-31", "D")
"""First and last day of the visits and deaths in the warehouse."""


def year_month_day(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split days into year, month (1 to 12) and day of the month (1 to 31), int64 each."""
    years, months = days.astype("datetime64[Y]"), days.astype("datetime64[M]")
    return (
        years.astype(np.int64) + 1970,
        months.astype(np.int64) % 12 + 1,
        (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
    )


def age_in_years(birth: np.ndarray, day: np.ndarray | np.datetime64) -> np.ndarray:
    """Count the birthdays from `birth` to `day` (int64); somebody born on 29 February ages on 1 March."""
    birth_year, birth_month, birth_day = year_month_day(birth)
    year, month, day_of_month = year_month_day(np.asarray(day, dtype="datetime64[D]"))
    return year - birth_year - (month * 100 + day_of_month < birth_month * 100 + birth_day)


def random_day(first: np.ndarray, last: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a day from `first` to `last`, both included, for each element."""
    return first + np.floor(rng.random(len(first)) * ((last - first).astype(np.int64) + 1)).astype("timedelta64[D]")
