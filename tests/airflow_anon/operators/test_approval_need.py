"""Which releases wait, by the rule of the job and what readers have; and whose answer counts when it is published."""

from __future__ import annotations

import copy

import pytest

from airflow_anon.ledger import Ledger
from airflow_anon.operators.approval_need import need_of
from airflow_anon.run.approval import comment_of, objection, refused_without
from airflow_anon.run.job_sections import sections
from tests.airflow_anon.plugin.documents import released

MANIFEST = "a" * 64


def job(when="always", by=("custodian", "role:officer")):
    return sections(approval={"by": list(by), "when": when})


@pytest.fixture
def ledger(tmp_path):
    found = Ledger(f"sqlite:///{tmp_path}/ledger.sqlite")
    found.migrate()
    return found


def candidate(**changes):
    document = copy.deepcopy(released(release_id="20260401T021500Z-0a1b2c3d", run_id="tonight", **changes))
    return {**document, "name": "section", "outcome": "waiting", "publication": None}


def shared(ledger, **changes):
    """Put a release into the ledger that readers have."""
    number = len(ledger.entries())
    document = released(release_id=f"202603{number + 1:02}T021500Z-0a1b2c3d", run_id=f"run-{number}", **changes)
    ledger.append({**document, "name": "section"})


@pytest.mark.parametrize("when", ["always", "first-release", "levels-change", "alert"])
def test_the_first_release_waits_whatever_the_rule(ledger, when):
    assert need_of(job(when), ledger, candidate()).waits


@pytest.mark.parametrize(
    ("when", "waits"), [("always", True), ("first-release", False), ("levels-change", False), ("alert", False)]
)
def test_a_release_like_the_one_that_readers_have(ledger, when, waits):
    shared(ledger)
    assert need_of(job(when), ledger, candidate()).waits is waits


def test_other_levels_wait_and_are_named(ledger):
    shared(ledger, age=2)
    found = need_of(job("levels-change"), ledger, candidate(age=1))
    assert found.waits
    assert "age" in found.why
    assert "zip" not in found.why
    assert not need_of(job("first-release"), ledger, candidate(age=1)).waits


@pytest.mark.parametrize("when", ["levels-change", "alert"])
def test_a_job_that_changed_waits(ledger, when):
    """Else a weaker criterion with the same levels would be released unseen, and no alert learns from another job."""
    shared(ledger, k=11)
    assert need_of(job(when), ledger, candidate(k=5)).waits


def test_a_release_after_a_recall_waits(ledger):
    for _ in range(2):
        shared(ledger)
    first = ledger.entries()[-1]
    withdrawn = {"release_id": first.release_id, "sequence": first.sequence, "by": "ada", "why": "wrong join"}
    told = {**candidate(), "outcome": "recalled", "withdrawal": withdrawn, "records": None, "solution": None}
    ledger.append(told)
    found = need_of(job("alert"), ledger, candidate())
    assert found.waits
    assert f"an alert: release {first.release_id} was recalled" in found.why
    shared(ledger)
    assert not need_of(job("alert"), ledger, candidate()).waits


def test_mixed_levels_wait(ledger):
    shared(ledger)
    mixed = candidate()
    mixed["levels"] = {name: {**one, "level": None, "shares": [1.0]} for name, one in mixed["levels"].items()}
    found = need_of(job("levels-change"), ledger, mixed)
    assert found.waits
    assert "levels of their own" in found.why


def test_an_alert_waits(ledger):
    for _ in range(6):
        shared(ledger, loss=0.3)
    assert not need_of(job("alert"), ledger, candidate(loss=0.3)).waits
    found = need_of(job("alert"), ledger, candidate(loss=0.6))
    assert found.waits
    assert "information loss" in found.why


def test_levels_that_are_not_known_wait(ledger):
    shared(ledger)
    assert need_of(job("levels-change"), ledger, {**candidate(), "levels": None}).waits


def decision(**changes):
    return {
        "answer": "approved",
        "user": "custodian",
        "user_id": "7",
        "role": None,
        "manifest_sha256": MANIFEST,
        **changes,
    }


@pytest.mark.parametrize(
    "found",
    [
        None,
        {},
        "approved",
        decision(answer=None),
        decision(answer="refused"),
        decision(answer="expired"),
        decision(answer="not-needed"),
        decision(manifest_sha256="b" * 64),
        decision(user="engineer"),
        decision(user="engineer", role="engineer"),
        decision(user_id=None),
        decision(user="starter"),
    ],
)
def test_publish_refuses_what_is_no_approval_of_this_release(found):
    assert refused_without(job(by=("custodian", "starter", "role:officer")), found, "Starter", MANIFEST) is not None


@pytest.mark.parametrize("found", [decision(), decision(user="somebody", role="officer"), decision(user="custodian")])
def test_publish_takes_an_approval_that_counts(found):
    assert refused_without(job(), found, "engineer", MANIFEST) is None
    assert refused_without(job(), found, None, MANIFEST) is None


def test_a_release_that_need_not_wait_is_published_unless_each_must():
    found = decision(answer="not-needed", user=None, user_id=None)
    assert refused_without(job("alert"), found, None, MANIFEST) is None
    assert refused_without(job("always"), found, None, MANIFEST) is not None
    assert refused_without(sections(), None, None, MANIFEST) is None


def test_an_id_counts_as_a_name_does_and_also_for_who_started_the_run():
    user = {"id": "7", "name": "anna"}
    assert objection(job(by=("7",)), user, None) is None
    assert objection(job(by=("anna",)), user, "ANNA") is not None
    assert objection(job(by=("anna",)), user, "7") is not None
    assert objection(job(by=("Anna",)), user, None) is not None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (" well\r\n done ", "well\n done"),
        ("\x00\x1b[31m", "  [31m"),
        ("", None),
        ("  \n ", None),
        (None, None),
        (7, None),
        ("x" * 1001, "x" * 1000),
        ("half \ud800 pair", "half   pair"),
    ],
)
def test_a_comment_is_kept_as_printable_text(given, kept):
    found = comment_of(given)
    assert found == (kept and kept.strip())
