"""A population that is in a database: read by Airflow's tasks, refused elsewhere."""

from __future__ import annotations

import pyarrow as pa
import pytest

import engine
from engine import InvalidJob, load_job, run

ATTRIBUTES = {
    "age": {"role": "quasi-identifying", "order": "integer", "hierarchy": {"builder": "redaction", "length": 2}},
}
QUERY = {"conn_id": "census", "query": "SELECT age, persons FROM people"}
TABLE = pa.table({"age": ["31", "32", "32", "32", "41", "42", "42", "42"]})


def job(population, **settings):
    privacy = [{"model": "k-anonymity", "k": 2}]
    frontier = {"population": population, "k_anonymity": [], "policies": 50}
    return load_job({"name": "p", "attributes": ATTRIBUTES, "privacy": privacy, "frontier": frontier, **settings})


@pytest.mark.parametrize(
    "population",
    [{"conn_id": "census"}, {"conn_id": "census", "table": "people", "query": "SELECT 1"}, {"table": "people"}],
)
def test_a_connection_has_either_a_table_or_a_query(population):
    with pytest.raises(InvalidJob, match=r"frontier\.population"):
        job(population)


def test_it_is_the_only_population():
    with pytest.raises(InvalidJob, match="one population"):
        job(QUERY, risk={"population": "people.csv"})


@pytest.mark.parametrize("use", [run, engine.frontier])
def test_only_tasks_read_it(use):
    with pytest.raises(InvalidJob, match=r"frontier\.population: is in the connection 'census'"):
        use(job(QUERY), TABLE)


def test_a_staged_file_takes_its_place_and_the_document_keeps_what_was_written(tmp_path):
    path = tmp_path / "population.csv"
    path.write_text("age,persons\n31,10\n32,20\n41,5\n42,6\n", encoding="utf-8")
    written = job(QUERY)
    staged = written.with_population(path)
    assert staged.population == str(path)
    assert staged.population_query is None
    assert staged.document() == written.document()
    assert staged.document()["frontier"]["population"] == QUERY
    report = engine.frontier(staged, TABLE).report
    # at the bottom every value is by itself, beside 10, 20, 5 and 6 persons
    assert report["frontier"][-1]["risk"] == pytest.approx((1 / 10 + 3 / 20 + 1 / 5 + 3 / 6) / 8)
    assert str(tmp_path) not in str(report)
