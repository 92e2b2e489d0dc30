"""The second judge on sensitive columns of linked tables: it counts them in the tables that have them."""

from __future__ import annotations

import copy

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import load_job, run
from tests.airflow_anon.expectations.test_linked_tables import judged, stacked_source
from tests.engine.linked_jobs import SENSITIVE, job
from tests.engine.pipeline.test_linked_values import RUNS, with_outcomes


def released(folder, knows, model, sensitive):
    """Release fifty persons; give the job, the report, the staged source and the folder of the release."""
    tables = with_outcomes(50, 5, sensitive)
    this = load_job(
        job(sensitive=sensitive, knows=knows, privacy=[{"model": "k-anonymity", "k": 3}, model], suppression_limit=0.6)
    )
    source = stacked_source(tables, folder / "source.parquet")
    result = run(this, tables, output=folder / "release")
    return this, result.published, source, folder / "release"


@pytest.mark.parametrize(("knows", "model", "sensitive"), RUNS)
def test_a_good_release(tmp_path, knows, model, sensitive):
    this, report, source, release = released(tmp_path, knows, model, sensitive)
    assert judged(release, this, report, source) == set()


@pytest.mark.parametrize("part", ["observed", "by_table"])
def test_figures_that_are_not_those_of_the_tables_with_the_column(tmp_path, part):
    this, report, source, release = released(tmp_path, *RUNS[-1])
    wrong = copy.deepcopy(report)
    of = wrong["privacy"][1] if part == "observed" else wrong["attribute_inference"]["outcome"]
    of[part] /= 2
    assert judged(release, this, wrong, source) == {"expect_persons_in_each_class"}


def test_a_value_that_is_another_one_in_a_file(tmp_path):
    this, report, source, release = released(tmp_path, "any-row", RUNS[0][1], SENSITIVE)
    path = release / "visit.parquet"
    visits = pq.read_table(path)
    place = visits.column_names.index("outcome")
    outcomes = visits["outcome"].to_pylist()
    other = next(value for value in outcomes if value != outcomes[0])
    pq.write_table(visits.set_column(place, "outcome", pa.array([other, *outcomes[1:]], pa.string())), path)
    assert "expect_persons_in_each_class" in judged(release, this, report, source)
