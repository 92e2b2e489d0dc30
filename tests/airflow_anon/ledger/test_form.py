"""The form of an entry's document: what is written is read, and what somebody changed to another form is not."""

from __future__ import annotations

import json
import math

import pytest

from airflow_anon.ledger.form import read
from airflow_anon.ledger.form_parts import WrittenJob
from tests.airflow_anon.ledger.documents import document as smallest_document
from tests.airflow_anon.plugin.documents import hostile, refused_by_validation, released, unreleased

DOCUMENTS = [released(), released(suppressed=3), unreleased(), unreleased("failed"), refused_by_validation(), hostile()]
FREE = ("parameters", "document", "columns", "column", "warnings", "choice", "policy")
"""Keys that may hold any plain JSON."""
NEEDED = ("name", "run", "job")
PARTS = ("reason", "run", "job", "source", "records", "solution", "search", "classes", "validation", "publication")
OTHERS = {
    str: [3, True, ["x"], {"x": 1}],
    int: ["3", True, [3], {"x": 1}],
    float: ["3", True, [3], {"x": 1}, math.nan],
    bool: [1, "true", [True], {"x": 1}],
    list: ["x", 3, {"x": 1}],
    dict: ["x", 3, [1]],
}
"""For each kind, values of others."""


def places(value, path=()):
    """Give the path of each value of a document but those that may hold anything."""
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        result = "results" in path and key in ("observed", "required")
        if key not in FREE and not result:
            yield (*path, key)
            yield from places(below, (*path, key))


def with_value(document, path, value):
    """Give a copy of a document that has another value in one place."""
    changed = json.loads(json.dumps(document))
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


def at(document, path):
    for key in path:
        document = document[key]
    return document


@pytest.mark.parametrize("document", [*DOCUMENTS, smallest_document(), smallest_document(outcome="failed")])
def test_what_is_read_is_what_was_written(document):
    """Key by key, of kinds that JSON knows: a whole number stays one."""
    found = read(document)
    assert found is not None
    assert json.dumps(found.stored(), sort_keys=True) == json.dumps(document, sort_keys=True)


def test_keys_that_the_form_does_not_name_are_kept():
    """As of a later version of this package."""
    document = released()
    document["further"] = document["records"]["further"] = {"x": [1, None]}
    found = read(document)
    assert found.stored() == document


@pytest.mark.parametrize("document", [released(), refused_by_validation()])
def test_each_value_of_another_kind_is_refused(document):
    for path in places(document):
        value = at(document, path)
        for other in OTHERS.get(type(value), ()):
            assert read(with_value(document, path, other)) is None, (path, other)


def test_true_is_no_number_and_one_is_not_true():
    for path, value in ((("records", "source"), True), (("solution", "optimal"), 1), (("privacy_margin",), False)):
        assert read(with_value(released(), path, value)) is None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "path", [("privacy_margin",), ("choice",), ("further",), ("validation", "results", 0, "observed")]
)
def test_no_number_is_infinite_or_none_wherever_it_stands(path, number):
    """No page could answer it as JSON."""
    assert read(with_value(released(), path, number)) is None


def test_what_an_attempt_did_not_come_to_is_missing_or_null():
    document = refused_by_validation()
    paths = [(key,) for key in document] + [(part, key) for part in PARTS for key in document[part] or ()]
    for path in paths:
        less = with_value(document, path, None)
        assert (read(less) is None) == (path[0] in NEEDED and len(path) == 1), path
        del at(less, path[:-1])[path[-1]]
        assert (read(less) is None) == (path[0] in NEEDED and len(path) == 1), path


def test_the_columns_of_the_job_are_read_with_it():
    """Of the job, whose form is that of its time, pages rely on the columns and their roles alone."""
    assert {name: one.role for name, one in read(released()).job.attributes.items()} == {
        name: one["role"] for name, one in released()["job"]["document"]["attributes"].items()
    }
    place = ("job", "document", "attributes")
    for value in (["age"], {"age": "role"}, {"age": {"role": 3}}):
        assert read(with_value(released(), place, value)) is None


@pytest.mark.parametrize("document", [None, [], "text", 3, {}, {"name": "x", "run": [], "job": {}}])
def test_what_is_no_document_is_not_read(document):
    assert read(document) is None


@pytest.mark.parametrize(
    ("privacy", "private"),
    [
        ([{"model": "k-anonymity", "k": 5}, {"model": "differential-privacy"}], True),
        ([{"model": "k-anonymity", "k": 5}], False),
        ([{"model": "of-another-time"}, {"model": ["differential-privacy"]}, 3], False),
        (None, False),
    ],
)
def test_a_written_job_knows_whether_it_is_differentially_private(privacy, private):
    assert WrittenJob(document={"privacy": privacy}).is_private is private


def test_a_written_job_tells_what_pages_ask_of_it():
    written = {"approval": {"by": ["a"]}, "dag": {"owner": "b"}, "recipient": "c", "frontier": {"risk": "prosecutor"}}
    job = WrittenJob(document=written)
    assert (job.approval, job.owner, job.recipient, job.frontier_risk) == ({"by": ["a"]}, "b", "c", "prosecutor")


@pytest.mark.parametrize("odd", [None, 3, ["x"], True])
def test_a_section_of_another_form_is_as_none(odd):
    job = WrittenJob(document=dict.fromkeys(("approval", "dag", "recipient", "frontier"), odd))
    assert (job.approval, job.owner, job.recipient, job.frontier_risk) == (None, None, None, "marketer")
