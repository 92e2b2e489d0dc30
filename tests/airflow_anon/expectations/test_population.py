"""Releases beside a population, judged by Great Expectations: by hand, and as the engine's verification judges them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from airflow_anon.expectations.population import people_by_labels, population_of
from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import InvalidData, NoSolution, run, verify
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.build import FIGURES, PRIVACY, ROWS
from tests.engine import populated

REAL = settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
PEOPLE = [("31", "11")] * 4 + [("41", "21")] * 3 + [("42", "12")] * 3
PRESENCE = {"model": "delta-presence", "delta_min": 0.2, "delta_max": 0.5, "subset": "subset.csv"}


class Released:
    """A release of a subset, or of a whole source beside a population file."""

    def __init__(self, folder, people, privacy, listed=None, **changes):
        self.source = populated.table(people)
        self.path = populated.write(folder / "source.parquet", self.source)
        if listed is not None:
            populated.write(folder / "subset.parquet", listed)
        files = {"subset", "population"}
        located = [{k: str(folder / v) if k in files else v for k, v in model.items()} for model in privacy]
        self.job = populated.job(folder, located, **changes)
        result = run(self.job, self.source)
        self.table, self.report = result.table, result.report

    def validate(self, table=None, report=None, **changes):
        arguments = {"source_rows": self.source.num_rows, "source": self.path, **changes}
        suite = release_suite(self.job, report or self.report, **arguments)
        return run_suite(self.table if table is None else table, suite)


@pytest.fixture
def subset(tmp_path):
    """Give a release of two of four, one of three and one of three people."""
    return Released(tmp_path, PEOPLE, [{**PRESENCE, "subset": "subset.parquet"}], pa.table({"id": [0, 3, 4, 9]}))


def test_a_good_release(subset, tmp_path):
    document = subset.validate()
    assert document["success"] is True
    assert build.result_of(document, PRIVACY)["observed"] == 0.5
    kwargs = build.result_of(document, PRIVACY)["kwargs"]
    assert (kwargs["model"]["subset"], kwargs["population"]["subset"]) == ("subset.parquet", "subset.parquet")
    rows = build.result_of(document, ROWS)["kwargs"]
    assert {key: rows[key] for key in ("source_rows", "reported_source_rows", "listed_rows", "reported_rows")} == {
        "source_rows": 10,
        "reported_source_rows": 10,
        "listed_rows": 4,
        "reported_rows": 4,
    }
    assert str(tmp_path) not in json.dumps(document)


def test_harmed_releases(subset):
    moved = build.changed(build.changed(subset.table, "age", 0, "41"), "zip", 0, "21")
    assert build.failed(subset.validate(moved)) == {PRIVACY, FIGURES}
    assert build.failed(subset.validate(subset.table.slice(1))) == {ROWS}
    for part, key in (("risk", "journalist"), ("risk", "population_uniqueness"), ("risk", "threshold")):
        report = copy.deepcopy(subset.report)
        report[part][key] = 0.123
        assert build.failed(subset.validate(report=report)) == {FIGURES}
        del report[part][key]
        assert build.failed(subset.validate(report=report)) == {FIGURES}
    more = copy.deepcopy(subset.report)
    more["risk"]["other"] = 0.5
    assert build.failed(subset.validate(report=more)) == {FIGURES}
    assert build.failed(subset.validate(report={**subset.report, "population_rows": 11})) == {ROWS}
    with pytest.raises(ValueError, match="report: rows, population_rows"):
        subset.validate(report={**subset.report, "population_rows": None})


def test_another_subset(subset, tmp_path):
    """Another person of the same labels is as good; one of other labels, or a row more, is not."""
    populated.write(tmp_path / "subset.parquet", pa.table({"id": [1, 2, 5, 8]}))
    assert subset.validate()["success"] is True
    populated.write(tmp_path / "subset.parquet", pa.table({"id": [0, 3, 4, 9, 1]}))
    assert ROWS in build.failed(subset.validate())
    populated.write(tmp_path / "subset.parquet", pa.table({"id": [0, 3, 4, 77]}))
    document = subset.validate()
    assert build.failed(document) == {PRIVACY, FIGURES}
    assert build.result_of(document, PRIVACY)["message"] == "subset: 1 of its rows are no records of the source"
    (tmp_path / "subset.parquet").unlink()
    with pytest.raises(InvalidData, match=r"^subset subset.parquet: cannot be read"):
        subset.validate()


def test_without_the_source(subset):
    document = subset.validate(source=None)
    assert build.failed(document) == {PRIVACY, FIGURES}
    assert "give its path as source" in build.result_of(document, PRIVACY)["message"]


def test_a_value_that_no_hierarchy_has_is_not_told(subset):
    rows = subset.source.to_pylist()
    rows[1]["age"] = "Jane-Roe-4711"
    populated.write(Path(subset.path), pa.Table.from_pylist(rows))
    document = subset.validate()
    assert build.failed(document) == {PRIVACY, FIGURES}
    assert "4711" not in json.dumps(document)


def test_kept_records_that_look_suppressed(tmp_path):
    """Of three records that are `*` throughout, two are a class of people without an entry and one is suppressed."""
    people = [("31", "11")] * 4 + [("99", "99")] * 4 + [("42", "12")] * 9
    allow = {"maximum_level": 0, "unseen": "root"}
    privacy = [{**PRESENCE, "subset": "subset.parquet"}, {"model": "k-anonymity", "k": 2}]
    listed = pa.table({"id": [0, 1, 4, 5, 8]})
    released = Released(tmp_path, people, privacy, listed, attribute=allow, limit=0.2)
    assert released.table["age"].to_pylist() == ["31", "31", "*", "*", "*"]
    document = released.validate()
    assert document["success"] is True
    report = copy.deepcopy(released.report)
    report["classes"]["smallest"] = 1
    assert build.failed(released.validate(report=report)) == {FIGURES}


def test_a_table_wide_criterion(tmp_path):
    """Two classes of nine records; three after one record moved."""
    privacy = [{"model": "average-risk", "threshold": 0.25}]
    people = [("31", "11")] * 6 + [("42", "21")] * 3
    released = Released(tmp_path, people, privacy, risk={"threshold": 0.5, "sampling_fraction": 0.5})
    document = released.validate()
    assert document["success"] is True
    assert build.result_of(document, PRIVACY)["observed"] == 2 / 9
    moved = build.changed(released.table, "zip", 0, "12")
    assert build.failed(released.validate(moved)) == {PRIVACY, FIGURES}
    report = copy.deepcopy(released.report)
    report["risk"]["estimated_population_uniqueness"] = 0.5
    assert build.failed(released.validate(report=report)) == {FIGURES}


# ---------------------------------------------------------------- two judges, one verdict


@settings(parent=REAL, max_examples=200)
@given(populated.worlds(), populated.LEVELS)
def test_people_are_counted_as_in_plain_python(tmp_path_factory, world, levels):
    people, attribute, columns, rows = world
    folder = tmp_path_factory.mktemp("job")
    listed = pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
    subset = populated.write(folder / "subset.parquet", listed)
    job = populated.job(folder, [{**PRESENCE, "subset": subset}], attribute=attribute)
    source = populated.write(folder / "source.parquet", populated.table(people))
    entries = {name: job.document()["attributes"][name] for name in job.quasi_identifiers}
    found = people_by_labels(population_of(job, entries, levels, source)).to_pylist()
    counted = {(row["0"], row["1"]): (row["people"], row["released"]) for row in found}
    everyone = populated.counted(people, levels, attribute)
    released = populated.counted([people[i] for i in populated.listed(people, rows, columns)], levels, attribute)
    assert counted == {labels: (number, released[labels]) for labels, number in everyone.items()}


def relabel(table, data):
    """Put a label of any level, the mark or a missing value into one cell."""
    name = data.draw(st.sampled_from(list(populated.TREES)))
    labels = [label for row in populated.TREES[name] for label in row]
    row = data.draw(st.integers(0, table.num_rows - 1))
    return build.changed(table, name, row, data.draw(st.sampled_from([*labels, "*", None])))


@REAL
@given(populated.worlds(), populated.MODELS, st.booleans(), st.integers(0, 2), st.data())
def test_agrees_with_the_engine(tmp_path_factory, world, model, is_file, harms, data):
    """Where the engine's verification refuses a record in another class than listed, so must one of these."""
    people, attribute, columns, rows = world
    assume(model["model"] == "k-map" or not is_file)
    folder = tmp_path_factory.mktemp("job")
    listed = pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
    others = populated.table([*people, *people[::2]])
    populated.write(folder / "people.parquet", others)
    named = {"population": "people.parquet"} if is_file else {"subset": "subset.parquet"}
    try:
        released = Released(folder, people, [{**model, **named}], listed, attribute=attribute, limit=0.5)
    except NoSolution:
        assume(False)
    table = released.table
    for _ in range(harms):
        table = relabel(table, data)
    document = released.validate(table)
    findings = verify(table, released.job, released.report, source=released.source)
    # that classes are those listed is what only the engine's verification compares, record by record
    others = [finding for finding in findings if finding.check != "subset"]
    assert document["success"] == all(finding.holds for finding in others)
    if not harms:
        assert document["success"] is True
