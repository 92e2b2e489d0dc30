"""The document of an attempt: what it says is what the files say, and nothing in it is about few records."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re

import pytest
import yaml

from airflow_anon.ledger import LedgerError, form
from airflow_anon.ledger.document import Attempt
from engine import run
from tests.airflow_anon.expectations import build

RUN = {
    "dag_id": "persons",
    "run_id": "manual__1",
    "run_type": "manual",
    "logical_date": None,
    "run_after": "2026-03-01T02:30:00+00:00",
    "attempt": 1,
    "task_group": "",
    "triggered_by": "erika",
}
READ = {"table": None, "query": "SELECT age FROM t WHERE day = '...'", "query_sha256": "5" * 64}
SOURCE = {
    "read": READ,
    "columns": ["age", "zip", "diagnosis", "days"],
    "fingerprint": "f" * 64,
    "fingerprint_key_id": "e" * 16,
    "path": "away",
}
KEYS = {
    *("format", "outcome", "name", "reason", "run", "job", "source", "smallest_class_allowed", "records", "levels"),
    *("solution", "search", "privacy", "privacy_margin", "risk", "utility", "timings", "versions", "warnings"),
    *("classes", "attribute_inference", "lint", "choice", "policy", "validation", "publication"),
    *("population", "delivered", "approval"),
}


KEY = b"k" * 32
ONE = [{"model": "k-anonymity", "k": 3}]
HIDDEN = (None, None, 3)


class Made:
    """A release of the engine with its validation, in a run's staging folder, and the attempt that made it."""

    def __init__(self, folder, source_rows=13, key=None, **changes):
        (folder / "hierarchies").mkdir()
        self.folder = folder
        self.job = build.job(folder / "hierarchies", **changes)
        self.release = folder / "release"
        self.result = run(self.job, build.source(), output=self.release, fingerprint_key=key)
        document = build.validate(self.job, self.result.table, self.result.published, source_rows)
        (folder / "validation.json").write_text(json.dumps(document))
        self.attempt = Attempt(job=self.job, run=RUN, source=SOURCE, versions={"airflow": "3"}, key=lambda: key)

    @property
    def report(self):
        return self.result.report

    def released(self):
        content = (self.folder / "validation.json").read_bytes()
        (self.release / "validation.json").write_bytes(content)
        from engine import write_manifest  # noqa: PLC0415 (a release folder has the validation in its manifest)

        sha256 = write_manifest(self.release)
        return self.attempt.released(self.release, "r1", sha256, place=str(self.folder / "share"), table=None), sha256


@pytest.fixture
def made(tmp_path):
    """Six in their thirties, six in their forties, and one person who is suppressed."""
    return Made(tmp_path)


def leaves(part):
    """Yield every key, text and figure of a document."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield key
            yield from leaves(value)
    elif isinstance(part, list):
        for value in part:
            yield from leaves(value)
    else:
        yield part


def test_a_release(made):
    document, sha256 = made.released()
    assert set(document) == KEYS
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["outcome"], document["name"], document["reason"]) == ("released", "persons", None)
    assert document["run"] == RUN
    assert document["job"] == {"sha256": made.job.sha256, "document": made.job.document()}
    # one was left out, which the number of records in the source would tell
    assert document["source"]["rows"] is None
    assert (document["source"]["fingerprint"], document["source"]["fingerprint_key_id"]) == ("f" * 64, "e" * 16)
    assert document["source"]["read"] == READ
    assert document["smallest_class_allowed"] == 3
    published = made.result.published
    assert document["solution"]["information_loss"] == published["solution"]["information_loss"]
    assert document["solution"]["optimal"] is True
    for part in ("search", "risk", "utility", "classes", "timings", "privacy_margin"):
        assert document[part] == published[part]
    assert document["versions"].keys() > {"python", "airflow", "great-expectations", "numba"}
    publication = document["publication"]
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in made.release.iterdir()
        if path.name != "manifest.json"
    }
    assert publication["files"] == files
    assert (publication["release_id"], publication["manifest_sha256"]) == ("r1", sha256)
    assert document["validation"]["sha256"] == files["validation.json"]["sha256"]
    assert document["validation"]["success"] is True


def test_with_which_hierarchies_a_release_was_made(tmp_path):
    """The digests are those of the report, so that one can be compared with the other; the key is in neither."""
    made = Made(tmp_path, key=KEY)
    document, _ = made.released()
    assert document.keys() == KEYS | {"hierarchies"}
    assert document["hierarchies"] == made.result.published["hierarchies"]
    assert document["hierarchies"]["digests"].keys() == {"age", "zip"}
    assert form.read(document).hierarchies.key_id == document["hierarchies"]["key_id"]
    assert not {KEY, KEY.hex()} & set(leaves(document))


def test_what_a_release_is_still_good_for(tmp_path):
    """As it is published: without the one that was left out, and without figures of so few."""
    made = Made(tmp_path, unit="record", usefulness={"columns": ["age", "diagnosis"]})
    document, _ = made.released()
    assert document.keys() == KEYS | {"usefulness"}
    assert document["usefulness"] == made.result.published["usefulness"]
    age, _ = document["usefulness"]["columns"]
    assert (age["records"], age["suppressed"], age["mean_overlap"]) == (12, 0, None)
    assert [(one["before"], one["after"]) for one in age["labels"]] == [(6, 6), (6, 6)]


def test_what_the_linter_found(made):
    """Shares of a source of which few records were left out would tell how many, so they are withheld.

    So is what follows from them.
    """
    document, _ = made.released()
    stated = made.report["lint"]
    assert {"kind": "nearly-unique", "column": "days"} in stated["findings"]
    assert any("'days'" in text for text in made.report["warnings"])
    assert document["warnings"] == [text for text in made.report["warnings"] if "'days'" not in text]
    assert document["lint"]["classes"] == stated["classes"]
    assert document["lint"]["findings"] == [one for one in stated["findings"] if one["column"] != "days"]
    assert [one["column"] for one in document["lint"]["columns"]] == made.report["columns"]
    assert stated["columns"][0]["distinction"] is not None
    assert {one[name] for one in document["lint"]["columns"] for name in ("distinction", "separation")} <= {None, 0.0}


def test_criteria_with_required_and_observed(made):
    document, _ = made.released()
    k, diversity = document["privacy"]
    assert (k["model"], k["parameters"], k["required"], k["sense"]) == ("k-anonymity", {"k": 3}, 3, "at-least")
    assert (k["observed"], k["holds"], k["margin"]) == (6, True, 0.5)
    assert diversity["parameters"] == {
        "variant": "distinct",
        "attribute": "diagnosis",
        "l": 2,
        "missing": "not-a-value",
    }
    assert (diversity["required"], diversity["observed"]) == (2, 3)
    assert diversity["margin"] == pytest.approx(1 / 3)
    assert document["privacy_margin"] == pytest.approx(1 / 3)


def test_levels_with_examples_of_the_hierarchy(tmp_path):
    """The labels of one leaf, in the order of the levels."""
    document, _ = Made(tmp_path, key=KEY).released()
    rows = [line.split(";") for line in build.AGES.splitlines()]
    age = document["levels"]["age"]
    assert (age["level"], age["highest"], age["minimum"], age["maximum"]) == (1, 2, 1, 2)
    assert age["examples"] in rows
    assert "examples_left_out" not in age


@pytest.mark.parametrize("outcome", ["released", "refused", "waiting"])
def test_of_a_hierarchy_that_was_changed_since_nothing_is_said(tmp_path, outcome):
    """Such as by a value of a new record, which was placed while the release waited for approval."""
    made = Made(tmp_path, key=KEY)
    (tmp_path / "hierarchies" / "age.csv").write_text("new;newer;newest;*\n")
    if outcome == "released":
        document, _ = made.released()
    elif outcome == "waiting":
        document = made.attempt.waiting(made.release, tmp_path / "validation.json")
    else:
        document = made.attempt.unreleased("refused", {"task": "approve", "error": "E", "message": "m"}, tmp_path)
    age = document["levels"]["age"]
    left_out = {"examples": None, "examples_left_out": "changed"}
    assert age == {"level": 1, "highest": None, "minimum": 1, "maximum": None, **left_out}
    assert document["levels"]["zip"]["examples"]
    assert not {"new", "newer", "newest"} & set(leaves(document))
    assert form.read(document).levels["age"].examples_left_out == "changed"


@pytest.mark.parametrize("key", [None, b"o" * 32])
def test_without_the_key_of_a_release_nobody_can_tell_whether_examples_are_its_own(tmp_path, key):
    made = Made(tmp_path, key=KEY)
    made.attempt = dataclasses.replace(made.attempt, key=lambda: key)
    document, _ = made.released()
    told = [(one["examples"], one["highest"], one["examples_left_out"]) for one in document["levels"].values()]
    assert told == [(None, None, "not-compared")] * 2


def test_the_key_is_not_read_for_a_release_without_digests(made):
    """An installation without a key is not given one by whoever looks."""
    made.attempt = dataclasses.replace(made.attempt, key=lambda: pytest.fail("was read"))
    document, _ = made.released()
    assert {one["examples_left_out"] for one in document["levels"].values()} == {"not-compared"}


@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_one_suppressed_record_is_not_counted_anywhere(tmp_path, suppressed):
    """One of 13 records is left out and 3 are the smallest class: the file has 12, so neither 1 nor 13 may be there."""
    made = Made(tmp_path, output={"path": str(tmp_path / "out"), "suppressed": suppressed})
    assert made.report["solution"]["suppressed"] == 1
    document, _ = made.released()
    records = document["records"]
    assert (records["suppressed"], records["suppressed_share"], records["below"]) == (None, None, 3)
    assert (records["source"], records["released"], document["source"]["rows"]) == (None, 12, None)
    shown = {name: document[name] for name in ("records", "validation", "reason", "solution", "risk")}
    figures = [leaf for leaf in leaves(shown) if isinstance(leaf, int | float) and not isinstance(leaf, bool)]
    assert 1 / 13 not in figures
    results = document["validation"]["results"]
    counts = [result for result in results if result["expectation_type"] in (build.ROWS, build.SUPPRESSION)]
    assert len(counts) == 2
    for result in counts:
        assert (result["observed"], result["required"], result["message"], result["below"]) == (None, None, None, 3)
        assert not re.search(r"(?<![\w.])(1|2)(?![\w.]*\d)", result["description"])
        assert "12" not in result["description"]


def test_a_refused_validation_tells_no_small_figure(tmp_path):
    """A release of which a class has two records: which expectation failed is said, what it observed is not."""
    made = Made(tmp_path)
    table = build.changed(made.result.table, "age", 0, "y40s")
    table = build.changed(table, "zip", 0, "z902-")
    validation = build.validate(made.job, table, made.report)
    assert build.result_of(validation, build.CLASSES)["observed"] == 1
    (tmp_path / "validation.json").write_text(json.dumps(validation))
    parts = [{"count": 1}, " of ", {"count": 5}, " equivalence classes: ", {"count": 1}, " records"]
    reason = {"task": "validate", "error": "ReleaseRefused", "message_parts": parts}
    document = made.attempt.unreleased("refused", reason, tmp_path)
    assert set(document) == KEYS
    assert document["reason"] == {
        "task": "validate",
        "error": "ReleaseRefused",
        "message": "[fewer than 3] of 5 equivalence classes: [fewer than 3] records",
    }
    assert document["publication"] is None
    assert document["solution"]["information_loss"] == made.result.published["solution"]["information_loss"]
    (classes,) = [one for one in document["validation"]["results"] if one["expectation_type"] == build.CLASSES]
    assert (classes["success"], classes["observed"], classes["required"], classes["below"]) == (False, None, 3, 3)
    assert "1 of" not in classes["message"]


@pytest.mark.parametrize(("missing", "shown"), [(1, False), (2, False), (3, True)])
def test_a_few_missing_rows_are_not_told_by_the_two_counts(tmp_path, missing, shown):
    """None is suppressed, so nothing else is withheld; the rows that are there are those required but for a few."""
    made = Made(tmp_path, suppression_limit=0.0, privacy=ONE)
    assert made.report["solution"]["suppressed"] == 0
    validation = build.validate(made.job, made.result.table.slice(missing), made.report)
    (tmp_path / "validation.json").write_text(json.dumps(validation))
    reason = {"task": "validate", "error": "ReleaseRefused", "message": "rows"}
    results = made.attempt.unreleased("refused", reason, tmp_path)["validation"]["results"]
    (rows,) = [result for result in results if result["expectation_type"] == build.ROWS]
    assert rows["success"] is False
    told = (rows["observed"], rows["message"], rows.get("below"))
    assert told == ((13 - missing, f"rows: {13 - missing}, accounted for: 13", None) if shown else HIDDEN)


def test_an_attempt_that_came_to_nothing(made, tmp_path):
    """Only the job, the run and what was required are known."""
    reason = {"task": "deidentify", "error": "ReleaseRefused", "message": "NoSolution: none"}
    empty = tmp_path / "empty"
    empty.mkdir()
    for staged in (None, empty):
        document = made.attempt.unreleased("refused", reason, staged)
        assert set(document) == KEYS
        for part in ("solution", "search", "risk", "utility", "classes", "levels", "validation", "privacy_margin"):
            assert document[part] is None
        assert [(one["required"], one["observed"], one["holds"]) for one in document["privacy"]] == [
            (3, None, None),
            (2, None, None),
        ]
        assert document["records"] == {
            "source": None,
            "released": None,
            "suppressed": None,
            "suppressed_share": None,
            "suppression_limit": 0.1,
        }


def test_a_text_whose_counts_are_not_known_is_not_kept(made):
    """As that of another program, or of a version that did not say which of its numbers count records."""
    reason = {"task": "extract", "error": "OperationalError", "message": "2 records hold 'x'"}
    document = made.attempt.unreleased("failed", reason, None)
    assert document["reason"]["message"] == "OperationalError in task extract; its log has more"
    assert "2 records" not in json.dumps(document)


def test_without_the_report_no_result_tells_the_suppressed(made, tmp_path):
    """Somebody changed the staged release: how many were suppressed is not known, so no count of them is kept."""
    (made.release / "report.json").write_text("{}")
    reason = {"task": "publish", "error": "E", "message_parts": ["m"]}
    results = made.attempt.unreleased("failed", reason, tmp_path)["validation"]["results"]
    counts = [result for result in results if result["expectation_type"] in (build.ROWS, build.SUPPRESSION)]
    assert [(one["observed"], one["required"], one["message"], one["below"]) for one in counts] == [
        (None, None, None, 3)
    ] * 2


def test_a_fingerprint_without_a_key_is_not_recorded(made):
    """As a task of an earlier version returned it."""
    attempt = Attempt(job=made.job, run=RUN, source={"rows": 13, "fingerprint": "f" * 64})
    source = attempt.unreleased("failed", {"task": "publish", "error": "E"}, None)["source"]
    assert (source["rows"], source["fingerprint"], source["fingerprint_key_id"]) == (None, None, None)


def test_what_has_not_the_form_of_a_document_is_named_and_not_written(made):
    attempt = Attempt(job=made.job, run=RUN, source={"fingerprint": 713, "fingerprint_key_id": "e"})
    with pytest.raises(LedgerError, match=r"the document's Source, fingerprint: ") as told:
        attempt.unreleased("failed", {"task": "t", "error": "E", "message_parts": []}, None)
    assert "713" not in str(told.value)


def test_a_release_that_was_changed_in_staging_says_nothing(made, tmp_path):
    (made.release / "report.json").write_text("{}")
    document = made.attempt.unreleased("failed", {"task": "publish", "error": "E", "message": "m"}, tmp_path)
    assert document["solution"] is None


def test_groups_of_a_policy_are_its_levels(tmp_path):
    """A job that names a policy: the groups stand in the release's own job file."""
    policy = {"age": [{"from": "y31", "to": "y42"}, {"value": "y71"}], "zip": [{"node": "*"}]}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump({"policy": policy}))
    attributes = build.job(tmp_path).document()["attributes"]
    attributes["age"] |= {"order": "text", "minimum_level": 0, "hierarchy": str(tmp_path / "age.csv")}
    attributes["zip"] |= {"minimum_level": 0, "hierarchy": str(tmp_path / "zip.csv")}
    made = Made(
        tmp_path, key=KEY, attributes=attributes, search={"algorithm": "policy", "file": str(tmp_path / "policy.yaml")}
    )
    document, _ = made.released()
    assert document["policy"] == made.report["policy"]
    assert document["levels"]["zip"]["examples"][1] == "*"
    assert document["job"]["sha256"] == made.job.sha256


def test_of_a_local_recoding_the_shares_of_records_by_level_are_kept(tmp_path):
    made = Made(tmp_path, key=KEY, transformation="local-recoding", suppression_limit=0.0)
    document, _ = made.released()
    shares = made.result.published["solution"]["shares"]
    assert {name: one["shares"] for name, one in document["levels"].items()} == shares
    assert {one["level"] for one in document["levels"].values()} == {None}
    assert document["levels"]["age"]["examples"] == ["y41", "y40s", "*"]
