"""What the first kernel of a process loads beside numba, and what it leaves to others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT

pytest.importorskip("scipy")

KERNEL = """
import sys
import numpy as np
from engine.kernels.refine import class_counts
print(class_counts(np.array([0, 1, 0], np.int32), 2, np.array([5, 7, 11])).tolist(), "scipy.linalg" in sys.modules)
"""
PRODUCT = """
import numba
@numba.njit
def product(a, b):
    return np.dot(a, b)
print(product(np.array([[1.0, 2.0]]), np.array([[3.0], [5.0]])).tolist(), "scipy.linalg" in sys.modules)
"""


def told(script):
    return subprocess.check_output([sys.executable, "-c", script], cwd=ROOT, text=True).splitlines()


def test_a_kernel_does_not_load_scipy():
    assert told(KERNEL) == ["[16, 7] False"]


def test_code_of_others_may_still_multiply_matrices():
    assert told(KERNEL + PRODUCT) == ["[16, 7] False", "[[13.0]] True"]


def test_scipy_that_is_loaded_already_stays():
    first = "import scipy.linalg.cython_blas\nblas = scipy.linalg.cython_blas\n"
    last = "print(sys.modules['scipy.linalg.cython_blas'] is blas)"
    assert told(first + KERNEL + last) == ["[16, 7] True", "True"]
