"""Shares of records at risk, by exact comparison of each record."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.risk.at_risk import records_at_journalist_risk, records_at_risk, sample_uniqueness

CLASSES = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), max_size=12)
THRESHOLDS = st.sampled_from(["0.0", "1.0", "1e-30"]) | st.decimals(0, 1, places=3).map(str)


def shares(classes, written):
    """Return both shares, record by record, the threshold as a fraction of whole numbers."""
    threshold = Fraction(Decimal(written))
    records = [(size, size + more) for size, more in classes for _ in range(size)]
    prosecuted = sum(Fraction(1, size) >= threshold for size, _ in records)
    found = sum(Fraction(1, population) >= threshold for _, population in records)
    return prosecuted / max(1, len(records)), found / max(1, len(records))


@given(CLASSES, THRESHOLDS)
def test_every_record_is_compared_exactly(classes, written):
    kept = np.array([size for size, _ in classes], np.int64)
    population = np.array([size + more for size, more in classes], np.int64)
    found = records_at_risk(kept, float(written)), records_at_journalist_risk(kept, population, float(written))
    assert found == shares(classes, written)


@pytest.mark.parametrize("size", sorted(2**a * 5**b for a in range(12) for b in range(9)))
def test_a_risk_equal_to_the_threshold_is_at_risk(size):
    # 1 / size has an end in decimals; the nearest double may be above it
    threshold = float(Decimal(1) / Decimal(size))
    assert records_at_risk(np.array([size]), threshold) == 1
    assert records_at_risk(np.array([size + 1]), threshold) == 0


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_out_of_range(threshold):
    with pytest.raises(InvalidJob, match="from 0 to 1"):
        records_at_risk(np.array([3]), threshold)


@given(CLASSES)
def test_sample_uniqueness(classes):
    kept = np.array([size for size, _ in classes], np.int64)
    alone = sum(size for size, _ in classes if size == 1)
    assert sample_uniqueness(kept) == (alone / sum(size for size, _ in classes) if classes else 0)
