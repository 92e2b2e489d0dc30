"""Four eyes: a release waits unpublished for a person whom the job names, and what is said of it stays recorded."""

from __future__ import annotations

import json
import time

import pytest

from airflow_anon.ledger.address import open_ledger
from airflow_anon.plugin.pages.release import release
from airflow_anon.plugin.reading import Reading
from tests.airflow_anon.nights.answers import answering, by, marked, nobody_in_time
from tests.airflow_anon.nights.night import release_of, states

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

APPROVAL = {"by": ["custodian", "officer"], "expires": "2h"}
STARTER = "dag_test"
"""The user whom Airflow names as the starter of a run of `dag.test()`."""


@pytest.fixture
def job(world):
    """Give `job(**approval)`, the path of a job whose releases wait and that is not tried again."""

    def of(**approval):
        return world.job(
            "hospital_stays",
            dag=lambda settings: {**settings, "retries": 0},
            approval={**APPROVAL, **approval},
        )

    return of


def newest():
    ledger = open_ledger()
    (entry, *_) = ledger.entries()
    return ledger.document(entry.sequence)


def test_a_release_waits_unpublished_and_is_published_when_it_is_approved(world, job):
    seen = []

    def look():
        seen.append((world.left(), open_ledger().entries(), world.tables()))

    with answering(by("custodian", comment="As agreed on 3 March."), look=look) as asked:
        run = world.run(job())
    assert run.state == "success"
    ((left, entries, tables),) = seen
    assert entries == []
    assert tables == []
    # What was extracted is not kept for the time that a person takes.
    assert not any("source.parquet" in path or path.startswith("share") for path in left)
    assert any(path.endswith("release/data.parquet") for path in left)
    assert "/runs/" in asked[0]
    assert "custodian or officer may answer" in asked[0]
    found = newest()["approval"]
    assert (found["answer"], found["user"], found["comment"]) == ("approved", "custodian", "As agreed on 3 March.")
    assert found["asked_at"] <= found["answered_at"] < found["expires_at"]
    assert found["disregarded"] == []
    assert open_ledger().check() == []


@pytest.mark.parametrize("option", ["Approve", "Refuse"])
def test_examples_are_of_the_hierarchies_of_the_release_not_of_those_after_its_approval(world, job, option):
    """Somebody places a value of a new record while the release waits: neither entry nor page says anything of it."""
    path = job()
    file = path.parent / "hierarchies/gender.csv"
    width = len(file.read_text().splitlines()[0].split(";"))

    def place():
        file.write_text(";".join(["NEWVALUE"] * (width - 1) + ["*"]) + "\n")

    with answering(by("custodian", option), look=place):
        run = world.run(path)
    assert run.state == ("success" if option == "Approve" else "failed")
    document = newest()
    assert document["outcome"] == ("released" if option == "Approve" else "refused")
    levels = document["levels"]
    assert (levels["gender"]["examples"], levels["gender"]["examples_left_out"]) == (None, "changed")
    assert isinstance(levels["gender"]["level"], int)
    assert all(one["examples"] for name, one in levels.items() if name != "gender")
    shown = release(Reading(open_ledger(), set), {"dag_id": run.dag_id, "run_id": run.run_id})
    told = {one["attribute"]: one for one in shown["entry"]["content"]["levels"]}
    assert "was changed after the release was made" in told["gender"]["examples_left_out"]
    assert "NEWVALUE" not in json.dumps([document, shown], default=str)
    assert open_ledger().check() == []


def test_a_refused_release_is_removed_and_readers_keep_the_one_before(world, job):
    with answering(by("custodian")):
        world.run(job())
    kept, before = release_of(world, job()), world.left()
    with answering(by("officer", "Refuse", "Ages of children are\ntoo exact.")):
        run = world.run(job())
    assert run.state == "failed"
    assert states(run)["publish"] == "upstream_failed"
    document = newest()
    assert document["outcome"] == "refused"
    assert document["reason"]["task"] == "approve"
    assert document["reason"]["message"] == "officer refused the release: Ages of children are\ntoo exact."
    assert (document["approval"]["answer"], document["approval"]["user"]) == ("refused", "officer")
    # Of a refused release the figures stay, which the decision was about.
    assert document["levels"]
    assert release_of(world, job()) == kept
    assert world.left() == before


def test_an_answer_that_does_not_count_changes_nothing(world, job):
    """Neither of somebody else nor of who started the run, although the job names them; the release waits on."""
    wrong = [by("engineer"), by(STARTER), by("engineer", "Refuse")]
    with answering(*wrong, by("officer")) as asked:
        run = world.run(job(by=["custodian", "officer", STARTER]))
    assert run.state == "success"
    assert len(asked) == 4
    found = newest()["approval"]
    assert (found["answer"], found["user"]) == ("approved", "officer")
    assert [(one["user"], one["why"]) for one in found["disregarded"]] == [
        ("engineer", "only custodian or officer or dag_test may answer"),
        (STARTER, "whoever started a run may not answer for its release"),
        ("engineer", "only custodian or officer or dag_test may answer"),
    ]


def test_an_approval_expires(world, job):
    with answering(nobody_in_time):
        run = world.run(job())
    assert run.state == "failed"
    document = newest()
    assert document["outcome"] == "refused"
    assert "expired" in document["reason"]["message"]
    assert "within 2h" in document["reason"]["message"]
    assert document["approval"]["answer"] == "expired"
    assert world.left() == []


@pytest.mark.thorough
def test_an_answer_after_the_expiry_comes_too_late(world, job):
    """Airflow looks for expired tasks only from time to time."""

    def late(instance, session):
        from airflow.models.xcom import XComModel  # noqa: PLC0415 (needs the environment)

        found = XComModel.get_many(
            run_id=instance.run_id, key="approval", task_ids=["approve"], dag_ids=[instance.dag_id]
        )
        row = session.scalars(found).first()
        value = XComModel.deserialize_value(row)
        XComModel.set(
            key="approval",
            value={**value, "expires_at": value["asked_at"]},
            dag_id=instance.dag_id,
            task_id="approve",
            run_id=instance.run_id,
            serialize=False,
            session=session,
        )
        time.sleep(1.1)
        by("custodian")(instance, session)

    with answering(late):
        run = world.run(job())
    assert run.state == "failed"
    assert newest()["approval"]["answer"] == "expired"


@pytest.mark.thorough
@pytest.mark.parametrize("state", ["success", "failed"])
def test_marking_the_task_by_hand_approves_nothing(world, job, state):
    with answering(marked(state)):
        run = world.run(job())
    assert run.state == "failed"
    document = newest()
    assert document["outcome"] == ("refused" if state == "success" else "failed")
    assert document["reason"]["task"] == ("publish" if state == "success" else "approve")
    assert document["approval"]["answer"] is None
    assert world.left() == []


@pytest.mark.thorough
def test_the_first_release_alone_waits(world, job):
    with answering(by("custodian")) as asked:
        assert world.run(job(when="first-release")).state == "success"
        assert newest()["approval"]["answer"] == "approved"
        assert world.run(job(when="first-release")).state == "success"
    assert len(asked) == 1
    found = newest()["approval"]
    assert (found["answer"], found["why"]) == ("not-needed", "readers have a release of the job already")
