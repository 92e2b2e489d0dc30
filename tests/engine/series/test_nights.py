"""Nights of a series: nobody is in a trace below k, recounted from the released files alone, joined by the true ids."""

from __future__ import annotations

import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, NoSolution, VaultRefused, load_job, run, verify
from engine.job.open_series import open_series, series_evidence
from engine.pipeline.report_form import wrong_keys
from engine.series.remembered import told_apart
from tests.engine.series.nights import FIXED, in_file, job, movers, patients, stated, table
from tests.profiles import examples
from tests.reference import traces

MEMORY = 4


@st.composite
def nights_of(draw):
    """Draw who arrives, leaves, comes back, moves or has another diagnosis, night by night."""
    everybody = patients(draw(st.integers(30, 60)), seed=draw(st.integers(0, 99)))
    people, nights = dict(everybody), []
    for _ in range(draw(st.integers(2, 6))):
        nights.append(dict(people))
        changed = draw(st.lists(st.tuples(st.sampled_from(sorted(everybody)), st.integers(0, 3)), max_size=8))
        for number, what in changed:
            age, ward, value = people.get(number, everybody[number])
            if what == 0:
                people.pop(number, None)
            else:
                people[number] = [(age, ward, value), (age, 3 - ward, value), (age, ward, "d")][what - 1]
        people |= patients(draw(st.integers(0, 12)), seed=draw(st.integers(0, 9)), begin=100 * (len(nights) + 1))
    return nights


@settings(max_examples=examples(60))
@given(nights=nights_of(), k=st.integers(2, 4), diversity=st.sampled_from([None, 2]))
def test_nobody_is_in_a_trace_below_k(nights, k, diversity):
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        for people in nights:
            try:
                result = run(job(folder, k, diversity, MEMORY), table=table(people))
            except NoSolution:
                continue
            seen.append(in_file(result.table))
            remembered = seen[-MEMORY:]
            assert result.report["series"]["releases"] == len(remembered)
            assert result.report["series"]["smallest_trace"] == traces.smallest(remembered) >= k
            assert diversity is None or traces.fewest_values(remembered) >= diversity
            assert all(finding.holds for finding in result.findings)


@settings(max_examples=examples(60))
@given(nights=nights_of())
def test_what_departures_tell_is_measured_where_it_is_only_reported(nights):
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        for people in nights:
            result = run(job(folder, 3, series={"departures": "report"}), table=table(people))
            seen.append(in_file(result.table))
            remembered = seen[-MEMORY:]
            groups = traces.groups(remembered)
            assert result.report["series"]["smallest_trace"] == traces.smallest(remembered)
            below = sum(len(values) for values in groups.values() if len(values) < 3)
            assert result.report["series"]["below_share"] == pytest.approx(below / len(people))
            told = stated(folder)["smallest_trace"]
            assert told is None if traces.smallest(remembered) < 3 else told == traces.smallest(remembered)


@pytest.mark.parametrize("diversity", [None, 2])
@pytest.mark.parametrize("told", [0.0, 0.5, 2.0, None, True])
def test_another_share_of_traces_of_too_few_than_the_vaults_is_found(tmp_path, diversity, told):
    """Four of a class left, of whom it is told: a smaller or larger share would make the release look otherwise."""
    one = fixed(tmp_path, diversity=diversity, series={"departures": "report"}, k=5)
    run(one, table=table(two_classes()))
    people = {number: found for number, found in two_classes().items() if number not in {0, 2, 4, 6}}
    result = run(one, table=table(people))
    report = {**result.report, "series": {**result.report["series"]}}
    assert report["series"]["below_share"] == pytest.approx(4 / 20)
    evidence = series_evidence(one, report)

    def wrong():
        found = verify(result.table, one, report, source=table(people), series=evidence)
        return [str(finding.message) for finding in found if not finding.holds]

    assert not wrong()
    report["series"]["below_share"] = told
    # withheld it would be too: four are few; and others than those of too few may fail 2-diversity
    holds = told is None or (told == 0.5 and diversity is not None)
    assert wrong() == ([] if holds else ["the report gives another below_share"])


def test_what_a_release_of_a_series_withholds_must_be_named(tmp_path):
    one = fixed(tmp_path)
    run(one, table=table(two_classes()))
    people = two_classes() | {30: (30, 0, "a")}
    published = run(one, table=table(people)).published
    assert published["series"]["held_back_share"] is None
    assert wrong_keys(one, published) == []
    named = [name for name in published["withheld"] if name != "series.held_back_share"]
    assert len(named) < len(published["withheld"])
    assert wrong_keys(one, {**published, "withheld": named}) == ["withheld"]


@pytest.mark.parametrize(("key", "value"), [("lower_bound", 0.9), ("lower_bound", -0.1), ("gap", 1.5), ("gap", -0.5)])
def test_a_bound_above_the_loss_and_a_gap_beyond_its_ends_are_found(tmp_path, key, value):
    one = fixed(tmp_path)
    published = run(one, table=table(two_classes())).published
    solution = {**published["solution"], "optimal": False, "lower_bound": 0.0, "gap": 1.0}
    honest = {**published, "solution": solution, "search": {**published["search"], "proof": None}}
    assert wrong_keys(one, honest) == []
    assert wrong_keys(one, {**honest, "solution": {**solution, key: value}}) == [f"solution.{key}"]


def two_classes():
    """Return people of two classes, which no level below the highest merges."""
    return {number: (30, number % 2 * 3, "abcd"[number % 4]) for number in range(24)}


def fixed(folder, k=3, diversity=None, **changes):
    """Return a job that always keeps the two classes apart."""
    found = job(folder, k, diversity, **changes)
    attributes = dict(found.document()["attributes"])
    attributes["age"] |= {"minimum_level": 1, "maximum_level": 1}
    attributes["ward"] |= {"maximum_level": 0}
    return job(folder, k, diversity, attributes=attributes, **changes)


def test_covers_of_one_who_left_do_not_come_back(tmp_path):
    people = two_classes()
    first = run(fixed(tmp_path, memory=3), table=table(people))
    assert first.report["released"] == 24
    gone = {number: one for number, one in people.items() if number != 0}
    # two cover the one who left; one more of their class arrives and waits
    assert run(fixed(tmp_path, memory=3), table=table(gone)).report["released"] == 21
    gone[30] = (30, 0, "a")
    assert run(fixed(tmp_path, memory=3), table=table(gone)).report["released"] == 21
    # the release with the one who left is forgotten, so the covers are as new, and the three can go together
    assert run(fixed(tmp_path, memory=3), table=table(gone)).report["released"] == 24


def test_somebody_new_waits_until_enough_of_a_class_are(tmp_path):
    people = two_classes()
    run(fixed(tmp_path), table=table(people))
    people[30] = (30, 0, "a")
    waiting = run(fixed(tmp_path), table=table(people)).report
    assert (waiting["released"], waiting["series"]["held_back_share"]) == (24, pytest.approx(1 / 25))
    assert stated(tmp_path)["held_back_share"] is None
    people |= {31: (30, 0, "b"), 32: (30, 0, "c")}
    assert run(fixed(tmp_path), table=table(people)).report["released"] == 27


def test_a_job_can_refuse_what_would_have_to_wait(tmp_path):
    people = two_classes()
    refusing = {"arrivals": "refuse"}
    run(fixed(tmp_path, series=refusing), table=table(people))
    people[30] = (30, 0, "a")
    with pytest.raises(NoSolution, match=r"series\.arrivals"):
        run(fixed(tmp_path, series=refusing), table=table(people))


def test_a_person_has_one_record(tmp_path):
    source = table(two_classes())
    source.loc[1, "mrn"] = "MRN0"
    with pytest.raises(InvalidData, match="series: records that are further ones of a person: 1;"):
        run(fixed(tmp_path), table=source)


def test_a_release_is_verified_with_its_vault(tmp_path):
    people = two_classes()
    run(fixed(tmp_path), table=table(people))
    one = fixed(tmp_path)
    published = run(one, table=table(people)).published
    release, source = tmp_path / "release", table(people)
    found = verify(release, one, published, source=source, series=series_evidence(one, published))
    assert all(finding.holds for finding in found)
    assert "series k-anonymity" in {finding.check for finding in found}
    without = verify(release, one, published, source=source)
    assert not next(finding for finding in without if finding.check == "series").holds
    people[0] = (30, 3, "a")
    moved = verify(release, one, published, source=table(people), series=series_evidence(one, published))
    assert not next(finding for finding in moved if finding.check == "series").holds


@pytest.mark.parametrize(
    ("departures", "change", "told"),
    [
        ("cover", {"name": "others"}, "name"),
        ("cover", {"smallest_trace": [3]}, "smallest_trace"),
        ("cover", {"releases": 30}, "releases"),
        ("cover", {"max_nights": 7}, "max_nights"),
        ("cover", {"cohorts": {"levels": 3}}, "cohorts"),
        ("cover", {"suppressed_share": None}, "share of persons left out"),
        ("cover", {"suppressed_share": -1.0}, "share of persons left out"),
        ("keep", {"max_nights": 70}, "max_nights"),
        ("keep", {"max_nights": None}, "max_nights"),
    ],
)
def test_a_report_that_says_another_thing_of_the_series_is_found(tmp_path, departures, change, told):
    people = two_classes() | {100 + age: (age, 0, "a") for age in range(60, 70)}
    one = fixed(tmp_path, series={"departures": departures})
    published = run(one, table=table(people)).published
    assert published["series"]["suppressed_share"] > 0.1
    evidence = series_evidence(one, published)
    for report, holds in ((published, True), ({**published, "series": {**published["series"], **change}}, False)):
        found = verify(tmp_path / "release", one, report, source=table(people), series=evidence)
        assert [finding.message for finding in found if not finding.holds] == (
            [] if holds else [f"the report gives another {told}"]
        )


@pytest.mark.parametrize("departures", ["cover", "keep"])
def test_a_person_whose_number_gets_a_sign_is_no_other_one(tmp_path, departures):
    """0.0 and -0.0 are one number: only the last one left, and nobody came."""
    told = []
    for zero in (0.0, -0.0):
        folder = tmp_path / str(zero)
        people = table(two_classes())
        people["mrn"] = people["mrn"].str[3:].astype(float)
        one = fixed(folder, series={"departures": departures, "key_file": str(tmp_path / "key")})
        run(one, table=people)
        people.loc[people["mrn"] == 0, "mrn"] = zero
        result = run(one, table=people.iloc[:-1])
        told.append([result.report["series"][name] for name in ("smallest_trace", "held_back_share")])
        evidence = series_evidence(one, result.published)
        found = verify(folder / "release", one, result.published, source=people.iloc[:-1], series=evidence)
        assert all(finding.holds for finding in found)
    assert told[0] == told[1]


@pytest.mark.parametrize("departures", ["cover", "keep"])
@pytest.mark.parametrize("written", [str.lower, lambda one: f"{one} ", lambda one: f"{one[:3]} {one[3:]}"])
def test_a_person_who_is_written_otherwise_the_next_night_is_no_other_one(tmp_path, departures, written):
    """Else all would be gone and as many new ones there, and who left alone is what two nights differ by."""
    people = table(two_classes())
    one = fixed(tmp_path, series={"departures": departures})
    run(one, table=people)
    people["mrn"] = people["mrn"].map(written)
    people = people.iloc[1:]
    result = run(one, table=people)
    # two cover the one who left, or the record of that one stays
    assert result.report["released"] == {"cover": 21, "keep": 24}[departures]
    found = verify(
        tmp_path / "release", one, result.published, source=people, series=series_evidence(one, result.published)
    )
    assert all(finding.holds for finding in found)


@pytest.mark.parametrize("keeps", [False, True])
def test_nothing_tells_how_few_are_suppressed_beside_others_who_cover(tmp_path, keeps):
    """Four cover: of 29 persons these are 14%, and of 30 they are 13%. What one or two lose is in the loss of all."""
    told = []
    for odd in (1, 2):
        people = two_classes() | {number: (30, number % 2 * 3, "abcd"[number % 4]) for number in range(24, 30)}
        people |= {100 + number: (90, 0, "a") for number in range(odd)}
        folder = tmp_path / str(odd)
        one = fixed(folder, **({"stability": {"keep_levels": True}} if keeps else {}))
        run(one, table=table(people))
        people = {number: person for number, person in people.items() if number > 1}
        result = run(one, table=table(people))
        assert (result.report["released"], result.report["series"]["covered_share"]) == (24, 4 / (28 + odd))
        evidence = series_evidence(one, result.published)
        found = verify(folder / "release", one, result.published, source=table(people), series=evidence)
        assert all(finding.holds for finding in found)
        told.append({key: value for key, value in stated(folder).items() if key != "release_id"})
    assert told[0] == told[1]


def free(folder, **stability):
    """Return a job whose levels are free but for what its stability says."""
    stays = {"stability": {"keep_levels": True, **stability}} if stability is not None else {}
    return job(folder, 3, suppression_limit=0.1, **stays)


def many(number, ages):
    """Return people of some ages, as many of each."""
    return {place: (ages[place % len(ages)], 0, "abcd"[place % 4]) for place in range(number)}


def test_levels_of_the_night_before_stay_while_they_hold(tmp_path):
    few, more = many(4, [20, 21, 22, 23]), many(40, [20, 21, 22, 23])
    first = run(free(tmp_path), table=table(few)).report
    second = run(free(tmp_path), table=table(more)).report
    assert second["solution"]["levels"] == first["solution"]["levels"]
    assert second["series"]["levels_changed"] == {}
    stays = second["series"]["stability"]
    assert stays["kept"] is True
    assert stays["loss_kept"] > stays["loss_possible"] == 0
    assert second["solution"]["optimal"] is False


def test_levels_change_where_that_saves_enough(tmp_path):
    first = run(free(tmp_path), table=table(many(4, [20, 21, 22, 23]))).report
    assert "levels_changed" not in first["series"]
    before = first["solution"]["levels"]["age"]
    more = run(free(tmp_path, change_only_if={"loss_improves_by": 0.5}), table=table(many(40, [20, 21, 22, 23]))).report
    assert (more["series"]["stability"]["kept"], more["solution"]["levels"]["age"]) == (False, 0)
    assert more["series"]["levels_changed"] == {"age": {"before": before, "now": 0}}


def test_levels_that_hold_no_more_change_or_the_night_is_refused(tmp_path):
    people = many(40, [20, 21, 22, 23])
    run(free(tmp_path), table=table(people))
    everybody = patients(40)
    with pytest.raises(NoSolution, match="stability"):
        run(free(tmp_path, change_only_if={"loss_improves_by": 0.5}), table=table(everybody))
    changed = run(free(tmp_path), table=table(everybody)).report
    assert changed["series"]["stability"] == {
        "kept": False,
        "loss_kept": None,
        "loss_possible": changed["series"]["searched"]["information_loss"],
    }


def keeping(folder, k=3, max_nights=2, **changes):
    """Return the fixed job, in whose releases persons who are gone stay for some nights."""
    return fixed(folder, series={"departures": "keep", "max_nights": max_nights}, **changes)


def test_who_is_gone_stays_for_some_nights_and_then_others_cover(tmp_path):
    people = two_classes()
    run(keeping(tmp_path), table=table(people))
    gone = {number: one for number, one in people.items() if number != 0}
    for _ in range(2):
        kept = run(keeping(tmp_path), table=table(gone))
        assert "0" in in_file(kept.table)
        assert kept.report["series"]["kept_share"] == pytest.approx(1 / 24)
        assert stated(tmp_path)["kept_share"] is None
        assert all(finding.holds for finding in kept.findings)
    left = run(keeping(tmp_path), table=table(gone))
    assert (len(in_file(left.table)), "0" in in_file(left.table)) == (21, False)
    assert left.report["series"]["covered_share"] == pytest.approx(2 / 23)


@pytest.mark.parametrize("types", [{"age": "int64"}, {"age": "int8", "ward": "int32", "who": "int64"}])
def test_who_is_gone_stays_where_a_column_has_another_type(tmp_path, types):
    """A warehouse widens a column, or reads numbers of one night as text: the values are the same."""
    people = two_classes()
    gone = table({number: one for number, one in people.items() if number != 0})
    run(keeping(tmp_path), table=table(people))
    for frame in (gone.astype(types), gone):
        kept = run(keeping(tmp_path), table=frame)
        assert "0" in {str(one) for one in in_file(kept.table)}
        assert kept.report["series"]["kept_share"] == pytest.approx(1 / 24)


def test_a_record_that_another_type_would_change_is_not_kept(tmp_path):
    people = two_classes()
    padded = table(people).assign(who=[f"{number:03}" for number in people])
    run(keeping(tmp_path), table=padded)
    before = (tmp_path / "release" / "manifest.json").read_bytes()
    with pytest.raises(InvalidData, match="column 'who': has another type than in the release before"):
        run(keeping(tmp_path), table=padded[padded["who"] != "000"].astype({"who": "int64"}))
    assert (tmp_path / "release" / "manifest.json").read_bytes() == before


def test_those_who_are_gone_leave_together(tmp_path):
    people = two_classes()
    run(keeping(tmp_path), table=table(people))
    for gone, released in ([0, 2], 24), ([0, 2, 4], 21):
        stays = {number: one for number, one in people.items() if number not in gone}
        assert run(keeping(tmp_path), table=table(stays)).report["released"] == released


def test_who_comes_back_is_not_kept_but_released_as_he_or_she_is(tmp_path):
    people = two_classes()
    run(keeping(tmp_path), table=table(people))
    run(keeping(tmp_path), table=table({number: one for number, one in people.items() if number != 0}))
    back = run(keeping(tmp_path), table=table({**people, 0: (30, 0, "d")}))
    assert (in_file(back.table)["0"][1], back.report["series"]["kept_share"]) == ("d", 0)


def test_nobody_who_is_forgotten_is_kept(tmp_path):
    people = two_classes()
    run(keeping(tmp_path), table=table(people))
    opened = open_series(keeping(tmp_path), "")
    assert opened.vault.forget(opened.key.ids(["MRN0"])) == 1
    gone = {number: one for number, one in people.items() if number != 0}
    after = in_file(run(keeping(tmp_path), table=table(gone)).table)
    assert "0" not in after
    assert b"MRN0" not in (tmp_path / "vault.sqlite").read_bytes()


def test_a_kept_record_that_was_changed_is_found(tmp_path):
    people = two_classes()
    run(keeping(tmp_path), table=table(people))
    gone = table({number: one for number, one in people.items() if number != 0})
    published = run(keeping(tmp_path), table=gone).published
    one = keeping(tmp_path)
    evidence = series_evidence(one, published)
    before = evidence.releases[-2].kept
    other = replace(before, rows=before.rows.set_column(3, "diagnosis", pa.array(["d"] * before.rows.num_rows)))
    changed = replace(evidence, releases=[replace(evidence.releases[-2], kept=other), evidence.releases[-1]])
    for shown, holds in (evidence, True), (changed, False):
        found = verify(tmp_path / "release", one, published, source=gone, series=shown)
        assert next(finding for finding in found if finding.check == "kept").holds is holds


def test_a_share_that_is_withheld_since_few_others_wait_is_verified(tmp_path):
    people = two_classes()
    one = keeping(tmp_path)
    run(one, table=table(people))
    # two of each class are gone and kept, and the newcomer waits
    tonight = table({**{number: one for number, one in people.items() if number > 3}, 100: people[0]})
    result = run(one, table=tonight)
    assert result.report["series"]["kept_share"] == pytest.approx(4 / 25)
    assert stated(tmp_path)["kept_share"] is None
    found = verify(
        tmp_path / "release", one, result.published, source=tonight, series=series_evidence(one, result.published)
    )
    assert [finding.message for finding in found if not finding.holds] == []
    # without a reason to withhold it, it must be told
    everybody = table({number: one for number, one in people.items() if number > 3})
    told = run(one, table=everybody).published
    told["series"]["kept_share"] = None
    found = verify(tmp_path / "release", one, told, source=everybody, series=series_evidence(one, told))
    assert any("kept_share" in str(finding.message) for finding in found if not finding.holds)


@pytest.mark.parametrize(("value", "unseen"), [(None, "error"), (None, "root"), ("unknown", "root")])
def test_a_night_of_persons_without_an_entry_is_verified(tmp_path, value, unseen):
    # the one person with an entry waits, so that no value in the file has one
    age = {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10]}, "unseen": unseen}
    plain = job(tmp_path, suppression_limit=0.9).document()
    one = load_job({**plain, "attributes": {**plain["attributes"], "age": {**age, "minimum_level": 2}}})
    source = table({number: (30, min(number, 1), "a") for number in range(5)})
    source["age"] = ["30", *[value] * 4]
    result = run(one, table=source)
    assert result.table["age"].to_pylist() == ["*"] * 4
    assert all(finding.holds for finding in result.findings)


def test_only_the_two_newest_releases_keep_records(tmp_path):
    people = two_classes()
    for _ in range(4):
        run(keeping(tmp_path), table=table(people))
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        rows = connection.execute("SELECT kept IS NULL FROM series_release ORDER BY number").fetchall()
    assert [bool(one) for (one,) in rows] == [True, True, False, False]


@settings(max_examples=examples(60))
@given(nights=nights_of(), k=st.integers(2, 4), diversity=st.sampled_from([None, 2]), most=st.integers(1, 3))
def test_nobody_is_in_a_trace_below_k_where_who_is_gone_is_kept(nights, k, diversity, most):
    with tempfile.TemporaryDirectory() as name:
        folder, seen, since, last = Path(name), [], {}, {}
        for people in nights:
            one = job(folder, k, diversity, MEMORY, series={"departures": "keep", "max_nights": most})
            try:
                result = run(one, table=table(people))
            except NoSolution:
                continue
            seen.append(in_file(result.table))
            remembered = seen[-MEMORY:]
            assert result.report["series"]["smallest_trace"] == traces.smallest(remembered) >= k
            assert diversity is None or traces.fewest_values(remembered) >= diversity
            here = {str(number) for number in people}
            since = {who: 0 if who in here else since[who] + 1 for who in seen[-1]}
            assert max(since.values()) <= most
            last |= {str(number): value for number, (_, _, value) in people.items()}
            assert {who: value for who, (_, value) in seen[-1].items()} == {who: last[who] for who in seen[-1]}
            kept = sum(nights > 0 for nights in since.values())
            assert result.report["series"]["kept_share"] == pytest.approx(kept / (len(people) + kept))


def close(folder, model, **series):
    """Return a job whose classes must be like the table."""
    privacy = [{"model": "k-anonymity", "k": 3}, {"attribute": "diagnosis", **model}]
    return job(folder, memory=MEMORY, privacy=privacy, series=series)


CLOSE = [
    ({"model": "t-closeness", "distance": "equal", "t": 0.5}, traces.furthest, 0.5),
    ({"model": "beta-likeness", "variant": "basic", "beta": 1.5}, traces.largest_gain, 1.5),
]


@settings(max_examples=examples(60))
@given(nights=nights_of(), model=st.sampled_from(CLOSE), departures=st.sampled_from(["cover", "keep"]))
def test_traces_are_as_close_to_the_table_as_classes(nights, model, departures):
    stated_model, measured, bound = model
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        for people in nights:
            try:
                result = run(close(folder, stated_model, departures=departures), table=table(people))
            except NoSolution:
                continue
            seen.append(in_file(result.table))
            assert traces.smallest(seen[-MEMORY:]) >= 3
            assert measured(seen[-MEMORY:]) <= bound + 1e-9
            assert f"series {stated_model['model']}" in {finding.check for finding in result.findings}


DIVERSE = {"model": "l-diversity", "variant": "distinct", "l": 2}
NEAR = {"model": "t-closeness", "distance": "equal", "t": 0.5}
TOLD = {"every": traces.traces, "changes": traces.with_changes}
"""What tells persons apart by `values`."""


@settings(max_examples=examples(80))
@given(
    nights=nights_of(),
    model=st.sampled_from([DIVERSE, NEAR]),
    departures=st.sampled_from(["cover", "keep"]),
    arrivals=st.sampled_from(["hold-back", "batch"]),
)
@pytest.mark.parametrize("values", TOLD)
def test_traces_satisfy_models_by_the_values_of_every_night(values, nights, model, departures, arrivals):
    """With changes, the persons whose values changed on one night are classes of their own."""
    told = TOLD[values]
    arrivals = "hold-back" if model is NEAR else arrivals  # batch does not go with it
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        one = close(folder, model, departures=departures, arrivals=arrivals, values=values)
        for people in nights:
            try:
                result = run(one, table=table(people))
            except NoSolution as problem:
                if "whoever is withheld" in str(problem):
                    raise
                continue
            seen.append(in_file(result.table))
            remembered = seen[-MEMORY:]
            assert result.report["series"]["smallest_trace"] == traces.smallest(remembered, told) >= 3
            if model is NEAR:
                assert traces.furthest_then(remembered, told) <= 0.5 + 1e-9
            else:
                assert traces.fewest_values_then(remembered, told) >= 2
            assert all(finding.holds for finding in result.findings)


def moving(folder, **series):
    attributes = {**job(folder).document()["attributes"], **FIXED}
    return job(folder, k=5, diversity=2, memory=MEMORY, attributes=attributes, series=series, suppression_limit=0.0)


def test_movers_of_one_value_are_covered_if_the_values_of_every_night_count(tmp_path):
    first, second = movers()
    (tmp_path / "last").mkdir()
    (tmp_path / "every").mkdir()
    for values, alone in (("last", True), ("every", False)):
        one = moving(tmp_path / values, values=values)
        nights = [in_file(run(one, table=table(people)).table) for people in (first, second)]
        assert (traces.fewest_values_then(nights) < 2) == alone
        assert traces.fewest_values(nights) >= 2


def test_movers_of_one_value_are_found_by_verification(tmp_path):
    first, second = movers()
    run(moving(tmp_path), table=table(first))
    result = run(moving(tmp_path), table=table(second))
    evidence = series_evidence(moving(tmp_path), result.report)
    every = moving(tmp_path, values="every")
    findings = verify(result.table, every, result.report, table(second), series=evidence)
    assert {finding.check for finding in findings if not finding.holds} == {"series l-diversity"}


def test_values_of_every_night_are_of_a_new_series(tmp_path):
    people, _ = movers()
    run(moving(tmp_path), table=table(people))
    with pytest.raises(VaultRefused, match=r"series\.begin"):
        run(moving(tmp_path, values="every"), table=table(people))
    with pytest.raises(InvalidJob, match="departures: report does not prevent"):
        moving(tmp_path, values="every", departures="report")


def corrected(people, *numbers):
    """Return people of whom some have another diagnosis."""
    return people | {number: (*people[number][:2], "abcd"["bcda".index(people[number][2])]) for number in numbers}


def values_that_differ(nights):
    """Return how many values of the persons of both nights are others, which a difference of the files shows."""
    first, second = nights
    return sum(first[person][1] != second[person][1] for person in first if person in second)


def test_a_corrected_value_waits_for_others_of_its_class(tmp_path):
    people = {number: (30, number % 2, "abcd"[number // 2 % 4]) for number in range(48)}
    shown, released = {}, {}
    for values in ("every", "changes"):
        for numbers in ((0,), (0, 2, 4, 6, 8)):
            folder = tmp_path / f"{values} {len(numbers)}"
            folder.mkdir()
            one = moving(folder, values=values)
            nights = [in_file(run(one, table=table(now)).table) for now in (people, corrected(people, *numbers))]
            shown[values, len(numbers)] = values_that_differ(nights)
            released[values, len(numbers)] = len(nights[1])
    assert shown == {("every", 1): 1, ("every", 5): 5, ("changes", 1): 0, ("changes", 5): 5}
    # four others cover the one that waits
    assert released == {("every", 1): 48, ("every", 5): 48, ("changes", 1): 43, ("changes", 5): 48}


def test_a_value_that_was_corrected_alone_is_found_by_verification(tmp_path):
    people = {number: (30, number % 2, "abcd"[number // 2 % 4]) for number in range(48)}
    run(moving(tmp_path, values="every"), table=table(people))
    second = table(corrected(people, 0))
    result = run(moving(tmp_path, values="every"), table=second)
    evidence = series_evidence(moving(tmp_path, values="every"), result.report)
    findings = verify(result.table, moving(tmp_path, values="changes"), result.report, second, series=evidence)
    failed = {finding.check for finding in findings if not finding.holds}
    assert failed == {"series k-anonymity", "series l-diversity", "figures"}


@pytest.mark.parametrize("wide", [1 << 29, 4])
@given(people=st.lists(st.tuples(st.integers(-1, 3), *[st.booleans()] * 3), max_size=20))
def test_those_of_a_class_are_told_apart_by_each_attribute_that_changed(wide, people):
    classes = np.array([one[0] for one in people], np.int32)
    changed = [np.array([one[place] for one in people], np.bool_) for place in (1, 2, 3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.series.remembered._WIDE", wide)
        found = told_apart(classes, changed).tolist()
    assert [number < 0 for number in found] == [one[0] < 0 for one in people]
    there = [(one, number) for one, number in zip(people, found, strict=True) if number >= 0]
    assert len(set(there)) == len({one for one, _ in there}) == len({number for _, number in there})


def test_changes_are_of_sensitive_columns_that_models_name(tmp_path):
    people, _ = movers()
    run(moving(tmp_path, values="every"), table=table(people))
    with pytest.raises(VaultRefused, match=r"series\.begin"):
        run(moving(tmp_path, values="changes"), table=table(people))
    with pytest.raises(InvalidJob, match="no model of privacy names 'diagnosis'"):
        job(tmp_path, series={"values": "changes"})
    columns = {**job(tmp_path).document()["attributes"], "diagnosis": {"role": "insensitive"}}
    with pytest.raises(InvalidJob, match="the job has none"):
        job(tmp_path, attributes=columns, series={"values": "changes"})
    with pytest.raises(InvalidJob, match="changes is about who moved or left"):
        moving(tmp_path, values="changes", departures="report")


def test_one_arrival_of_a_rare_value_waits_for_others(tmp_path):
    people = {number: (30, 0, "ab"[number % 2]) for number in range(24)}
    one = {"model": "t-closeness", "distance": "equal", "t": 0.3}
    run(close(tmp_path, one), table=table(people))
    # three are enough for a class, and are not like the table
    more = people | {30 + place: (30, 0, "a") for place in range(3)}
    assert len(in_file(run(close(tmp_path, one), table=table(more)).table)) == 24
    more |= {40 + place: (30, 0, "b") for place in range(3)}
    assert len(in_file(run(close(tmp_path, one), table=table(more)).table)) == 30


def test_a_trace_unlike_the_table_is_found_by_verification(tmp_path):
    people = {number: (30, 0, "ab"[number % 2]) for number in range(24)}
    strict, loose = ({"model": "t-closeness", "distance": "equal", "t": t} for t in (0.3, 1.0))
    run(close(tmp_path, loose), table=table(people))
    more = table(people | {30 + place: (30, 0, "a") for place in range(3)})
    published = run(close(tmp_path, loose), table=more).published
    evidence = series_evidence(close(tmp_path, loose), published)
    found = verify(tmp_path / "release", close(tmp_path, strict), published, source=more, series=evidence)
    failing = {finding.check for finding in found if not finding.holds}
    assert "series t-closeness" in failing
    assert "t-closeness" not in failing


def coarsening(folder, **changes):
    """Return a job whose levels are free, and rise for who arrives."""
    return job(folder, 3, suppression_limit=0.1, memory=MEMORY, series={"arrivals": "coarsen"}, **changes)


def test_levels_rise_until_nobody_new_waits(tmp_path):
    people = two_classes()
    first = run(coarsening(tmp_path), table=table(people)).report
    assert (first["solution"]["levels"]["ward"], first["series"]["raised"]["levels"]) == (0, False)
    more = people | {30: (30, 0, "a"), 31: (30, 3, "b"), 32: (30, 3, "c")}
    second = run(coarsening(tmp_path), table=table(more)).report
    assert (second["released"], second["series"]["held_back_share"]) == (27, 0)
    assert second["series"]["raised"]["levels"] is True
    assert second["solution"]["levels"]["ward"] > 0
    assert second["series"]["raised"]["information_loss"] > second["series"]["searched"]["information_loss"] == 0
    assert second["solution"]["optimal"] is False


def test_levels_do_not_rise_where_that_helps_nobody(tmp_path):
    people = two_classes()
    run(coarsening(tmp_path), table=table(people))
    alone = run(coarsening(tmp_path), table=table(people | {30: (30, 0, "a")})).report
    assert (alone["released"], alone["series"]["raised"]["levels"]) == (24, False)
    assert alone["solution"]["levels"]["ward"] == 0


@settings(max_examples=examples(60))
@given(nights=nights_of(), diversity=st.sampled_from([None, 2]), stays=st.booleans())
def test_nobody_is_in_a_trace_below_k_where_levels_rise(nights, diversity, stays):
    with tempfile.TemporaryDirectory() as name:
        folder, seen = Path(name), []
        kept = {"stability": {"keep_levels": True}} if stays else {}
        one = job(folder, 3, diversity, MEMORY, series={"arrivals": "coarsen"}, **kept)
        for people in nights:
            try:
                result = run(one, table=table(people))
            except NoSolution:
                continue
            seen.append(in_file(result.table))
            assert result.report["series"]["smallest_trace"] == traces.smallest(seen[-MEMORY:]) >= 3
            assert diversity is None or traces.fewest_values(seen[-MEMORY:]) >= diversity
            rose = result.report["series"]["raised"]
            assert not rose["levels"] or result.report["series"]["held_back_share"] == 0


def two_wards(number):
    """Give people of two wards, so many in each, of four diagnoses."""
    return {one: (30, one % 2 * 3, "abcd"[one // 2 % 4]) for one in range(2 * number)}


@pytest.mark.parametrize(("number", "departures"), [(40, "cover"), (600, "cover"), (40, "keep")])
def test_how_few_left_is_not_told_by_how_many_cover_them(tmp_path, number, departures):
    """All who vanished are gone or cover: ten, so a number of covers would tell whether two, three or four left."""
    told, exact = [], set()
    for leavers in [(0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 2, 4, 1)]:
        folder = tmp_path / str(leavers)
        folder.mkdir()
        one = fixed(folder, k=5, series={"departures": departures, "max_nights": 1} if departures == "keep" else {})
        run(one, table=table(two_wards(number)))
        people = {key: found for key, found in two_wards(number).items() if key not in leavers}
        if departures == "keep":
            run(one, table=table(people))
        result = run(one, table=table(people))
        assert result.report["released"] == 2 * number - 10
        exact.add((result.report["series"]["covered_share"], len(leavers)))
        published = result.published["series"]
        told.append({key: value for key, value in published.items() if key != "release_id"})
        evidence = series_evidence(one, result.published)
        found = verify(result.table, one, result.published, source=table(people), series=evidence)
        assert all(finding.holds for finding in found)
        assert wrong_keys(one, result.published) == []
        assert "series.covered_share" in result.published["withheld"]
    assert len(exact) == 3
    assert told == [told[0]] * len(told)
    assert told[0]["covered_share"] is None


def test_how_many_cover_is_told_where_enough_left(tmp_path):
    one = fixed(tmp_path, k=5)
    run(one, table=table(two_wards(600)))
    # five of one ward, and four of the other, whom one covers; then covers are few
    people = {key: found for key, found in two_wards(600).items() if key not in {0, 2, 4, 6, 8}}
    assert run(one, table=table(people)).published["series"]["covered_share"] == 0.0
