"""Any two releases of a job side by side, the earlier first, whichever was named first."""

from __future__ import annotations

import pytest

from tests.airflow_anon.plugin.documents import released, unreleased
from tests.airflow_anon.plugin.html import Page

pytestmark = pytest.mark.airflow


@pytest.fixture
def three(ledger):
    """Give a ledger with three releases and a refusal between them."""
    for number, (age, k, loss) in enumerate([(1, 5, 0.2), (2, 5, 0.3), (3, 11, 0.4)]):
        run = {"run_id": f"run-{number}", "release_id": f"2026030{number + 1}T021500Z-0a1b2c3d"}
        ledger.append(released(age=age, k=k, loss=loss, **run))
        if number == 1:
            ledger.append(unreleased("refused", run_id="refused"))
    return ledger


def pair(get, query):
    answer = get(f"/api/dags/stays/compare{query}")
    assert answer.status_code == 200
    return answer.json()["pair"]


@pytest.mark.parametrize("query", ["?first=1&second=4", "?first=4&second=1"])
def test_two_releases_are_side_by_side(get, three, query):
    found = pair(get, query)
    assert (found["before"]["sequence"], found["now"]["sequence"]) == (1, 4)
    levels = {one["attribute"]: (one["before"]["level"], one["now"]["level"]) for one in found["levels"]}
    assert levels["age"] == (1, 3)
    assert levels["zip"][0] == levels["zip"][1]
    criteria = {one["description"]: (one["before"] is None, one["now"] is None) for one in found["criteria"]}
    assert criteria["5-anonymity"] == (False, True)
    assert criteria["11-anonymity"] == (True, False)
    columns = {one["name"]: (one["before"], one["now"]) for one in found["columns"]}
    assert set(columns) == {"mrn", "age", "zip", "diagnosis", "ward"}
    loss = next(one for one in found["compared"]["figures"] if one["title"].startswith("Information loss"))
    assert (loss["before"]["value"], loss["now"]["value"]) == (0.2, 0.4)


def test_the_two_newest_are_compared_by_default(get, three):
    found = pair(get, "")
    assert (found["before"]["sequence"], found["now"]["sequence"]) == (2, 4)
    page = Page(get("/dags/stays/compare").text)
    assert page
    assert "/dags/stays/compare?job=hospital-stays" in get("/dags/stays").text


@pytest.mark.parametrize("query", ["?first=1&second=3", "?first=99", "?job=other", "?first=<script>"])
def test_what_is_no_release_of_the_job_is_not_compared(get, three, query):
    assert get(f"/dags/stays/compare{query}").status_code == 404


def test_a_release_is_not_compared_with_itself(get, three):
    assert pair(get, "?first=1&second=1") is None
    assert "Choose two releases that differ" in get("/dags/stays/compare?first=1&second=1").text


def test_a_release_of_a_dag_that_the_user_may_not_see_is_not_offered(get, three):
    three.append(released(dag_id="other", run_id="o", release_id="20270101T000000Z-00000000"))
    answer = get("/dags/stays/compare", "only-stays")
    assert "20270101" not in answer.text
    assert get("/dags/stays/compare?first=5", "only-stays").status_code == 404
