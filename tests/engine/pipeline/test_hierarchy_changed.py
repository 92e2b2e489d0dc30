"""A hierarchy file that changes during a run: what would be judged is not what was made."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine import VerificationFailed, load_job, run, verify
from engine.job.counting import count
from engine.pipeline import unverified

KEY = b"k" * 32
BEFORE, AFTER = "red;warm;*\nblue;cold;*\n", "red;cold;*\nblue;warm;*\n"


@pytest.fixture
def job(tmp_path):
    (tmp_path / "colour.csv").write_text(BEFORE)
    hierarchy = str(tmp_path / "colour.csv")
    document = {
        "name": "n",
        "attributes": {"colour": {"role": "quasi-identifying", "hierarchy": hierarchy, "minimum_level": 1}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    return load_job(document)


RECORDS = pa.table({"colour": ["red", "blue"] * 3})


def test_it_ends_the_run(job, tmp_path, monkeypatch):
    def counted(*arguments, **more):
        found = count(*arguments, **more)
        (tmp_path / "colour.csv").write_text(AFTER)
        return found

    monkeypatch.setattr(unverified, "count", counted)
    with pytest.raises(VerificationFailed, match=r"column 'colour': the hierarchy file .*colour\.csv"):
        run(job, RECORDS, fingerprint_key=KEY)


def test_a_python_verification_is_given_the_key(job, tmp_path):
    done = run(job, RECORDS, fingerprint_key=KEY)
    assert [one.holds for one in done.findings if one.check == "hierarchy"] == [True]
    assert done.published["hierarchies"] == done.report["hierarchies"]
    (tmp_path / "colour.csv").write_text(AFTER)
    assert all(one.holds for one in verify(done.table, job, done.report)), "the labels alone do not tell it"
    found = verify(done.table, job, done.report, fingerprint_key=KEY)
    assert [(one.check, one.column) for one in found if not one.holds] == [("hierarchy", "colour")]
    assert "labels" not in {one.check for one in found}


def test_without_a_key_a_report_says_nothing_of_hierarchies(job):
    assert "hierarchies" not in run(job, RECORDS).report
