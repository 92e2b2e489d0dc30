"""What a job says of its series, and what does not go with it."""

from __future__ import annotations

import copy

import pytest

from engine import InvalidJob, load_job
from tests.engine.jobs import BASE, DIVERSITY

SERIES = {"vault": "vault.sqlite", "key_file": "vault.key"}


def job(**changes):
    return load_job({**copy.deepcopy(BASE), "subject": "person_id", "series": SERIES, **changes})


def test_a_series_has_a_vault_a_key_and_a_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = job()
    assert found.series.vault == str(tmp_path / "vault.sqlite")
    assert (found.series.memory, found.series.arrivals, found.series.departures) == (30, "hold-back", "cover")
    assert found.prefers == "drop"
    assert str(tmp_path) not in str(found)


FLAT = {"builder": "flat"}


@pytest.mark.parametrize("lacking", ["vault", "key_file"])
def test_vault_and_key_are_named(lacking):
    with pytest.raises(InvalidJob, match=f"series: {lacking}: is missing"):
        job(series={key: value for key, value in SERIES.items() if key != lacking})


def test_a_series_is_of_persons():
    with pytest.raises(InvalidJob, match=r"series: .*subject"):
        load_job({**copy.deepcopy(BASE), "series": SERIES})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"knows": "all-rows"}, "knows: all-rows"),
        ({"max_rows": 3}, "max_rows"),
        (
            {
                "privacy": [
                    {"model": "k-anonymity", "k": 5},
                    {"model": "t-closeness", "distance": "ordered", "attribute": "diagnosis", "t": 0.4},
                ]
            },
            r"privacy\.1: t-closeness",
        ),
        (
            {"privacy": [{"model": "k-anonymity", "k": 5}, {**DIVERSITY, "variant": "grassberger-entropy", "l": 2.0}]},
            r"privacy\.1: l-diversity",
        ),
    ],
)
def test_what_traces_cannot_be_held_to_is_refused_by_name(changes, named):
    with pytest.raises(InvalidJob, match=f"{named}.*does not go with series"):
        job(**changes)


def test_who_is_gone_is_kept_fourteen_nights_by_default():
    assert job(series={**SERIES, "departures": "keep"}).series.most_nights == 14
    assert job(series={**SERIES, "departures": "keep", "max_nights": 3}).series.most_nights == 3
    assert job().series.most_nights == 0
    with pytest.raises(InvalidJob, match=r"series\.max_nights"):
        job(series={**SERIES, "departures": "keep", "max_nights": 0})


def test_no_pseudonym_is_made_of_who_is_gone():
    attributes = {**copy.deepcopy(BASE)["attributes"], "person_id": {"role": "identifying", "action": "pseudonymize"}}
    document = {**copy.deepcopy(BASE), "attributes": attributes, "subject": "person_id"}
    document["series"] = {**SERIES, "departures": "keep"}
    with pytest.raises(InvalidJob, match="departures: keep, with pseudonyms"):
        load_job(document)


@pytest.mark.parametrize(
    ("key", "value"), [("arrivals", "at-once"), ("departures", "stay"), ("max_nights", 0), ("memory", 1)]
)
def test_other_values_are_errors(key, value):
    with pytest.raises(InvalidJob, match=f"series.{key}"):
        job(series={**SERIES, key: value})


@pytest.mark.parametrize(
    "model",
    [
        {"model": "t-closeness", "distance": "equal", "attribute": "diagnosis", "t": 0.4},
        {"model": "beta-likeness", "variant": "enhanced", "attribute": "diagnosis", "beta": 2.0},
        {"model": "delta-disclosure-privacy", "attribute": "diagnosis", "delta": 2.0, "strict": True},
    ],
)
def test_traces_are_compared_with_the_table(model):
    assert job(privacy=[{"model": "k-anonymity", "k": 5}, model]).privacy[1].compares_with_table


def test_linked_tables_have_no_series():
    table = {"attributes": {"mrn": {"role": "identifying"}, "age": {"role": "quasi-identifying", "hierarchy": FLAT}}}
    document = {"name": "stays", "subject": "mrn", "tables": {"person": table, "visit": table}, "series": SERIES}
    with pytest.raises(InvalidJob, match=r"tables.*does not go with series"):
        load_job({**document, "privacy": [{"model": "k-anonymity", "k": 5}]})


@pytest.mark.parametrize(
    ("series", "output", "named"),
    [
        ({"vault": "share/vault.sqlite", "key_file": "key"}, {"path": "share"}, "series.vault"),
        ({"vault": "vault.sqlite", "key_file": "share/sub/key"}, {"path": "share"}, "series.key_file"),
        (
            {"vault_conn_id": "research", "key_file": "key"},
            {"conn_id": "research", "table": "stays"},
            "connection of the research share",
        ),
    ],
)
def test_vault_and_key_are_not_in_the_share(series, output, named):
    with pytest.raises(InvalidJob, match=named):
        job(series=series, output=output)


def test_levels_are_kept_in_a_series():
    with pytest.raises(InvalidJob, match="stability: is of the levels of a series"):
        load_job({**copy.deepcopy(BASE), "unit": "record", "stability": {"keep_levels": True}})
    found = job(stability={"keep_levels": True})
    assert found.document()["stability"] == {"keep_levels": True, "change_only_if": {"or": "infeasible"}}
    assert load_job(found.document()).stability == found.stability
    with pytest.raises(InvalidJob, match=r"search\.start"):
        job(stability={"keep_levels": True}, search={"start": {"age": 1, "zip": 1}})


CHURN = {"arrivals": 0.01, "departures": 0.02}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"churn": {}}, "expects nothing"),
        ({"churn": {"arrivals": 0.6}}, "0.5"),
        ({"churn": CHURN, "utility": {"measure": "precision"}}, "utility, other than the loss"),
        ({"churn": CHURN, "search": {"algorithm": "flash"}}, "search.algorithm: flash"),
        ({"churn": CHURN, "series": {**SERIES, "arrivals": "coarsen"}}, "series.arrivals: coarsen"),
        ({"churn": CHURN, "series": {**SERIES, "departures": "keep"}}, "series.departures: keep"),
    ],
)
def test_what_does_not_go_with_churn(changes, named):
    with pytest.raises(InvalidJob, match=named):
        job(**changes)


def test_churn_is_of_a_series():
    assert load_job(job(churn=CHURN).document()).churn == job(churn=CHURN).churn
    with pytest.raises(InvalidJob, match="churn: costs something in a series alone"):
        load_job({**copy.deepcopy(BASE), "unit": "record", "churn": CHURN})
