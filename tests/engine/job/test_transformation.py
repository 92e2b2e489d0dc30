"""What a job with local recoding must not say: each an error with the key and the fix, before anything is read."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job
from tests.engine.jobs import BASE, changed

LOCAL = changed(["transformation"], "local-recoding")
FULL = "set transformation: full-domain"
SUBSET = {"model": "delta-presence", "delta_min": 0.1, "delta_max": 0.5, "subset": "people.csv"}


def test_full_domain_generalization_is_the_default():
    assert not load_job(BASE).recodes_locally
    assert load_job(LOCAL).recodes_locally


def test_the_search_for_levels_before_a_recoding_ends_unless_it_is_given_longer():
    assert load_job(BASE).search_seconds is None
    assert load_job(LOCAL).search_seconds == 60
    assert load_job({**LOCAL, "search": {"time_limit_seconds": 600}}).search_seconds == 600


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"utility": {"measure": "discernibility"}}, "utility: discernibility"),
        ({"utility": {"measure": "loss", "aggregate": "maximum"}}, "aggregate maximum"),
        ({"suppress": "small-classes"}, "suppress: small-classes"),
        ({"subject": "person_id"}, "subject"),
        ({"choose": {"from": "frontier", "maximum_risk": 0.05}, "frontier": {"policies": 50}}, "choose"),
    ],
)
def test_what_it_cannot_do_is_refused_with_the_fix(changes, named):
    with pytest.raises(InvalidJob) as refused:
        load_job({**LOCAL, **changes})
    assert named in str(refused.value)
    assert FULL in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"privacy": [SUBSET]},
        {"privacy": [{"model": "k-map", "k": 3, "population": "people.csv"}]},
        {"risk": {"population": "people.csv"}},
        {"frontier": {"population": "people.csv"}},
    ],
)
def test_it_goes_beside_a_population(changes):
    assert load_job({**LOCAL, **changes}).mixes_levels


def test_pseudonyms_are_refused():
    job = changed(
        ["attributes", "person_id"], {"role": "identifying", "action": "pseudonymize", "accept": "linked-rows"}
    )
    with pytest.raises(InvalidJob, match=r"attributes\.person_id\.action pseudonymize.*full-domain"):
        load_job({**job, "transformation": "local-recoding"})


def test_a_policy_must_be_named():
    with pytest.raises(InvalidJob, match="transformation: policy, and the job names none; add search: "):
        load_job(changed(["transformation"], "policy"))
    rule = {"choose": {"from": "frontier", "maximum_risk": 0.05}, "frontier": {"policies": 50}}
    assert load_job({**changed(["transformation"], "policy"), **rule}).choose is not None


def test_settings_of_a_recoding_need_one():
    with pytest.raises(InvalidJob, match="recoding: only for transformation local-recoding"):
        load_job(changed(["recoding"], {"algorithm": "splitting"}))


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("time_limit_seconds", 0, "above 0 and at most 31536000"),
        ("block_tuples", 9, "at least 10 and at most 100000"),
        ("block_tuples", 100_001, "at least 10 and at most 100000"),
        ("bound_gap", 1.0, "at least 0 and below 1"),
        ("algorithm", "mdav", "'clustering' or 'splitting'"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_name_with_what_is_allowed(key, value, allowed):
    with pytest.raises(InvalidJob, match=f"recoding.{key}: .*{allowed}"):
        load_job({**LOCAL, "recoding": {key: value}})


def test_inside_a_warehouse_it_is_refused():
    source = {"conn_id": "clinic", "table": "people"}
    output = {"conn_id": "clinic", "table": "released"}
    with pytest.raises(InvalidJob, match="transformation: backend sql"):
        load_job({**LOCAL, "backend": "sql", "source": source, "output": output})
