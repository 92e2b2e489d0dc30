"""The attacks are right where a release lets them be, and say so; they are run on the real ones by `make redteam`."""

from __future__ import annotations

import hashlib
import itertools

import pandas as pd
import pytest

from redteam import adult, demo
from redteam.__main__ import line, main
from redteam.attacks import (
    churn,
    corrected_values,
    downcoding,
    few_left_out,
    fingerprint,
    homogeneity,
    many_nights,
    minimality,
    people_left,
    pseudonyms,
    row_order,
    small_classes,
    unlooked_columns,
)
from redteam.outcome import Outcome

K_5 = {"model": "k-anonymity", "k": 5}
L_3 = {"model": "l-diversity", "variant": "distinct", "attribute": "drug", "l": 3}
JOB = {"attributes": {"age": {"role": "quasi-identifying"}, "drug": {"role": "sensitive"}}, "privacy": [K_5]}

pytestmark = pytest.mark.usefixtures("shared")


@pytest.fixture
def careless(monkeypatch):
    """Release the source in its order: ages by decades, everything else as it is."""

    def released(job, source):
        return source[list(job["attributes"])].assign(age=(source["age"] // 10).astype(str)).astype(str)

    monkeypatch.setattr(adult, "released", released)


def test_a_release_in_the_order_of_the_source_gives_the_ages_back(careless):
    by_age, by_last_night = row_order.attack(600)
    assert by_age.success == 1.0
    assert by_age.baseline < 0.7
    assert by_last_night.success > 2 * by_last_night.baseline
    assert not by_age.holds
    assert not by_last_night.holds


def test_small_classes_are_found(careless, monkeypatch):
    night = [
        demo.Release(pd.DataFrame({"age": ["*"] * 4, "drug": list("abab")}), job)
        for job in (JOB, {**JOB, "privacy": []})
    ]
    monkeypatch.setattr(demo, "releases", lambda: night)
    samples, nights = small_classes.attack(3)
    assert (samples.tries, samples.success) == (3, 1.0)
    assert (nights.tries, nights.success) == (2, 0.5)
    assert not samples.holds
    assert not nights.holds


@pytest.mark.parametrize(("model", "broken"), [({"model": "k-anonymity", "k": 4}, False), (K_5, True), (L_3, True)])
def test_a_file_is_judged_by_its_job(model, broken):
    file = pd.DataFrame({"age": ["*"] * 4, "drug": list("abab")})
    assert small_classes.is_broken(file, {**JOB, "privacy": [model]}) is broken


def test_how_many_are_left_out_is_told_by_their_number(monkeypatch):
    monkeypatch.setattr(few_left_out, "_told", lambda kept, few: str(kept + few))
    (outcome,) = few_left_out.attack((10,))
    assert (outcome.success, outcome.baseline) == (1.0, 0.25)
    assert not outcome.holds


def test_unique_columns_that_are_released_are_found(careless):
    (outcome,) = unlooked_columns.attack(200)
    assert outcome.success == 1.0


def test_suppressed_records_of_large_classes_are_guessed():
    any_class, small = minimality.attack()
    assert any_class.success > 2 * any_class.baseline
    assert any_class.tries > 30
    assert small.tries == 0


def test_classes_of_one_value_are_found(careless):
    sure = [outcome for outcome in homogeneity.attack(600) if outcome.attack.endswith("for sure")]
    assert [outcome.success > 0.2 for outcome in sure] == [True] * 3
    assert [outcome.holds for outcome in sure] == [True, False, False]


def test_a_fingerprint_without_a_key_gives_the_record_back(monkeypatch):
    def plain(frame, _):
        return repr(sorted(frame.itertuples(index=False)))

    monkeypatch.setattr(fingerprint, "_fingerprint", plain)
    (outcome,) = fingerprint.attack(2)
    assert outcome.success == 1.0
    assert not outcome.holds


def test_a_plain_hash_gives_identifiers_back(monkeypatch):
    """And one known date of a person all others; of a shift that stays, releases tell nothing more."""

    def plain(text):
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def hashed(people, release_key=None):
        return people.assign(mrn=people["mrn"].map(plain))

    by_key, fresh, stays, known = pseudonyms.attack(20, nights=3, numbers=1000)
    assert by_key.success == 0
    assert known.success == 1
    assert all(outcome.holds for outcome in (by_key, fresh, stays, known))
    monkeypatch.setattr(pseudonyms, "_released", hashed)
    monkeypatch.setattr(pseudonyms, "_keyless", lambda: plain)
    by_hash, *_ = pseudonyms.attack(20, nights=3, numbers=1000)
    assert by_hash.success == 1
    assert not by_hash.holds


def test_levels_that_follow_from_the_table_are_undone(monkeypatch):
    """A release that keeps the sex if the first record is of somebody aged 20 tells that somebody is."""

    def released(table, job):
        return [((("20-39" if table[0][0] == "20" else "*"), "*"), cell) for cell in table], 0.0

    monkeypatch.setattr(downcoding, "_released", released)
    for outcome in downcoding.attack(2):
        assert outcome.success > outcome.baseline


def test_people_who_are_shown_as_they_are_are_found(monkeypatch):
    monkeypatch.setattr(
        people_left,
        "_released",
        lambda table, _: tuple(sorted((row["age"], row["sex"]) for row in table.to_pylist())),
    )
    for by_labels, by_code in [list(people_left.attack(1))[:2], list(people_left.attack(1))[2:]]:
        assert by_code.success >= by_labels.success > 0
        assert not by_labels.holds


def test_two_people_are_left_to_whoever_knows_the_population():
    for outcome in people_left.attack(1):
        assert outcome.holds
        assert outcome.tries


def test_what_is_above_its_bound_fails_the_command(monkeypatch, capsys):
    monkeypatch.setattr(small_classes, "attack", lambda: iter([Outcome("small", "t", 10, 0.5, 0.0, 0.0)]))
    assert main(["small_classes"]) == 1
    assert "ABOVE" in capsys.readouterr().out
    monkeypatch.setattr(small_classes, "attack", lambda: iter([Outcome("small", "t", 10, 0.0, 0.0, 0.0)]))
    assert main(["small_classes"]) == 0


@pytest.mark.parametrize(("tries", "holds"), [(100, True), (10_000, False)])
def test_chance_is_allowed_for(tries, holds):
    assert Outcome("a", "t", tries, 0.55, 0.5, 0.5).holds is holds


def test_never_means_never():
    assert not Outcome("a", "t", 10_000, 0.0001, 0.0, 0.0).holds
    assert "ABOVE" in line(Outcome("a", "t", 10_000, 0.0001, 0.0, 0.0))


def test_a_frame_of_the_table_has_all_records():
    assert isinstance(adult.people(), pd.DataFrame)
    assert len(adult.people()) == 30_162


def test_who_left_is_found_without_a_series_and_not_with_one():
    below, alone, _, covered, nobody, _ = churn.attack(1_500, 2)
    assert below.success > 0.2
    assert alone.success > 0
    assert (covered.success, nobody.success) == (0, 0)
    assert covered.holds


def test_traces_of_two_nights_are_grouped():
    cell, other = ("a",), ("b",)
    nights = [{"p": (cell, "x"), "q": (cell, "x"), "r": (other, "y")}, {"p": (cell, "x"), "s": (other, "y")}]
    assert churn.traces(nights) == (3, 3, 3)
    assert churn.traces(nights[:1]) == (0, 0, 0)


def test_who_changes_in_many_nights_is_found_without_a_series_and_not_with_one():
    found = list(many_nights.attack(200, 12))
    without, *series = (found[place : place + 3] for place in range(0, 9, 3))
    assert without[0].success > 0.9
    assert without[1].success > 0.5
    for below, alone, beyond in series:
        assert below.tries > 50
        assert (below.success, alone.success) == (0, 0)
        assert below.holds
        assert beyond.success > 0, "older releases than are remembered tell more"


def test_persons_who_change_are_counted_in_each_window():
    cell, other = ("a",), ("b",)
    group = dict.fromkeys("pqrst", cell)
    nights = [group, {**group, "u": cell}, {**group, "u": other}]
    assert many_nights.changed(nights, 2) == (2, 1.0, 1.0)
    assert many_nights.changed(nights, 3) == (1, 1.0, 1.0)
    assert many_nights.changed([group, {}], 2) == (5, 0.0, 0.0)


def test_whose_value_was_corrected_is_found_unless_changes_are_traced():
    found = list(corrected_values.attack(600, 8))
    for name, (below, alone) in zip(
        ("no series", "every", "changes"), zip(*[iter(found)] * 2, strict=True), strict=True
    ):
        assert name in below.table
        assert below.holds
        assert below.tries > 5
        assert (below.success > 0.3, alone.success > 0.05) == ((name != "changes"),) * 2


def test_those_of_two_classes_whose_values_changed_are_counted():
    before = pd.DataFrame([("p", "a"), ("q", "a"), ("r", "a"), ("s", "b"), ("t", "b")], columns=["who", "diagnosis"])
    before = before.assign(age="*", ward="w")
    after = before.assign(diagnosis=["b", "a", "c", "b", "a"], ward=[*"wwwww"])
    assert corrected_values.corrected([before, after]) == (3, 1.0, 0.0)
    moved = after.assign(ward=[*"wwwwv"])
    assert corrected_values.corrected([before, moved]) == (3, 1.0, pytest.approx(1 / 3))
    more = pd.concat([before.assign(who=before["who"] + number, diagnosis="x") for number in "123"])
    assert corrected_values.corrected([more, more.assign(diagnosis="y")]) == (15, 0.0, 0.0)


def test_two_hundred_nights_have_all_that_changes_a_table():
    nights = list(many_nights.changing(100, 40))
    assert sum(len(night.withdrawn) for night in nights) == 3
    pairs = list(itertools.pairwise(nights))
    assert all(set(later.people) - set(night.people) for night, later in pairs)
    assert all(set(night.people) - set(later.people) for night, later in pairs)
    known = set(nights[0].people)
    back = set()
    for night, later in pairs:
        back |= (set(later.people) - set(night.people)) & known
        known |= set(later.people)
    assert back
