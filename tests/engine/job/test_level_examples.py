"""What the levels of a job mean: highest, limits, and one label a level; never read from records."""

from __future__ import annotations

import copy

import pyarrow as pa
import pytest

import engine
from engine import describe_levels, load_job, run
from tests.engine.jobs import BASE, changed

KEY = b"k" * 32


def located(folder, **age):
    document = copy.deepcopy(BASE)
    (folder / "age.csv").write_text("20;20-29;*\n21;20-29;*\n35;30-39;*\n")
    document["attributes"]["age"] = {**document["attributes"]["age"], "hierarchy": str(folder / "age.csv"), **age}
    return document


def test_every_quasi_identifier_and_nothing_else(tmp_path):
    assert describe_levels(located(tmp_path, minimum_level=1)) == {
        "age": {"highest": 2, "minimum": 1, "maximum": 2, "examples": ["21", "20-29", "*"]},
        "zip": {
            "highest": 5,
            "minimum": 0,
            "maximum": 5,
            "examples": ["12345", "1234*", "123**", "12***", "1****", "*"],
        },
    }


def test_limits_of_the_search(tmp_path):
    found = describe_levels(load_job(located(tmp_path, maximum_level=1)))
    assert (found["age"]["highest"], found["age"]["maximum"]) == (2, 1)


@pytest.mark.parametrize("content", [None, "", "a;b\nc\n", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_leaves_its_attribute_without_examples(tmp_path, content):
    document = located(tmp_path)
    if content is None:
        (tmp_path / "age.csv").unlink()
    else:
        (tmp_path / "age.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    found = describe_levels(document)
    assert found["age"] == {"highest": None, "minimum": 0, "maximum": None, "examples": None}
    assert found["zip"]["examples"][0] == "12345"


def test_unreadable_populations_leave_the_levels_known(tmp_path):
    areas = {"builder": "zip", "populations": str(tmp_path / "none.csv")}
    found = describe_levels(changed(["attributes", "zip"], {"role": "quasi-identifying", "hierarchy": areas}))
    assert found["zip"] == {"highest": 4, "minimum": 0, "maximum": 4, "examples": None}


def test_the_job_of_a_release_is_described_wherever_it_lies(tmp_path, monkeypatch):
    """The document of a job names files as they were written; they are not beside it, and that is no error."""
    (tmp_path / "jobs").mkdir()
    document = located(tmp_path / "jobs")
    document["attributes"]["age"]["hierarchy"] = "jobs/age.csv"
    monkeypatch.chdir(tmp_path)
    job = load_job(document)
    assert describe_levels(job)["age"]["examples"] == ["21", "20-29", "*"]
    monkeypatch.chdir(tmp_path / "jobs")
    assert describe_levels(job.document())["age"]["examples"] is None


def test_the_job_of_a_run_with_a_policy_shows_its_groups(tmp_path):
    zip_ = {"role": "insensitive"}
    document = located(tmp_path, order="integer")
    document["attributes"]["zip"] = zip_
    groups = {"age": [{"from": "20", "to": "21"}, {"value": "35"}]}
    found = describe_levels(load_job(document).with_policy(groups))
    assert found == {"age": {"highest": 2, "minimum": 1, "maximum": 1, "examples": ["35", "35", "*"]}}


def report_of(job, key=KEY):
    """Return the report of a release of three records, made under a key."""
    table = pa.table({"age": [20, 21, 35], "zip": ["12345"] * 3, "diagnosis": list("abc"), "note": list("abc")})
    alone = {key: value for key, value in job.items() if key != "output"}
    return run({**alone, "privacy": [{"model": "k-anonymity", "k": 3}]}, table=table, fingerprint_key=key).published


def test_a_release_is_described_by_its_own_hierarchies_alone(tmp_path):
    """Of another file not even the number of levels is said; the limits of the job are."""
    job = located(tmp_path, maximum_level=2)
    report = report_of(job)
    assert describe_levels(job, report, KEY) == describe_levels(job)
    (tmp_path / "age.csv").write_text("20;20-29;*\n21;20-29;*\n35;30-39;*\n99;90-99;*\n")
    found = describe_levels(job, report, KEY)
    left_out = {"examples": None, "examples_left_out": "changed"}
    assert found["age"] == {"highest": None, "minimum": 0, "maximum": 2, **left_out}
    assert found["zip"] == describe_levels(job)["zip"]
    (tmp_path / "age.csv").unlink()
    assert describe_levels(job, report, KEY) == found


@pytest.mark.parametrize(("made_with", "key"), [(None, KEY), (KEY, None), (KEY, b"o" * 32)])
def test_without_the_key_of_a_release_no_example_is_given(tmp_path, made_with, key):
    job = located(tmp_path)
    found = describe_levels(job, report_of(job, made_with), key)
    left_out = {"examples": None, "examples_left_out": "not-compared"}
    assert found["age"] == {"highest": None, "minimum": 0, "maximum": None, **left_out}
    # that has no file, so the job says how many levels it has
    assert found["zip"] == {"highest": 5, "minimum": 0, "maximum": 5, **left_out}


def test_no_value_of_a_record_is_among_the_examples():
    hierarchy = {"builder": "date", "levels": ["year"]}
    job = {
        "name": "visits",
        "attributes": {"day": {"role": "quasi-identifying", "hierarchy": hierarchy}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    run(job, table=pa.table({"day": ["1931-02-03", "1931-07-08"]}))
    assert describe_levels(job)["day"]["examples"] == ["2020-05-17", "2020", "*"]


def test_the_name_is_one_of_the_engine():
    assert "describe_levels" in engine.__all__
