"""A release in which nothing is left to tell apart is refused, unless the job allows it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine import NoSolution, load_job, run, verify

AGE = {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}
JOB = {"name": "people", "attributes": {"age": AGE}, "privacy": [{"model": "k-anonymity", "k": 4}]}
FAR_APART = pa.table({"age": ["1", "31", "61", "81"]})


def test_a_table_at_its_root_is_refused(tmp_path):
    with pytest.raises(NoSolution, match=r"nothing would be left to tell apart.*allow_empty_information: true"):
        run(JOB, FAR_APART, output=tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_what_the_search_found_can_be_compared():
    result = run(JOB, FAR_APART)
    assert result.report["solution"]["optimal"]
    assert any("nothing would be left" in warning for warning in result.report["warnings"])
    with pytest.raises(NoSolution, match="nothing would be left"):
        _ = result.table


def test_a_table_of_suppressed_records_is_refused(tmp_path):
    job = {**JOB, "suppression_limit": 1.0, "attributes": {"age": {**AGE, "maximum_level": 0}}}
    with pytest.raises(NoSolution, match="nothing would be left"):
        run(job, FAR_APART, output=tmp_path / "release")


def test_only_what_may_help_is_advised():
    """A limit of 1 cannot be raised, and no level helps where the whole table is smaller than a class."""
    attributes = {"age": {**AGE, "maximum_level": 0}}
    with pytest.raises(NoSolution) as problem:
        run({**JOB, "suppression_limit": 0.5}, FAR_APART).table  # noqa: B018
    assert "released; raise suppression_limit, choose a weaker model" in str(problem.value)
    with pytest.raises(NoSolution) as problem:
        run({**JOB, "suppression_limit": 1.0, "attributes": attributes}, FAR_APART).table  # noqa: B018
    assert "released; choose a weaker model" in str(problem.value)
    with pytest.raises(NoSolution) as problem:
        run({**JOB, "suppression_limit": 1.0}, FAR_APART.slice(1)).table  # noqa: B018
    assert str(problem.value) == (
        "nothing would be left to tell apart: the table has fewer records than the 4 that a class must have; use a "
        "weaker model, or a table of more of them, or set allow_empty_information: true to release the table all the "
        "same"
    )


def test_persons_are_told_where_they_are_counted():
    job = {**JOB, "subject": "id", "attributes": {**JOB["attributes"], "id": {"role": "identifying"}}}
    table = pa.table({"age": ["1", "1", "1", "2", "2", "2"], "id": list("aabbcc")})
    with pytest.raises(NoSolution, match="the table has fewer persons than the 4 that a class must have; use a weaker"):
        run(job, table)


def test_the_job_may_allow_it(tmp_path):
    result = run({**JOB, "allow_empty_information": True}, FAR_APART, output=tmp_path / "release")
    assert result.table["age"].to_pylist() == ["*"] * 4


def test_the_verification_refuses_it_too():
    """What was released by a job that allows it does not hold for one that does not."""
    allowed = run({**JOB, "allow_empty_information": True}, FAR_APART)
    findings = verify(allowed.table, load_job(JOB), allowed.report)
    assert [finding.check for finding in findings if not finding.holds] == ["information"]
    assert all(finding.holds for finding in verify(allowed.table, load_job({**JOB, "allow_empty_information": True})))


def test_one_value_that_is_shown_is_something():
    """All are alike, and their age is released."""
    assert run(JOB, pa.table({"age": ["34"] * 4})).table["age"].to_pylist() == ["34"] * 4
