"""Differentially private releases: what is in them, that nothing else tells of other records, and who judges them."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest

from engine import NoSolution, run, verify
from engine.tables.altered.sampled import SampledTable
from engine.tables.sources.source import ArrowTable
from tests.engine.private_jobs import DOCUMENT, KEY, private, source

K = 24


def drawn(table):
    """Return the labels of the records that the key draws, with their numbers."""
    sampled = SampledTable(ArrowTable(table), 0.5, KEY)
    rows = [row for batch in sampled.batches(["age", "zip"]) for row in batch.to_pylist()]
    return Counter((label_of_age(row["age"]), label_of_zip(row["zip"])) for row in rows)


def large(table):
    return Counter({labels: number for labels, number in drawn(table).items() if number >= K})


def label_of_age(age):
    if age in {None, "unknown"}:
        return None
    return f"[{age[:-1]}0, {int(age[:-1] or 0) * 10 + 10}[" if age.isdigit() else "*"


def label_of_zip(code):
    return None if code is None else f"{code[:2]}*" if code.isdigit() and len(code) == 3 else "*"


def shown(table):
    return Counter((row["age"], row["zip"]) for row in table.to_pylist())


STRANGE = [("30", None)] * 60 + [("a", "z")] * 90 + [("unknown", "121")] * 60 + [("39", "999")] * 30


def test_it_shows_the_classes_of_the_sample_that_are_large_enough():
    table = source(*STRANGE)
    result = run(private(), table=table, rows_key=KEY)
    assert {("[30, 40[", None), ("*", "*"), (None, "12*")} < set(large(table)) < set(drawn(table))
    assert shown(result.table) == large(table)
    assert result.report["rows"] == result.report["released"] == large(table).total()
    assert result.report["sample"] == {"fraction": 0.5, "classes_of_at_least": K}
    assert result.report["suppressed_class"] == {"form": "none", "records": 0, "joined": 0}


@pytest.mark.parametrize("backend", ["arrow", "duckdb"])
def test_each_backend_shows_the_same(backend):
    assert shown(run(private(backend=backend), table=source(*STRANGE), rows_key=KEY).table) == shown(
        run(private(), table=source(*STRANGE), rows_key=KEY).table
    )


def folder_of(path, table, **changes):
    """Return all files of a release, but for versions and the hashes of files with them."""
    run(private(**changes), table=table, output=path, rows_key=KEY)
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def exchanged(table, place, age, code):
    """Return a table with other values in one record."""
    columns = {name: table[name].to_pylist() for name in table.column_names}
    columns["age"][place], columns["zip"][place] = age, code
    return pa.table(columns)


@pytest.mark.parametrize("measure", ["loss", "non-uniform-entropy", "precision", "discernibility"])
def test_no_file_tells_of_records_that_are_not_shown(tmp_path, measure):
    """Byte by byte, whatever is in records that were not drawn or are in small classes, and however many they are."""
    changes = {"output": {"path": "release", "formats": ["parquet", "csv"]}, "utility": {"measure": measure}}
    alone = folder_of(tmp_path / "alone", source(), **changes)
    assert {"data.parquet", "data.csv", "report.json", "codebook.json", "README.md", "manifest.json"} <= set(alone)
    others = (
        [("77", "121")],
        [("unknown", "131")],
        [(None, None), ("a text", "a code"), ("999999", "000")],
        [("88", "141")] * 40,
        [(str(age), None) for age in range(100)],
    )
    for place, more in enumerate(others):
        assert large(source(*more)) == large(source())
        assert folder_of(tmp_path / str(place), source(*more), **changes) == alone


def test_no_file_tells_of_the_values_behind_a_label(tmp_path):
    """Of a record that is shown, only its labels are; also where its value was the only one of its kind."""
    (place,) = [place for place in range(600) if source()["mrn"][place].as_py() == first_drawn()]
    age, code = (source()[name][place].as_py() for name in ("age", "zip"))
    alone = folder_of(tmp_path / "alone", source())
    other = exchanged(source(), place, f"{age[0]}{9 - int(age[1])}", f"{code[:2]}9")
    assert folder_of(tmp_path / "other", other) == alone


def first_drawn():
    sampled = SampledTable(ArrowTable(source()), 0.5, KEY)
    return next(batch["mrn"][0].as_py() for batch in sampled.batches(["mrn"]))


def test_figures_that_read_more_than_the_file_are_withheld():
    told = run(private(), table=source(), rows_key=KEY).published
    known = {"precision", "discernibility", "average-class-size", "height"}
    assert {name for name, figure in told["utility"].items() if figure is not None} == known
    assert (told["timings"], told["search"]["seconds"]) == (None, None)
    assert told["solution"]["information_loss"] is None
    assert {"timings", "search.seconds", "utility.loss", "solution.information_loss"} <= set(told["withheld"])
    assert told["lint"] == {"unit": "record", "columns": [], "classes": [], "findings": []}
    assert "each further release of the same records adds its epsilon and delta" in told["warnings"][0]


@pytest.mark.parametrize("table", [source(rows=20), source(rows=1), source(*[("77", None)] * 30, rows=0)])
def test_nothing_to_show_is_told_in_one_way(table):
    """Whether the sample is empty, or has small classes only, cannot be told."""
    with pytest.raises(NoSolution, match="no class has the 24 records of the sample") as problem:
        run(private(), table=table, rows_key=KEY)
    assert "20" not in str(problem.value)


@pytest.mark.parametrize("codes", [["a", "b"], [None]])
def test_a_column_without_a_value_is_told_without_a_number(codes):
    table = source()
    blank = table.set_column(2, "zip", pa.array((codes * 600)[:600], pa.string()))
    with pytest.raises(NoSolution, match=r"'zip' would tell nothing, since no record") as problem:
        run(private(), table=blank, rows_key=KEY)
    assert not any(character.isdigit() for character in str(problem.value))


def test_a_record_is_in_the_release_with_the_fraction():
    """Within five standard deviations, over the keys of 200 runs of the sampling alone."""
    readings = (SampledTable(ArrowTable(source(rows=100)), 0.5, bytes([key]) * 32) for key in range(200))
    numbers = [sum(batch.num_rows for batch in reading.batches(["age"])) for reading in readings]
    assert abs(sum(numbers) - 10_000) < 5 * (20_000 * 0.25) ** 0.5
    # each record by itself: the numbers vary as those of independent draws do
    spread = sum((number - 50) ** 2 for number in numbers) / len(numbers)
    assert 15 < spread < 37


def test_the_verification_finds_what_is_wrong():
    table, job = source(*STRANGE), private()
    result = run(job, table=table, rows_key=KEY)

    def failing(shown, report=result.published, key=KEY, **changes):
        findings = verify(shown, private(**changes), report, source=table, rows_key=key)
        return {finding.check for finding in findings if not finding.holds}

    assert not failing(result.table)
    assert not failing(result.table, key=None)
    assert "sample" in failing(result.table, key=b"another key".ljust(32))
    without = {key: value for key, value in result.published.items() if key != "sample"}
    assert "sample" in failing(result.table, without)
    other = {**result.published, "sample": {"fraction": 0.5, "classes_of_at_least": 20}}
    assert "sample" in failing(result.table, other)
    # one record less, in a class that stays large enough, or in a small class
    assert {"sample", "rows"} <= failing(result.table.slice(1))
    small = pa.table({"age": ["[70, 80["], "zip": ["12*"]})
    assert {"sample", "differential-privacy"} <= failing(pa.concat_tables([result.table, small]))
    weaker = [{**DOCUMENT["privacy"][0], "epsilon": 1}]
    assert {"differential-privacy", "sample"} <= failing(result.table, privacy=weaker)


def test_documents_for_readers_say_what_is_promised(tmp_path):
    run(private(), table=source(), output=tmp_path / "release", rows_key=KEY)
    text = (tmp_path / "release" / "README.md").read_text()
    assert "(2, 1e-06)-differential privacy of each record: a sample of 0.5, and classes of at least 24 records" in text
    assert "each drawn with probability 0.5" in text
    assert "rare groups seem rarer than they are" in text
    report = json.loads((tmp_path / "release" / "report.json").read_text())
    (entry,) = report["privacy"]
    stated = {"epsilon": 2, "delta": 1e-06, "sampling_fraction": 0.5, "required": 24, "holds": True}
    assert {key: entry[key] for key in stated} == stated
