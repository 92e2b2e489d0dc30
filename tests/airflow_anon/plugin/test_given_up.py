"""A share that was given up is named on the pages of its releases, of which the other places are compared as ever."""

from __future__ import annotations

import logging
import shutil

import pytest

from airflow_anon.publication.give_up import give_up, share_at
from tests.airflow_anon.plugin.documents import publish, released
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow
RELEASE = "20260301T021500Z-0a1b2c3d"
NEWER = "20260302T021500Z-0a1b2c3d"
WHY = "<b>the disk</b> is broken"


@pytest.fixture
def entry(ledger, tmp_path):
    """Give the entry of a release in two shares, of which one is gone."""
    document = released("job", run_id="run-0", release_id=RELEASE)
    document["publication"]["table"] = None
    publish(document, tmp_path / "share")
    document["publication"]["also"] = [str(tmp_path / "other/job" / RELEASE)]
    return ledger.append(document)


def test_a_share_that_was_given_up_on_all_pages(get, ledger, entry, tmp_path):
    assert get("/api/dags/stays/runs/run-0").json()["entry"]["files"]["verdict"] == "unreachable"
    (said,) = give_up(ledger, share_at(str(tmp_path / "other")), by="ada", why=WHY, log=logging.getLogger())
    for path in ("/", "/ledger", "/dags/stays", "/ledger.csv", "/dags/stays/runs/run-0/certificate"):
        assert get(path).status_code == 200, path
    page = get("/api/dags/stays/runs/run-0").json()["entry"]
    assert (page["files"]["verdict"], page["delivery"]["also"], page["readers"]) == ("intact", [], "current")
    (told,) = page["given_up"]
    assert (told["share"], told["why"], told["sequence"]) == (str(tmp_path / "other"), WHY, said.sequence)
    text = Page(get("/dags/stays/runs/run-0").text).text
    assert "by ada (entry 2): the release may still lie there, and nobody can look." in text
    assert WHY in text
    assert "other was given up on" in Page(get("/dags/stays/runs/run-0/certificate").text).text
    own = Page(get(f"/dags/stays/runs/{said.run_id}").text).text
    assert "it had 1 releases, which may still lie there. Found there: is not there." in own
    (history,) = get("/api/dags/stays").json()["histories"]
    assert [one["state"] for one in history["attempts"]] == ["given-up", "released"]
    (job,) = get("/api/jobs").json()["jobs"]
    assert (job["state"], job["harms"], job["last_attempt"]["sequence"]) == ("released", [], entry.sequence)
    (alert,) = job["alerts"]
    assert alert["kind"] == "given-up"
    assert WHY not in alert["text"]
    assert len(get("/api/jobs?alerts=1").json()["jobs"]) == 1


def test_a_release_that_a_share_made_anew_has_lost(get, ledger, entry, tmp_path):
    """A newer one lies at the same place: nobody says of it that the share cannot be reached."""
    newer = released("job", run_id="run-1", release_id=NEWER)
    newer["publication"]["table"] = None
    publish(newer, tmp_path / "share")
    newer["publication"]["also"] = [str(tmp_path / "other/job" / NEWER)]
    ledger.append(newer)
    shutil.copytree(tmp_path / "share/job" / NEWER, tmp_path / "other/job" / NEWER)
    (tmp_path / "other/job/current").symlink_to(NEWER)
    assert get("/api/dags/stays/runs/run-0").json()["entry"]["files"]["verdict"] != "intact"
    (said,) = give_up(ledger, share_at(str(tmp_path / "other")), by="ada", why=WHY, log=logging.getLogger())
    page = get("/api/dags/stays/runs/run-0").json()["entry"]
    assert page["files"]["verdict"] == "intact"
    (told,) = page["given_up"]
    assert f"{tmp_path}/other has newer releases and had lost this one, which was given up on" in told["words"]
    assert get("/api/dags/stays/runs/run-1").json()["entry"]["given_up"] == []
    own = Page(get(f"/dags/stays/runs/{said.run_id}").text).text
    assert f"1 releases that {tmp_path}/other had lost were given up on" in own


def test_a_certificate_of_a_release_without_any_share(get, ledger, entry, tmp_path):
    shutil.rmtree(tmp_path / "share")
    for name in ("other", "share"):
        give_up(ledger, share_at(str(tmp_path / name)), by="ada", why=WHY, log=logging.getLogger())
    path = "/dags/stays/runs/run-0/certificate"
    assert get(f"/api{path}").json()["valid"]
    text = Page(get(path).text).text
    assert "Its files are in no share any more" in text
    assert get("/api/dags/stays/runs/run-0").json()["entry"]["readers"] == "current"
