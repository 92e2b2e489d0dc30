"""What a release means in one sentence, the risks of WP216 and the usual bounds: for each attacker, withheld too."""

from __future__ import annotations

import pytest

from airflow_anon.ledger.form import read
from airflow_anon.plugin.pages.plain_words import plain_words
from airflow_anon.plugin.words import NONE
from tests.airflow_anon.plugin.documents import HOSTILE, publish, released, unreleased

RUN = "scheduled__2026-03-01T02:15:00+00:00"


def told(**changes):
    return plain_words(read({**released(), **changes}))


def verdicts(found):
    return [one["met"] for one in found["yardsticks"]]


def of_smallest(size):
    document = released()
    return told(classes={**document["classes"], "smallest": size}, risk={**document["risk"], "prosecutor": 1 / size})


def test_one_sentence_says_how_far_a_record_is_narrowed_and_what_is_learnt_of_it():
    assert told()["sentence"] == (
        "No record can be narrowed down to fewer than 6 records by who knows its quasi-identifiers. In 3 groups, with "
        "2.1% of the records, all have the same diagnosis: whoever is known to be in one is known to have it."
    )


@pytest.mark.parametrize(
    ("knows", "words"),
    [
        (None, "any one of their rows"),
        ("any-row", "any one of their rows"),
        ("all-rows", "all of their rows"),
        ({"rows": 2}, "up to 2 of their rows"),
    ],
)
def test_of_persons_it_names_what_the_attacker_knows(knows, words):
    document = released()
    found = told(
        lint={**document["lint"], "unit": "person"}, records={**document["records"], "persons": 900, "knows": knows}
    )
    assert found["sentence"].startswith(f"Nobody can be narrowed down to fewer than 6 people by who knows {words}.")


def test_of_some_rows_the_fewest_who_share_them_are_told_and_not_the_smallest_class():
    document = released()
    few = {"model": "k-anonymity", "description": "5-anonymity", "parameters": {"k": 5}, "holds": True, "observed": 7}
    found = told(
        lint={**document["lint"], "unit": "person"},
        records={**document["records"], "persons": 900, "knows": {"rows": 2}},
        classes={**document["classes"], "smallest": 40},
        privacy=[{**document["privacy"][0], **few}],
    )
    assert found["sentence"].startswith("Nobody can be narrowed down to fewer than 7 people by who knows up to 2 of")
    assert found["risks"][0]["words"].startswith("The smallest group has 7 people")
    assert [one["observed"] for one in found["yardsticks"]].count("40") == 0


def test_without_homogeneous_classes_the_best_guess_is_told_beside_that_without_the_group():
    shares = {"ward": {"by_class": 0.41, "by_table": 0.4}, "diagnosis": {"by_class": 0.98, "by_table": 0.3}}
    found = told(attribute_inference=shares, lint=None)
    assert found["sentence"].endswith(
        "Whoever knows the group guesses diagnosis right for 98% of the records; without it, for 30%."
    )
    assert "Bounded by: distinct 2-diversity of diagnosis." in found["risks"][2]["words"]


@pytest.mark.parametrize(
    ("size", "met"),
    [
        (6, [True, False, False, False, None]),
        # 1/11 is above 0.09
        (11, [True, False, True, False, None]),
        (12, [True, True, True, False, None]),
        (20, [True, True, True, True, None]),
    ],
)
def test_the_usual_bounds_are_judged_beside_the_job_s_own(size, met):
    assert verdicts(of_smallest(size)) == met


def test_a_class_smaller_than_the_job_allows_is_not_told():
    """Of a refused attempt, for example."""
    found = of_smallest(3)
    assert "3" not in found["sentence"].partition("In 3 groups")[0]
    assert [one["observed"] for one in found["yardsticks"][:4]] == [NONE] * 4
    assert verdicts(found) == [None] * 5


def test_pseudonyms_that_stay_are_told_as_linkable():
    document = released()
    job = document["job"]
    attributes = {**job["document"]["attributes"], "mrn": {"role": "identifying", "action": "pseudonymize"}}

    def words():
        return told(job={**job, "document": {**job["document"], "attributes": attributes}})["risks"][1]["words"]

    assert "join records within this release" in words()
    attributes["mrn"]["key_conn_id"] = "keys"
    assert "joined over releases" in words()


def test_an_attempt_without_figures_has_none():
    assert plain_words(read(unreleased("failed"))) is None


@pytest.mark.airflow
def test_page_and_certificate_tell_it_with_the_assumed_recipient(get, ledger, tmp_path):
    document = released()
    document["job"]["document"]["recipient"] = HOSTILE
    publish(document, tmp_path / "share")
    ledger.append(document)
    for path in (f"/dags/stays/runs/{RUN}", f"/dags/stays/runs/{RUN}/certificate"):
        text = get(path).text
        assert "No record can be narrowed down to fewer than 6 records" in text
        assert "Singling out" in text
        assert "&lt;script&gt;alert" in text
        assert HOSTILE not in text
    assert "This determination expires on" in text
