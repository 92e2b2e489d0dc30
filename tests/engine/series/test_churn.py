"""What churn is expected to cost, and levels whose classes last through it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.series.churn import MOST, Churn, expected
from tests.engine.series.nights import job, patients, stated, table
from tests.profiles import examples
from tests.reference import churn as reference

SHARES = st.floats(0, 0.3)
FIXED = {
    "mrn": {"role": "identifying"},
    "who": {"role": "insensitive", "accept": "unique"},
    "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
    "ward": {"role": "quasi-identifying", "hierarchy": {"builder": "order", "values": list("0123"), "fanouts": [2]}},
    "diagnosis": {"role": "sensitive"},
}
"""Attributes whose domains are the same whatever the table holds, so that the loss of a release is one of its file."""


@settings(max_examples=examples(200))
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    least=st.integers(2, 4),
    nights=st.integers(0, 3),
    arrivals=SHARES,
    departures=SHARES,
    covering=st.booleans(),
)
def test_expectations_are_those_of_every_number_that_may_come_or_leave(
    sizes, least, nights, arrivals, departures, covering
):
    found = expected(Churn(arrivals, departures, least, covering), np.array(sizes), nights)
    assert found == pytest.approx(reference.expected(sizes, least, nights, arrivals, departures, covering), abs=1e-6)


def test_nothing_is_expected_of_nobody_and_of_no_night():
    churn = Churn(0.1, 0.1, 5)
    assert expected(churn, np.array([10, 20]), 0) == (0, 0)
    assert expected(churn, np.array([], np.int64), 9) == (0, 0)
    assert expected(Churn(0.1, 1.0, 5), np.array([10]), 1).covered == 0, "all of a class can leave together"
    assert expected(Churn(0.0, 0.1, 5, covers=False), np.array([10]), 9) == (0, 0), "nobody covers"


def test_larger_classes_cost_less_also_beyond_those_that_are_followed():
    churn = Churn(0.001, 0.001, 5)
    prices = [sum(expected(churn, np.full(3, size), 29)) for size in (5, 10, 50, 500, MOST - 1, MOST + 1, 9000)]
    assert prices == sorted(prices, reverse=True)
    assert prices[-2] == pytest.approx(prices[-3], rel=0.05)
    assert 0 < prices[-1] < 0.01


def nights(folder, number, churn, share=0.02):
    """Release so many nights, on each of which a share of the persons leave and as many come; return the reports."""
    random = np.random.default_rng(1)
    people, reports = patients(1200, seed=1), []
    for night in range(number):
        one = job(folder, 3, memory=number, stability={"keep_levels": True}, suppression_limit=0.05, **churn)
        reports.append(run(one, table=table(people)).report)
        for gone in random.choice(list(people), round(share * len(people)), replace=False).tolist():
            people.pop(gone)
        people |= patients(round(share * 1200), seed=100 + night, begin=5000 * (night + 1))
    return reports


def test_the_search_chooses_classes_that_last(tmp_path):
    churn = {"churn": {"arrivals": 0.02, "departures": 0.02}}
    plain, lasting = (nights(tmp_path / name, 7, given) for name, given in (("plain", {}), ("lasting", churn)))
    assert "churn" not in plain[0]["series"]
    first, last = lasting[0]["series"], lasting[-1]["series"]
    assert lasting[0]["solution"]["levels"] != plain[0]["solution"]["levels"]
    assert first["searched"]["information_loss"] > first["churn"]["loss_possible"]
    assert first["churn"]["loss_possible"] == pytest.approx(plain[0]["series"]["searched"]["information_loss"])
    assert (first["churn"]["held_back_share"], first["churn"]["covered_share"]) == (0, 0)
    assert last["churn"]["held_back_share"] == pytest.approx(last["held_back_share"], abs=0.02)
    assert last["churn"]["covered_share"] == pytest.approx(last["covered_share"], rel=0.3)
    assert price(lasting[-1]) < price(plain[-1])
    assert lasting[-1]["privacy"][0]["required"] == 3, "what is promised and verified stays"
    told = stated(tmp_path / "lasting")["churn"]
    assert len(f"{told['covered_share']:g}".partition(".")[2].lstrip("0")) <= 2
    assert json.loads(json.dumps(told)) == told


def test_losses_of_levels_that_nobody_can_recount_have_few_digits(tmp_path):
    churn = {"churn": {"arrivals": 0.02, "departures": 0.02}, "attributes": FIXED}
    full = nights(tmp_path, 2, churn)[-1]["series"]
    told = stated(tmp_path)
    for known, published in (
        (full["searched"]["information_loss"], told["searched"]["information_loss"]),
        (full["churn"]["loss_possible"], told["churn"]["loss_possible"]),
    ):
        assert published != known
        assert published == float(f"{known:.2g}"), "1,200 persons: two digits"


def price(report):
    """Return the loss, as if who waits and who covers had lost everything."""
    series = report["series"]
    loss = series["searched"]["information_loss"]
    return loss + (1 - loss) * (series["held_back_share"] + series["covered_share"])


def test_where_little_churn_is_expected_the_least_loss_stays(tmp_path):
    plain = run(job(tmp_path / "plain", 3), table=table(patients(400))).report
    churn = {"arrivals": 1e-6, "departures": 1e-6}
    found = run(job(tmp_path / "lasting", 3, churn=churn), table=table(patients(400))).report
    assert found["solution"] == {**plain["solution"]}
    assert found["solution"]["optimal"] is True
