"""The page of a release that waits: who sees it, whose answer is taken, and where it is told afterwards."""

from __future__ import annotations

import csv
import io
from urllib.parse import quote

import pytest

from airflow_anon.ledger.address import open_ledger
from tests.airflow_anon.nights.answers import answering
from tests.airflow_anon.plugin.conftest import PREFIX
from tests.airflow_anon.plugin.html import Page

pytestmark = [pytest.mark.airflow, pytest.mark.slow]

OURS = {"origin": "http://testserver"}
HOSTILE = "<script>alert(1)</script> =1+1"


class Visitors:
    """Users who open the page of a release that waits, and answer on it."""

    def __init__(self, client):
        self.client = client
        self.run_id = ""

    @property
    def path(self):
        return f"{PREFIX}/dags/hospital-stays/runs/{quote(self.run_id, safe='')}"

    def get(self, user, below="/tasks/approve/approval"):
        return self.client(user).get(f"{self.path}{below}")

    def post(self, user, answer="Approve", comment="", headers=OURS):
        return self.client(user).post(
            f"{self.path}/tasks/approve/approval", data={"answer": answer, "comment": comment}, headers=headers
        )


@pytest.mark.usefixtures("_no_dags")
def test_a_release_is_seen_and_answered_on_its_page(world, client):
    visitors = Visitors(client)

    def visit(instance, session):
        del session
        visitors.run_id = instance.run_id
        _looks(visitors)
        _is_refused(visitors)
        answer = visitors.post("admin", comment=HOSTILE)
        assert answer.status_code == 303
        assert "admin has answered" in visitors.get("admin").text
        again = visitors.post("admin", answer="Refuse")
        assert (again.status_code, "admin has answered already" in again.text) == (409, True)

    job = world.job("hospital_stays", approval={"by": ["custodian", "role:admin"], "expires": "2h"})
    with answering(visit):
        run = world.run(job)
    assert run.state == "success"
    _is_told(visitors)


def _looks(visitors):
    """Show the figures to whoever may read the XComs of the DAG, and to nobody else."""
    answer = visitors.get("only-hospital-stays")
    assert answer.status_code == 200
    page = Page(answer.text)
    assert "Readers had no release of this job before" in answer.text
    assert "May answer: custodian, users with the role admin" in answer.text
    assert page
    for user, status in (("blind", 403), ("runs-only", 403), (None, 401)):
        assert visitors.get(user).status_code == status
        assert visitors.post(user).status_code == status
    told = (
        visitors.client("admin").get(f"{PREFIX}/api{visitors.path.removeprefix(PREFIX)}/tasks/approve/approval").json()
    )
    assert (told["state"], told["entry"]) == ("waiting", None)
    assert {one["state"] for one in told["content"]["criteria"]} == {"holds"}
    for user, seen in (("only-hospital-stays", True), ("admin", True), ("blind", False), ("only-other", False)):
        overview = visitors.client(user).get(f"{PREFIX}/").text
        assert ("A release of hospital-stays waits for approval" in overview) is seen
    of_run = visitors.get("admin", "")
    assert "A release waits for approval" in of_run.text
    assert visitors.get("admin", "/tasks/validate/approval").status_code == 404


def _is_refused(visitors):
    """Take no answer of somebody else, of another site, or in another form; the release waits on."""
    wrong = visitors.post("only-hospital-stays")
    assert wrong.status_code == 403
    assert "only custodian or users with the role admin may answer" in wrong.text
    for headers in ({}, {"origin": "http://elsewhere"}, {**OURS, "sec-fetch-site": "same-site"}):
        assert visitors.post("admin", headers=headers).status_code == 403
    for answer, comment in (("Publish", ""), ("Approve", "x" * 1001), ("", "")):
        assert visitors.post("admin", answer=answer, comment=comment).status_code == 400
    assert "Approve and publish" in visitors.get("admin").text


def _is_told(visitors):
    """Find the answer on the page of the run, on the certificate and in the CSV, the comment as text."""
    (entry,) = open_ledger().entries()
    found = open_ledger().document(entry.sequence)["approval"]
    assert (found["user"], found["role"], found["comment"]) == ("admin", "admin", HOSTILE)
    for below in ("", "/certificate", "/tasks/approve/approval"):
        text = visitors.get("admin", below).text
        assert "Approved by admin, with the role admin, at" in text
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text
    (row,) = csv.DictReader(io.StringIO(visitors.client("admin").get(f"{PREFIX}/ledger.csv").text))
    assert (row["approval"], row["approved_by"], row["approval_comment"]) == ("approved", "admin", HOSTILE)
