"""A recalled release and one that is no longer kept are named as such on every page; a certificate says it."""

from __future__ import annotations

import logging

import pytest

from airflow_anon.publication.withdraw import recall, retire
from engine import load_job
from tests.airflow_anon.plugin.documents import publish, released
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow

IDS = ("20260301T021500Z-0a1b2c3d", "20260302T021500Z-0a1b2c3d")
LOG = logging.getLogger(__name__)
WHY = "<b>consent</b> was withdrawn"
CERTIFICATE = "/dags/stays/runs/run-{}/certificate"


@pytest.fixture
def nights(ledger, tmp_path):
    """Give the entries of two releases, in a share and in the ledger."""
    found = []
    for number in (0, 1):
        document = released("job", run_id=f"run-{number}", release_id=IDS[number])
        document["publication"]["table"] = None
        publish(document, tmp_path / "share")
        found.append(ledger.append(document))
    return found


def paths(entry):
    run = f"/dags/stays/runs/{entry.run_id}"
    return ["/", "/ledger", "/dags/stays", "/ledger.csv", run, f"/api{run}"]


def test_a_recalled_release_on_all_pages(get, ledger, nights):
    said = recall(ledger, nights[1], by="ada", why=WHY)
    for path in (*paths(nights[1]), *paths(said)):
        assert get(path).status_code == 200, path
    page = get("/api/dags/stays/runs/run-1").json()["entry"]
    assert page["readers"] == "recalled"
    assert (page["files"], page["withdrawn"]["by"], page["withdrawn"]["why"]) == (None, "ada", WHY)
    text = Page(get("/dags/stays/runs/run-1").text).text
    assert "by ada: readers cannot get it any more" in text
    assert WHY in text
    assert "recalled" in Page(get("/ledger").text).text
    (history,) = get("/api/dags/stays").json()["histories"]
    assert [one["state"] for one in history["attempts"]] == ["recalled", "released", "released"]
    (job,) = get("/api/jobs").json()["jobs"]
    (alert,) = job["alerts"]
    assert alert["kind"] == "recalled"
    assert WHY not in alert["text"]
    assert (job["state"], job["harms"], job["last_attempt"]["sequence"]) == ("released", [], nights[1].sequence)
    certificate = get(f"/api{CERTIFICATE.format(1)}").json()
    assert not certificate["valid"]
    assert "Recalled on" in certificate["objections"][0]
    assert get(CERTIFICATE.format(0)).status_code == 200
    assert get("/api/dags/stays/runs/run-0").json()["entry"]["readers"] == "superseded"


def test_a_removed_release_on_all_pages(get, ledger, nights, tmp_path):
    job = load_job(
        {
            "name": "job",
            "attributes": {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}},
            "privacy": [{"model": "k-anonymity", "k": 2}],
            "output": {"path": str(tmp_path / "share"), "keep": 1},
        }
    )
    assert retire(job, ledger, 0o022, LOG) == [IDS[0]]
    (said,) = ledger.of_job("job", outcome="removed")
    for path in (*paths(nights[0]), *paths(said)):
        assert get(path).status_code == 200, path
    page = get("/api/dags/stays/runs/run-0").json()["entry"]
    assert (page["readers"], page["withdrawn"]["outcome"]) == ("removed", "removed")
    assert "it was not among the newest 1" in Page(get("/dags/stays/runs/run-0").text).text
    certificate = get(f"/api{CERTIFICATE.format(0)}").json()
    assert certificate["valid"]
    assert "Removed from the share" in Page(get(CERTIFICATE.format(0)).text).text
    (job,) = get("/api/jobs").json()["jobs"]
    assert (job["state"], job["harms"]) == ("released", [])


def test_drift_is_on_the_page_of_a_release(get, ledger):
    document = released(run_id="run-0", release_id=IDS[0])
    document["drift"] = {"since": "2026-02-28T02:15:00+00:00", "not_compared": ["zip"], "quarantined": ["gender"]}
    document["drift"]["accepted"] = {
        "difference": "0123456789abcdef",
        "differences": ["it has less than 0.5 of its records", "column 'race': has values that it did not have"],
        "by": "C. Custodian",
        "at": "2026-03-01T07:00:00+00:00",
        "comment": "a clinic <b>closed</b>",
    }
    ledger.append(document)
    text = Page(get("/dags/stays/runs/run-0").text).text
    assert "records with new values of gender are left out; zip not compared" in text
    assert "C. Custodian accepted on 2026-03-01T07:00:00+00:00 that it has less than 0.5 of its records; column" in text
    assert "a clinic <b>closed</b>" in text
    assert get("/api/dags/stays/runs/run-0").json()["entry"]["content"]["drift"]["quarantined"] == ["gender"]
