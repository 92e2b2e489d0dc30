"""Histograms of class sizes for the tests of the estimators."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from engine.risk.sample import sample_of

# The class sizes of the census table of the reference solver's own tests, all nine attributes quasi-identifying.
_UP_TO_27 = [15512, 2098, 754, 375, 189, 155, 97, 73, 39, 37, 29, 18, 23, 14, 15, 9, 11, 10, 10, 5, 3, 4, 3, 2, 1, 3, 5]
CENSUS = {**dict(enumerate(_UP_TO_27, 1)), 29: 1, 30: 2, 32: 1, 34: 1, 35: 1, 36: 1, 45: 1}

HISTOGRAMS = st.dictionaries(st.integers(1, 40), st.integers(1, 60), min_size=1, max_size=8)
FRACTIONS = st.sampled_from([1.0, 0.99, 0.9, 0.5, 0.2, 0.1, 0.05, 0.01, 0.0001])


def arrays(histogram):
    sizes = sorted(histogram)
    return np.array(sizes, np.int64), np.array([histogram[size] for size in sizes], np.int64)


def sample(histogram, fraction):
    return sample_of(*arrays(histogram), fraction)
