"""How the suite is organised: what CONTRIBUTING.md promises of it holds for each test file."""

from __future__ import annotations

import re

from tests.distribution import AIRFLOW, SLOW, group_of
from tests.places import ROOT

TESTS = ROOT / "tests"


def test_no_property_has_a_number_of_examples_of_its_own():
    """A number that is not given by `examples` is the same in the gate and in the thorough profile."""
    fixed = re.compile(r"max_examples=\d")
    assert [path for path in TESTS.rglob("*.py") if fixed.search(path.read_text(encoding="utf-8"))] == []


def test_each_slow_file_is_there():
    assert [name for name in SLOW if not (TESTS / name).is_file()] == []
    assert len(set(SLOW)) == len(SLOW)


def test_files_that_ask_for_the_running_airflow_share_a_process():
    """Each process would start an Airflow of its own."""
    asking = {
        f"tests/{path.relative_to(TESTS)}"
        for path in TESTS.rglob("test_*.py")
        if re.search(r"def test_\w+\([^)]*\baudit_world\b|def \w+\(audit_world\b", path.read_text(encoding="utf-8"))
    }
    assert asking
    assert {group_of(f"{name}::test_x[a::b]") for name in asking} == {"airflow"}
    assert {group_of(f"tests/{name}::test_x") for name in AIRFLOW} == {"airflow"}
    assert group_of("tests/engine/test_names.py::test_x") == "tests/engine/test_names.py"
