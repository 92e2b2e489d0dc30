"""How the suite is organised: what CONTRIBUTING.md promises of it holds for each test file."""

from __future__ import annotations

import re

from tests.distribution import SLOW
from tests.places import ROOT

TESTS = ROOT / "tests"


def test_no_property_has_a_number_of_examples_of_its_own():
    """A number that is not given by `examples` is the same in the gate and in the thorough profile."""
    fixed = re.compile(r"max_examples=\d")
    assert [path for path in TESTS.rglob("*.py") if fixed.search(path.read_text(encoding="utf-8"))] == []


def test_each_slow_file_is_there():
    assert [name for name in SLOW if not (TESTS / name).is_file()] == []
    assert len(set(SLOW)) == len(SLOW)
