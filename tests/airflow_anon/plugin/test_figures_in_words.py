"""Figures on pages mean what stands beside them: no share above 1, no risk of a population that nobody gave."""

from __future__ import annotations

import pytest

from airflow_anon.plugin import words
from airflow_anon.plugin.pages.compared_figures import compared_figures
from airflow_anon.plugin.pages.measures import risk
from airflow_anon.plugin.pages.search import search
from tests.airflow_anon.plugin.documents import released, typed, variant


def searched(**changes):
    document = released()
    return search(typed(variant(document, search={**document["search"], **changes})))


@pytest.mark.parametrize(("checked", "space", "share"), [(7, 3, None), (3, 3, 1.0), (1, 4, 0.25), (10, 1, None)])
def test_checks_are_no_share_where_transformations_are_checked_again(checked, space, share):
    assert searched(checked=checked, space=space)["checked_share"] == share


@pytest.mark.parametrize("gap", [-0.1, 1.5])
def test_a_gap_that_is_none_is_not_told(gap):
    document = released()
    solution = {**document["solution"], "optimal": False, "gap": gap}
    assert "is not known" in search(typed(variant(document, solution=solution)))["verdict"]


@pytest.mark.parametrize(
    ("value", "measure", "text"),
    [
        (0.25, "loss", "25%"),
        (0.25, None, "25%"),
        (1.5, "loss", "1.5"),
        (45_304.0, "discernibility", "45,304"),
        (0.5, "height", "0.5"),
        (45_304.0, None, "45,304"),
        (None, "loss", words.NONE),
    ],
)
def test_a_loss_is_a_percentage_only_of_measures_with_such_a_scale(value, measure, text):
    assert words.loss(value, measure) == text


def test_losses_above_one_are_compared_as_numbers():
    document = released()
    before = variant(document, solution={**document["solution"], "information_loss": 812.0})
    (loss,) = [one for one in compared_figures(typed(document), typed(before)) if one["title"] == "Information loss"]
    assert loss["form"] == "number"


@pytest.mark.parametrize(("given", "said"), [({}, True), ({"population_uniqueness": 0.0}, False)])
def test_the_journalist_risk_says_whether_a_population_was_given(given, said):
    document = released()
    found = {name: value for name, value in document["risk"].items() if name != "population_uniqueness"}
    told = risk(typed(variant(document, risk={**found, **given})))
    meanings = [one["meaning"] for one in told["measures"] if one["name"].startswith("journalist")]
    assert ["no population was given" in meaning for meaning in meanings] == [said] * 2
    assert told["beside_population"] is not said


def test_a_command_in_a_sentence_is_code_and_nothing_else_is_markup():
    assert words.coded("run `airflow-anon settle <b>` & `x") == (
        "run <code>airflow-anon settle &lt;b&gt;</code> &amp; `x"
    )
