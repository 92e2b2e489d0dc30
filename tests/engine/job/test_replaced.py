"""Pseudonyms and shifted dates in a job: what the job must say, and what is refused because nothing covers it."""

from __future__ import annotations

import pytest

from engine import InvalidJob, load_job
from engine.job.replaced import check_replaced

KEY = {"key_conn_id": "keys", "key_id": "0123456789abcdef"}
PSEUDONYM = {"role": "identifying", "action": "pseudonymize"}
LINKED = {**PSEUDONYM, "accept": "linked-rows"}
DATE = {"role": "insensitive", "action": "shift"}


def job(**changes):
    attributes = {
        "mrn": {"role": "identifying"},
        "visit": {"role": "identifying"},
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
        "admitted": {"role": "insensitive"},
    }
    document = {
        "name": "visits",
        "subject": "mrn",
        "privacy": [{"model": "k-anonymity", "k": 5}],
        **{key: value for key, value in changes.items() if key not in attributes},
        "attributes": {name: changes.get(name, entry) for name, entry in attributes.items()},
    }
    return load_job({key: value for key, value in document.items() if value is not None})


def test_what_is_released_and_what_is_dropped():
    made = job(visit=PSEUDONYM, admitted=DATE, shift={"days": 30})
    assert made.released == ("visit", "age", "admitted")
    assert (made.pseudonymized, made.dropped, made.shifted) == (("visit",), ("mrn",), ("admitted",))
    assert made.document()["attributes"]["admitted"]["action"] == "shift"
    assert made.document()["shift"] == {"days": 30, "weeks": False, "ages_over_89": "leave-out"}
    assert "action" not in made.document()["attributes"]["age"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"admitted": DATE}, "shift: is missing, and the action of 'admitted'"),
        ({"shift": {"days": 30}}, "no column has action: shift"),
        ({"admitted": DATE, "shift": {"days": 30}, "subject": None, "unit": "record"}, "name the identifying column"),
        ({"admitted": DATE, "shift": {"days": 0}}, "shift.days"),
        ({"admitted": DATE, "shift": {"days": 4000}}, "shift.days"),
        ({"admitted": DATE, "shift": {"days": 9, "ages_on": "9999-01-01"}}, "shift.ages_on"),
        ({"admitted": DATE, "shift": {"days": 6, "weeks": True}}, "weeks: true needs at least 7"),
        ({"admitted": {**DATE, "nulls": "error"}, "shift": {"days": 9}}, "set shift.ages_over_89: keep"),
        ({"admitted": {**DATE, **KEY}, "shift": {"days": 9}}, "the key of shifted dates is in shift"),
        ({"admitted": {"role": "insensitive", "action": "pseudonymize"}}, "only for identifying columns: drop or"),
        ({"admitted": {"role": "insensitive", "accept": "linked-rows"}}, "linked-rows: only for identifying"),
        ({"admitted": {"role": "insensitive", "missing": ["9999-12-31"]}}, "missing also for those with action: shift"),
        ({"mrn": {"role": "identifying", "action": "shift"}}, "only for others: shift"),
        ({"mrn": {"role": "identifying", "family": "people"}}, "family: only for identifying columns with action"),
        ({"mrn": {**PSEUDONYM, "accept": "unique"}}, "accept: only for sensitive and insensitive"),
        ({"mrn": {**LINKED, "key_conn_id": "keys", "key_file": "key"}}, "there is one key; remove one"),
        ({"mrn": {**LINKED, "key_id": "0123456789abcdef"}}, "key_id: is of a key that stays"),
        ({"mrn": {**LINKED, **KEY, "key_id": "secret"}}, "key_id"),
        ({"mrn": PSEUDONYM}, "joins all released rows of a person"),
        ({"visit": {**PSEUDONYM, "family": "mrn"}, "mrn": LINKED}, "'visit' share the family"),
        ({"mrn": {**LINKED, **KEY}, "admitted": DATE, "shift": {"days": 9}}, "name a key of shift as well"),
        ({"visit": {**LINKED, "family": "mrn"}, "mrn": {**LINKED, **KEY}}, "columns of one family have different keys"),
    ],
)
def test_what_is_refused(changes, told):
    with pytest.raises(InvalidJob) as refused:
        job(**changes)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"mrn": LINKED},
        {"visit": PSEUDONYM},
        {"visit": {**PSEUDONYM, **KEY}},
        {"visit": {**PSEUDONYM, "key_conn_id": "keys"}},
        {"visit": PSEUDONYM, "subject": None, "unit": "record"},
        {"visit": {**LINKED, "family": "id"}, "mrn": {**LINKED, "family": "id"}},
        {"mrn": {**LINKED, **KEY}, "admitted": DATE, "shift": {"days": 9, **KEY}},
        {"admitted": {**DATE, "missing": ["9999-12-31", ""]}, "shift": {"days": 9, "ages_on": "2026-01-01"}},
        {"admitted": {"role": "sensitive", "action": "shift", "order": "date"}, "shift": {"days": 9}},
    ],
)
def test_what_a_job_may_say(changes):
    made = job(**changes)
    assert load_job(made.document()).document() == made.document()


def test_the_path_of_a_key_is_relative_to_the_job_file_and_not_in_a_release(tmp_path):
    (tmp_path / "job.yaml").write_text(
        "name: visits\nsubject: mrn\nprivacy: [{model: k-anonymity, k: 5}]\nshift: {days: 9, key_file: keys/shift}\n"
        "attributes:\n  mrn: {role: identifying, action: pseudonymize, accept: linked-rows, key_file: /etc/keys/mrn}\n"
        "  age: {role: quasi-identifying, hierarchy: {builder: age}}\n  day: {role: insensitive, action: shift}\n"
    )
    made = load_job(tmp_path / "job.yaml")
    assert made.shift.key_file == str(tmp_path / "keys/shift")
    assert made.attributes["mrn"].key_file == "/etc/keys/mrn"
    assert "/etc/keys" not in str(made)
    assert str(tmp_path) not in str(made)


@pytest.mark.parametrize("knows", [None, "any-row", "all-rows"])
def test_a_pseudonym_of_the_subject_needs_criteria_for_who_joins_all_rows(knows):
    accepted = job(mrn=LINKED)
    plain = accepted.attributes["mrn"].model_copy(update={"accept": None})
    made = accepted.model_copy(update={"knows": knows, "attributes": {**accepted.attributes, "mrn": plain}})
    if knows == "all-rows":
        check_replaced(made)
        return
    with pytest.raises(ValueError, match="set knows: all-rows, leave action out, or say accept: linked-rows"):
        check_replaced(made)
