"""The algorithms a job can name, and what its report says where one is not exact."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine import InvalidJob, NoSolution, run
from engine.search.problem import Method
from engine.search.registry import ALGORITHMS
from tests.engine import build
from tests.engine.search.six_records import SIX


def job(folder, algorithm, k=2, problem=SIX):
    problem = {**problem, "models": [{"model": "k-anonymity", "k": k}]}
    return build.job(problem, folder, search={"algorithm": algorithm})


def test_naming_an_algorithm_loads_none():
    said = (
        "import sys; from engine.search.registry import ALGORITHMS; print('numba' in sys.modules, len(ALGORITHMS) > 6)"
    )
    assert subprocess.check_output([sys.executable, "-c", said], text=True).split() == ["False", "True"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_name_leads_to_a_method_that_solves_a_job(name, tmp_path):
    assert isinstance(ALGORITHMS[name](), Method)
    report = run(job(tmp_path, name), table=build.table(SIX)).report
    assert report["search"]["algorithm"] == name
    assert report["solution"]["information_loss"] > 1 / 6 - 1e-9
    if report["solution"]["optimal"]:
        assert report["solution"]["levels"] == {"q0": 0, "q1": 1}


def test_an_unknown_algorithm_is_refused(tmp_path):
    with pytest.raises(InvalidJob, match=r"'simulated-annealing', allowed are 'optimal'.*'datafly'"):
        job(tmp_path, "simulated-annealing")


def test_the_report_warns_where_another_transformation_may_lose_less(tmp_path):
    report = run(job(tmp_path, "datafly"), table=build.table(SIX)).report
    # Datafly gives up one attribute wholly where the best keeps two thirds of the other
    assert (report["solution"]["information_loss"], report["solution"]["optimal"]) == (0.5, False)
    [warning] = [text for text in report["warnings"] if "exact" in text]
    assert warning.startswith("algorithm datafly is not exact for 2-anonymity with measure loss")


def test_an_exact_algorithm_needs_no_warning(tmp_path):
    report = run(job(tmp_path, "best-first"), table=build.table(SIX)).report
    assert not any("exact" in text for text in report.get("warnings", []))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("datafly", "search.algorithm datafly found no transformation of the table that satisfies 5-anonymity"),
        ("depth-first", "no transformation of the table satisfies 5-anonymity"),
    ],
)
def test_only_an_exact_algorithm_says_that_there_is_no_solution(name, text, tmp_path):
    # without the root, where all six are one class
    below = {**SIX, "hierarchies": [[row[:-1] for row in rows] for rows in SIX["hierarchies"]]}
    with pytest.raises(NoSolution) as raised:
        run(job(tmp_path, name, k=5, problem=below), table=build.table(SIX))
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize("name", ["datafly", "depth-first"])
def test_every_algorithm_says_that_a_table_is_smaller_than_a_class(name, tmp_path):
    with pytest.raises(
        NoSolution, match=r"^no transformation of the table satisfies 7-anonymity .*; the table has fewer"
    ):
        run(job(tmp_path, name, k=7), table=build.table(SIX))
