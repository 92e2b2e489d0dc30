"""A job with backend sql says what works inside a warehouse; anything else is refused by name before it is read."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job, run

PLACE = {"conn_id": "clinic", "table": "research.stays"}


def document(**changes):
    return {
        "name": "inside",
        "backend": "sql",
        "source": {"conn_id": "clinic", "table": "stays"},
        "output": PLACE,
        "unit": "record",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "weight": 2.0},
            "dx": {"role": "sensitive"},
        },
        "privacy": [
            {"model": "k-anonymity", "k": 5},
            {"model": "t-closeness", "distance": "equal", "attribute": "dx", "t": 0.3},
        ],
        **changes,
    }


def test_a_job_inside_a_warehouse():
    assert load_job(document()).backend == "sql"
    of_persons = document(subject="mrn", knows="any-row", max_rows=5)
    del of_persons["unit"]
    assert load_job(of_persons).max_rows == 5


K = {"model": "k-anonymity", "k": 5}
REFUSED = {
    "suppress": {"suppress": "small-classes"},
    "frontier": {"frontier": {"policies": 10}},
    "choose": {"choose": {"from": "frontier", "maximum_risk": 0.1}},
    "privacy.1: average-risk": {"privacy": [K, {"model": "average-risk", "threshold": 0.1}]},
    "privacy.1: delta-presence with a subset": {
        "privacy": [K, {"model": "delta-presence", "delta_min": 0, "delta_max": 0.5, "subset": "listed.csv"}]
    },
}


@pytest.mark.parametrize("key", list(REFUSED))
def test_what_does_not_work_there_yet_is_refused_by_name(key):
    changed = {name: value for name, value in document(**REFUSED[key]).items() if value is not None}
    with pytest.raises(InvalidJob) as caught:
        load_job(changed)
    assert key in str(caught.value)
    assert "backend sql does not do that inside a warehouse; take it out, or set backend: auto" in str(caught.value)
    assert load_job({**changed, "backend": "auto"})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"source": {"path": "stays.csv"}}, "needs a source with a conn_id"),
        ({"output": {"conn_id": "elsewhere", "table": "stays"}}, "needs a table over the connection of the source"),
        ({"output": {"path": "share"}}, "needs a table over the connection of the source"),
        ({"output": {"path": "share", **PLACE}}, "output.path: backend sql writes no file of records"),
    ],
)
def test_source_and_release_are_in_one_database(changes, told):
    with pytest.raises(InvalidJob, match=told):
        load_job(document(**changes))


def test_it_is_not_run_without_its_connection():
    import pyarrow as pa  # noqa: PLC0415 (jobs are read without it)

    with pytest.raises(InvalidJob, match="backend: sql needs the connection of its warehouse"):
        run(document(), pa.table({"age": [1], "dx": ["a"]}))
