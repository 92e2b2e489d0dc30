"""Usual bounds of risks and class sizes; `plain_words` has their sources."""

from __future__ import annotations

HIGHEST_RISK = 0.09
SIZES = (
    (11, "no group below 11 (CMS cell size policy)"),
    (20, "no group below 20 (risk 0.05, for data that go to many)"),
)
