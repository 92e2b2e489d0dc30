"""How a suite is run: nothing of a record comes out, nothing is sent or written, and what is not evaluated fails."""

from __future__ import annotations

import json
import logging
import socket
import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import great_expectations as gx
import pyarrow as pa
import pytest

from airflow_anon.expectations.base import ReleaseExpectation
from airflow_anon.expectations.class_table import ClassTable
from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import Finding, InvalidData
from tests.airflow_anon.expectations import build

MARK = "dx-alpha"


class ExpectDefect(ReleaseExpectation):
    """An expectation with a defect: it fails with the value it was looking at."""

    engine_error: bool

    success_keys: ClassVar[tuple[str, ...]] = ("engine_error",)
    template: ClassVar[str] = "Never."

    def read_columns(self) -> list[str]:
        """One with values."""
        return ["diagnosis"]

    def judge(self, release: ClassTable) -> Finding:
        """Fail."""
        if self.engine_error:
            raise InvalidData("column 'age': has no hierarchy")
        raise ValueError(release.tuples("diagnosis")["value"][0].as_py())


def values_of(table):
    """Give every value of a table as text, and as JSON would write it."""
    return {str(value) for column in table.columns for value in column.to_pylist() if value not in {None, "*"}}


def harmed(table):
    """Break everything that lies in values: labels, classes, diversity, types."""
    table = build.changed(table, "age", 0, "y31")
    table = build.changed(table, "zip", 1, "z2138")
    for row in range(6, 12):
        table = build.changed(table, "diagnosis", row, "dx-alpha")
    position = table.column_names.index("days")
    return table.set_column(position, "days", table["days"].cast(pa.string())).slice(0, 11)


@pytest.mark.parametrize("harm", [lambda table: table, harmed])
def test_no_value_of_a_record(tmp_path, harm, caplog, capfd):
    """Neither a good nor a failing validation repeats a value, of the source or of the release."""
    caplog.set_level(logging.DEBUG)
    job, table, report = build.released(tmp_path)
    table = harm(table)
    document = run_suite(table, release_suite(job, report, source_rows=13, source_types=build.types()))
    printed = capfd.readouterr()
    text = json.dumps(document) + caplog.text + printed.out + printed.err
    assert [value for value in values_of(table) | values_of(build.source()) if value in text] == []


def test_values_of_a_grouping_stay_out(tmp_path):
    """A hierarchy that lists the values of a column is not copied into the result."""
    (tmp_path / "zip.csv").write_text(build.ZIPS)
    job = build.job(tmp_path)
    attributes = job.document()["attributes"]
    groups = [{"y30s": ["y31", "y32"], "y40s": ["y41", "y42"], "y70s": ["y71"]}]
    age = {"role": "quasi-identifying", "hierarchy": {"builder": "grouping", "groups": groups}, "minimum_level": 1}
    job, table, report = build.released(tmp_path, attributes={**attributes, "age": age})
    document = run_suite(table, release_suite(job, report, source_rows=13))
    assert document["success"] is True
    assert "y31" not in json.dumps(document)
    by_column = {result["column"]: result["kwargs"] for result in document["results"] if result["column"]}
    assert by_column["age"]["attribute"] == {
        "builder": "grouping",
        "minimum_level": 1,
        "nulls": "value",
        "unseen": "error",
    }


def test_defect_of_an_expectation_keeps_its_text(tmp_path):
    """An unexpected error fails the expectation by its class alone: its text may hold a value."""
    _, table, _ = build.released(tmp_path)
    document = run_suite(table, gx.ExpectationSuite("s", expectations=[ExpectDefect(engine_error=False)]))
    assert document["success"] is False
    assert document["results"][0]["message"] == "the check ended with ValueError"
    assert MARK not in json.dumps(document)


def test_error_of_the_engine_is_told(tmp_path):
    """An error of the engine holds no value, and says what to do."""
    _, table, _ = build.released(tmp_path)
    document = run_suite(table, gx.ExpectationSuite("s", expectations=[ExpectDefect(engine_error=True)]))
    assert document["success"] is False
    assert document["results"][0]["message"] == "column 'age': has no hierarchy"


def test_empty_suite_proves_nothing(tmp_path):
    """Great Expectations calls a suite without expectations a success."""
    _, table, _ = build.released(tmp_path)
    assert run_suite(table, gx.ExpectationSuite("s", expectations=[]))["success"] is False


def test_every_parameter_survives_json(tmp_path):
    """A suite that went through JSON finds the same: no parameter falls out of it."""
    job, table, report = build.released(tmp_path)
    suite = release_suite(job, report, source_rows=13, source_types={})
    plain = json.loads(json.dumps(suite.to_json_dict()))
    again = gx.ExpectationSuite(plain["name"], expectations=plain["expectations"])
    for expectation, entry in zip(suite.expectations, plain["expectations"], strict=True):
        assert set(entry["kwargs"]) == set(expectation.success_keys)
    first, second = run_suite(table, suite), run_suite(table, again)
    assert first["success"] is True
    assert first["results"] == second["results"]


def test_prescription_is_rendered_by_great_expectations(tmp_path):
    """Every expectation says what it demands, with each parameter it names, in our result and in theirs."""
    job, table, report = build.released(tmp_path)
    suite = release_suite(job, report, source_rows=13, source_types=build.types())
    for expectation in suite.expectations:
        expectation.render()
        (rendered,) = expectation.rendered_content
        assert rendered.name == "atomic.prescriptive.summary"
        assert rendered.value.template == expectation.template
    descriptions = {result["description"] for result in run_suite(table, suite)["results"]}
    assert "Every equivalence class over age, zip must hold at least 3 records." in descriptions
    assert not [text for text in descriptions if "$" in text]


def test_nothing_is_sent_or_written(tmp_path, monkeypatch, capfd):
    """No connection is opened, no file appears in the working directory or the home, no progress bar is drawn."""

    def refuse(*arguments: Any, **named: Any) -> Callable[..., None]:
        raise AssertionError("a connection was opened, or a folder made")

    job, table, report = build.released(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GX_CLOUD_ORGANIZATION_ID", "00000000-0000-0000-0000-000000000000")
    monkeypatch.setenv("GX_CLOUD_ACCESS_TOKEN", "none")
    monkeypatch.chdir(tmp_path / "work")
    assert run_suite(table, release_suite(job, report, source_rows=13))["success"] is True
    assert [*(tmp_path / "home").iterdir(), *(tmp_path / "work").iterdir()] == []
    assert capfd.readouterr().err == ""
