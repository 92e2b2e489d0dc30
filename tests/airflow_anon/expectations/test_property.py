"""The suite and the engine's verification agree on random releases, whole and harmed: two judges, one verdict."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import NoSolution, run, verify
from tests.airflow_anon.expectations.build import changed
from tests.engine import build
from tests.engine.strategies import problems
from tests.profiles import examples

REAL = settings(
    deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def relabel(table, problem, draw):
    """Put a label of any level, the mark or a missing value into one cell."""
    name = draw(st.sampled_from(build.names(problem)))
    labels = [label for row in problem["hierarchies"][int(name[1:])] for label in row]
    return changed(table, name, draw(st.integers(0, table.num_rows - 1)), draw(st.sampled_from([*labels, "*", None])))


def star(table, problem, draw):
    """Suppress one record."""
    row = draw(st.integers(0, table.num_rows - 1))
    for name in build.names(problem):
        table = changed(table, name, row, "*")
    return table


def swap(table, problem, draw):
    """Give one record another sensitive value."""
    return changed(table, "s", draw(st.integers(0, table.num_rows - 1)), draw(st.sampled_from(["x", "y", None])))


def remove(table, problem, draw):
    """Lose one record."""
    row = draw(st.integers(0, table.num_rows - 1))
    return pa.concat_tables([table.slice(0, row), table.slice(row + 1)])


def add(table, problem, draw):
    """Add a column under a name that is not released."""
    return table.append_column("note", table["s"])


HARMS = [relabel, star, swap, remove, add]


@REAL
@given(problems(), st.sampled_from(["star", "drop"]), st.lists(st.sampled_from(HARMS), max_size=3), st.data())
def test_agrees_with_the_engine(problem, how, harms, data):
    with tempfile.TemporaryDirectory() as folder:
        output = {"path": str(Path(folder) / "release"), "suppressed": how}
        job = build.job(problem, Path(folder), output=output)
        source = build.table(problem)
        try:
            result = run(job, source)
        except NoSolution:
            assume(False)
        table = result.table
        for harm in harms:
            if table.num_rows:
                table = harm(table, problem, data.draw)
        suite = release_suite(job, result.report, source_rows=source.num_rows, source_types={"s": "string"})
        document = run_suite(table, suite)
        findings = verify(table, job, result.report)
        assert document["success"] == all(finding.holds for finding in findings)
        if not harms:
            assert document["success"] is True
