"""Releases beside a population, judged by Great Expectations: by hand, and as the engine's verification judges them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from airflow_anon.expectations.labels_of_values import labels_of
from airflow_anon.expectations.population import people_by_labels
from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.source_settings import population_of
from airflow_anon.expectations.suite import release_suite
from engine import InvalidData, NoSolution, load_job, run, verify
from tests.airflow_anon.expectations import build
from tests.airflow_anon.expectations.build import FIGURES, PRIVACY, ROWS
from tests.engine import populated
from tests.profiles import examples

REAL = settings(
    deadline=None, max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
PEOPLE = [("31", "11")] * 4 + [("41", "21")] * 3 + [("42", "12")] * 3
PRESENCE = {"model": "delta-presence", "delta_min": 0.2, "delta_max": 0.5, "subset": "subset.csv"}


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [({"builder": "flat"}, [None]), ({"builder": "interval", "widths": [10]}, [None, "unknown"])],
)
def test_values_without_an_entry_become_the_root_where_no_value_has_one(hierarchy, values):
    attribute = {"role": "quasi-identifying", "hierarchy": hierarchy, "unseen": "root"}
    highest = 1 if hierarchy["builder"] == "flat" else 2
    labels, refused = labels_of("age", pd.Series(values, dtype=object), attribute, highest)
    assert labels.tolist() == ["*"] * len(values)
    assert not refused.any()


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
    assert build.result_of(document, PRIVACY)["message"] == "subset: rows that are no records of the source: 1"
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
    """Of four records that are `*` throughout, two are a class of people without an entry and two are suppressed."""
    people = [("31", "11")] * 4 + [("99", "99")] * 4 + [("42", "12")] * 4 + [("52", "12")] * 5
    allow = {"maximum_level": 0, "unseen": "root"}
    privacy = [{**PRESENCE, "subset": "subset.parquet"}, {"model": "k-anonymity", "k": 2}]
    listed = pa.table({"id": [0, 1, 4, 5, 8, 12]})
    released = Released(tmp_path, people, privacy, listed, attribute=allow, limit=0.4)
    assert released.table["age"].to_pylist() == ["*", "*", "*", "*", "31", "31"]
    document = released.validate()
    assert document["success"] is True
    report = copy.deepcopy(released.report)
    report["classes"]["smallest"] = 1
    assert build.failed(released.validate(report=report)) == {FIGURES}


WEIGHTED = [("31", "11", 3), ("41", "21", 4), ("42", "12", 0), ("42", "12", 2)]
"""Rows of a population file: age, ZIP code, and how many people they stand for."""


def weighted(kinds="int64"):
    ages, zips, persons = zip(*WEIGHTED, strict=True)
    return pa.table({"age": ages, "zip": zips, "persons": pa.array(persons).cast(kinds)})


@pytest.mark.parametrize("kinds", [pa.int64(), pa.uint8(), pa.float64(), pa.decimal128(21, 2), pa.string()], ids=str)
def test_rows_that_stand_for_several_people(tmp_path, kinds):
    """By hand, at the leaves: three, four and two; read as one person each, the same rows do not do."""
    path = populated.write(tmp_path / "people.parquet", weighted(kinds))
    privacy = [{"model": "k-map", "k": 2, "population": "people.parquet"}]
    released = Released(tmp_path, [("31", "11"), ("41", "21"), ("42", "12")], privacy)
    assert released.report["population_rows"] == 9
    document = released.validate()
    assert document["success"] is True
    assert build.result_of(document, PRIVACY)["observed"] == 2
    entries = {name: released.job.document()["attributes"][name] for name in released.job.quasi_identifiers}
    found = people_by_labels(population_of(released.job, entries, {"age": 0, "zip": 0}, None)).to_pylist()
    counted = {(row["0"], row["1"]): (row["people"], row["released"]) for row in found}
    assert counted == {("31", "11"): (3, 0), ("41", "21"): (4, 0), ("42", "12"): (2, 0)}
    populated.write(tmp_path / "people.parquet", pa.table({**{n: weighted()[n] for n in ("age", "zip")}}))
    assert path == released.job.population
    assert build.failed(released.validate()) == {PRIVACY, FIGURES}


def test_a_row_of_nobody_is_not_looked_at(tmp_path):
    """Its value has no hierarchy entry, which would end the run for a row of somebody."""
    rows = [*WEIGHTED, ("nobody", "11", 0)]
    people = pa.table(dict(zip(("age", "zip", "persons"), zip(*rows, strict=True), strict=True)))
    populated.write(tmp_path / "people.parquet", people)
    privacy = [{"model": "k-map", "k": 2, "population": "people.parquet"}]
    assert Released(tmp_path, [("31", "11"), ("42", "12")], privacy).validate()["success"] is True


@pytest.mark.parametrize(
    "persons", [["1", "2", "-1", "1"], ["1", "2.5", "1", "1"], ["1", "lots-4711", "1", "1"], [1, 1, None, 1]]
)
def test_people_that_cannot_be_counted(tmp_path, persons):
    privacy = [{"model": "k-map", "k": 2, "population": "people.parquet"}]
    populated.write(tmp_path / "people.parquet", weighted())
    released = Released(tmp_path, [("31", "11"), ("42", "12")], privacy)
    populated.write(tmp_path / "people.parquet", weighted().set_column(2, "persons", pa.array(persons)))
    document = released.validate()
    assert build.failed(document) == {PRIVACY, FIGURES}
    assert "something else than whole numbers from 0" in build.result_of(document, PRIVACY)["message"]
    assert "4711" not in json.dumps(document)


def test_persons_of_a_subset_count_one_record_each(tmp_path):
    """The population is the extracted source then, and a column of that name is one of its own."""
    source = pa.table({"age": ["31"] * 4, "zip": ["11"] * 4, "id": range(4), "persons": [5, 5, 5, 5]})
    populated.write(tmp_path / "subset.parquet", pa.table({"id": [0, 1]}))
    job = populated.job(tmp_path, [{**PRESENCE, "subset": str(tmp_path / "subset.parquet")}])
    attributes = {**job.document()["attributes"], "persons": {"role": "insensitive"}}
    job = load_job({**job.document(), "attributes": attributes})
    path = populated.write(tmp_path / "source.parquet", source)
    result = run(job, source)
    suite = release_suite(job, result.report, source_rows=4, source=path)
    assert run_suite(result.table, suite)["success"] is True
    assert verify(result.table, job, result.report, source=source)


@REAL
@given(st.lists(st.tuples(populated.PERSON, st.integers(0, 4)), min_size=1, max_size=12), populated.LEVELS)
def test_people_are_counted_as_if_each_had_a_row(tmp_path_factory, rows, levels):
    folder = tmp_path_factory.mktemp("job")
    people = [person for person, number in rows for _ in range(number)]
    whole = populated.table([person for person, _ in rows]).append_column("persons", pa.array([n for _, n in rows]))
    path = populated.write(folder / "people.parquet", whole)
    attribute = {"unseen": "error", "missing": []}
    job = populated.job(folder, [{"model": "k-map", "k": 2, "population": path}], attribute=attribute)
    entries = {name: job.document()["attributes"][name] for name in job.quasi_identifiers}
    found = people_by_labels(population_of(job, entries, levels, None)).to_pylist()
    assert {(row["0"], row["1"]): row["people"] for row in found} == populated.counted(people, levels, attribute)


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


@settings(parent=REAL, max_examples=examples(200))
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
    assume(table.num_rows)
    row = data.draw(st.integers(0, table.num_rows - 1))
    return build.changed(table, name, row, data.draw(st.sampled_from([*labels, "*", None])))


@REAL
@given(populated.worlds(), populated.MODELS, st.booleans(), st.integers(0, 2), st.booleans(), st.data())
def test_agrees_with_the_engine(tmp_path_factory, world, model, is_file, harms, local, data):
    """Where the engine's verification refuses a record in another class than listed, so must one of these."""
    people, attribute, columns, rows = world
    assume(model["model"] == "k-map" or not is_file)
    folder = tmp_path_factory.mktemp("job")
    listed = pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
    others = populated.table([*people, *people[::2]])
    populated.write(folder / "people.parquet", others)
    named = {"population": "people.parquet"} if is_file else {"subset": "subset.parquet"}
    changes = {"transformation": "local-recoding", "recoding": {"bound_passes": 0}} if local else {}
    try:
        released = Released(folder, people, [{**model, **named}], listed, attribute=attribute, limit=0.5, **changes)
    except NoSolution:
        assume(False)
    except InvalidData:  # a label with two meanings
        assert local
        assert attribute["unseen"] == "root"
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
