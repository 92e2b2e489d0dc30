"""What the log of a task tells of a search that is still running: nothing that its release withholds."""

from __future__ import annotations

import logging

import pytest

from airflow_anon.run import progress as progress_module
from engine import run
from tests.airflow_anon.nights.test_figures_attack import DECADES, K, job_of, table_of


def logged_by(monkeypatch, caplog, few, measure):
    """Log every report of a search, as of one that takes long; its clock is that of the reports."""
    clock = iter(range(0, 10**9, 20))
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    caplog.clear()
    job = job_of(DECADES, utility={"measure": measure}, allow_empty_information=True)
    with caplog.at_level(logging.INFO):
        result = run(job, table_of(120, few), progress=progress_module.LoggedProgress(logging.getLogger("progress")))
    assert result.published["rows"] is None
    return [record.getMessage() for record in caplog.records if record.name == "progress"]


@pytest.mark.parametrize("measure", ["loss", "non-uniform-entropy", "discernibility"])
def test_the_progress_of_a_search_tells_not_how_few_are_left_out(monkeypatch, caplog, measure):
    """The loss of the whole table, of two digits, left one or two numbers of them."""
    logged = [logged_by(monkeypatch, caplog, few, measure) for few in range(1, K)]
    assert logged[0]
    assert "a transformation that does is found" in logged[0][-1]
    assert len({lines[-1] for lines in logged}) == 1
