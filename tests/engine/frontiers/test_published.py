"""What a frontier tells of its source: few digits, in the file, in the chart and on the command line alike."""

from __future__ import annotations

import copy
import json
import random

import pytest

import engine
from engine.cli.commands import main
from engine.frontiers.published import published
from tests.engine.frontiers.small_job import job_of, people_of, table_of, written

RECORDS = people_of(40)
FIGURES = ("risk", "utility_loss", "normalized_risk", "normalized_utility_loss")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return engine.frontier(job_of(tmp_path_factory.mktemp("published")), table_of(RECORDS))


def policies_of(report):
    beside = [entry for entries in report["k_anonymity"].values() for entry in entries]
    named = [report[key] for key in ("safe_harbor", "current") if report[key] is not None]
    return [*report["frontier"], *report["shortlist"], *beside, *named]


@pytest.mark.parametrize(
    ("records", "digits", "told", "divisor"),
    [(999, 2, None, 980), (1_049, 2, 1_000, 1_000), (1_099, 2, 1_000, 1_000), (123_456, 3, 120_000, 120_000)],
)
def test_each_figure_has_few_digits(found, records, digits, told, divisor):
    """Marketer risks are those of a table of fewer records."""
    exact = {**copy.deepcopy(found.report), "rows": records, "visited": 12_345, "area": 0.123456}
    rng = random.Random(1)
    for entry in policies_of(exact):
        entry.update({name: rng.random() for name in FIGURES})
    report = published(exact)
    assert (report["rows"], report["visited"]) == (told, 12_000)
    assert report["area"] == round(0.123456, digits)
    for rounded, entry in zip(policies_of(report), policies_of(exact), strict=True):
        for name in FIGURES:
            figure = min(1, entry[name] * records / divisor) if name == "risk" else entry[name]
            assert rounded[name] == float(f"{figure:.{digits - 1}e}")
            assert rounded[name] == pytest.approx(figure, rel=0.5 * 10 ** (1 - digits))


def test_everything_else_is_as_it_was(found):
    """Policies too, though an attribute of them may have the name of a figure."""
    exact = copy.deepcopy(found.report)
    exact["shortlist"][0]["policy"]["risk"] = [{"value": "0.123456"}]
    report = published(exact)
    assert report["domains"] == exact["domains"]
    assert [one["policy"] for one in report["shortlist"]] == [one["policy"] for one in exact["shortlist"]]
    assert engine.frontier_policies(report) == engine.frontier_policies(exact)
    assert exact["rows"] == len(RECORDS)


def test_another_last_record_changes_no_number_of_records(found, tmp_path):
    fewer = engine.frontier(job_of(tmp_path), table_of(RECORDS[:-1]))
    assert fewer.report["rows"] != found.report["rows"]
    assert fewer.published["rows"] is found.published["rows"] is None


def test_the_command_line_writes_what_may_be_told(tmp_path, capsys):
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps({**job_of(tmp_path), "source": {"path": written(tmp_path, RECORDS), "delimiter": ","}}))
    files = {name: tmp_path / f"found.{name}" for name in ("json", "html", "svg")}
    options = ["--report", str(files["json"]), "--chart", str(files["html"]), "--picture", str(files["svg"])]
    assert main(["frontier", str(path), *options]) == 0
    report = json.loads(files["json"].read_text())
    assert report["rows"] is None
    exact = engine.frontier(str(path)).report
    longest = {str(entry[name]) for entry in exact["frontier"] for name in FIGURES if len(str(entry[name])) > 6}
    assert longest
    printed = capsys.readouterr().out
    assert "fewer than 1,000 records" in printed
    for text in (printed, *(file.read_text() for file in files.values())):
        assert not any(figure in text for figure in longest)
