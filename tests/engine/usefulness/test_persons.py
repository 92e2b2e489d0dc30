"""Where persons are counted each weighs one, and nothing of a suppressed record enters any figure."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidData, run
from engine.tables.sources.source import open_data
from engine.usefulness import measure
from engine.usefulness.draw import SeededHashes, draw, one_of_each
from engine.usefulness.intervals import of_mean
from engine.usefulness.persons import Persons, means, persons_of
from tests.engine.usefulness import stays
from tests.engine.usefulness.conftest import SEED
from tests.engine.usefulness.test_measure import band, entry
from tests.engine.usefulness.visits import ATTACKERS, job, table_of, visits
from tests.profiles import only

ASKED = {"columns": ["age", "zip", "ill", "days"]}

owners = st.lists(st.integers(0, 6), min_size=1, max_size=40)


def test_both_zeros_of_a_float_are_one_person():
    assert persons_of(open_data(pa.table({"mrn": [0.0, 1.5, -0.0]})), "mrn").codes.tolist() == [0, 1, 0]


def test_some_records_are_of_fewer_persons():
    found = Persons(np.array([0, 2, 1, 2]), ["a", "b", "c"]).of(np.array([False, True, True, True]))
    assert (found.codes.tolist(), found.names) == ([1, 0, 1], ["b", "c"])


def hashes(values):
    return SeededHashes(1).of(values)


@given(owners, st.integers(0, 9), st.randoms(use_true_random=False))
def test_one_record_of_each_drawn_person(persons, most, random):
    """And the same ones in the same order, whatever the order of the records is."""
    records = hashes(range(len(persons)))
    drawn = one_of_each(records, hashes(persons), most)
    found = [(persons[at], int(records[at])) for at in np.flatnonzero(drawn.chosen)[drawn.order]]
    assert len({person for person, _ in found}) == len(found) == min(most, len(set(persons)))
    order = list(range(len(persons)))
    random.shuffle(order)
    again = one_of_each(records[order], hashes([persons[at] for at in order]), most)
    assert found == [(persons[order[at]], int(records[order[at]])) for at in np.flatnonzero(again.chosen)[again.order]]


@given(owners, st.integers(0, 9), st.integers(1, 5), st.data())
def test_how_many_records_somebody_has_changes_no_draw_of_the_others(persons, most, further, data):
    last = data.draw(st.sampled_from(persons))
    more = persons + [last] * further
    records = hashes(range(len(more)))
    drawn = one_of_each(records[: len(persons)], hashes(persons), most)
    again = one_of_each(records, hashes(more), most)
    others = np.array(persons) != last
    assert (drawn.chosen[others] == again.chosen[: len(persons)][others]).all()


def test_each_record_of_a_person_is_drawn_as_often():
    """Of a person with one, two and four records, and of whoever has more no more often than others."""
    persons = np.array([0, 1, 1, 2, 2, 2, 2])
    drawn = Counter()
    for seed in range(2_000):
        of = SeededHashes(seed)
        drawn.update(np.flatnonzero(one_of_each(of.of(range(7)), of.of(range(3))[persons], 2).chosen).tolist())
    assert sum(drawn.values()) == 4_000
    for places in ([0], [1, 2], [3, 4, 5, 6]):
        # four standard deviations of a binomial draw
        assert abs(sum(drawn[at] for at in places) - 4_000 / 3) < 4 * math.sqrt(2_000 * 2 / 9)
        share = 4_000 / 3 / len(places)
        assert all(abs(drawn[at] - share) < 4 * math.sqrt(share) for at in places)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-9, 9)), min_size=3, max_size=40))
def test_the_variance_is_the_cluster_robust_one(records):
    """The sandwich of a weighted mean, written down: residuals times weights, summed by person."""
    persons, values = np.array([one for one, _ in records]), np.array([value for _, value in records], float)
    number = np.unique(persons).size
    if number < 2:
        return
    weights = 1.0 / np.bincount(persons)[persons]
    mean = (weights * values).sum() / weights.sum()
    scores = np.bincount(persons, weights=weights * (values - mean))
    robust = (scores**2).sum() / weights.sum() ** 2 * number / (number - 1)
    found = of_mean(means(values, persons), np.ones(number, np.int64))
    half = 1.959963984540054 * math.sqrt(robust)
    assert found.interval == pytest.approx((mean - half, mean + half), abs=1e-9)
    assert found.number == number


def test_the_mean_of_a_person_is_of_the_numbers_there_are():
    found = means(np.array([1.0, np.nan, 4.0, 2.0, np.nan]), np.array([0, 0, 2, 0, 1]))
    assert found.tolist() == [1.5, 4.0]


def test_a_source_without_the_records_that_were_counted_is_refused():
    class Fewer:
        def __init__(self, table):
            self.table, self.schema = table, table.schema

        def batches(self, columns):
            table = self.table.slice(1) if columns == ["mrn"] else self.table
            return iter(table.select(columns).to_batches())

    assert persons_of(Fewer(visits(3)), "mrn").codes.size == visits(3).num_rows - 1
    with pytest.raises(InvalidData, match="the source changed while it was read"):
        run(job(output=None), Fewer(visits()))


def told_of(source, attacker="any-row", usefulness=ASKED, **changes):
    with tempfile.TemporaryDirectory() as folder:
        result = run(job(usefulness, **ATTACKERS[attacker], **changes), source, output=Path(folder) / "release")
        return result.report["usefulness"], result.published["usefulness"], result.table


def test_where_nobody_has_two_records_persons_are_measured_as_records_are(monkeypatch):
    """Persons whose names are such that they are drawn as their records would be."""
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    source, asked = visits(500, rows=(1,)), {**ASKED, "targets": ["ill"], "records": 300, "folds": 2}
    draws = []
    monkeypatch.setattr(measure, "draw", lambda *given, **named: draws.append(draw(*given, **named)) or draws[-1])
    expected = run(stays.job(asked), source.drop_columns("mrn")).report["usefulness"]
    assert entry(expected, "age")["suppressed"] == 0
    names = sorted(source["mrn"].to_pylist(), key=lambda name: int(SeededHashes(SEED).of([name])[0]))
    drawn = np.flatnonzero(draws[0].chosen)[draws[0].order]
    named = dict(zip([*drawn.tolist(), *np.flatnonzero(~draws[0].chosen).tolist()], names, strict=True))
    source = source.set_column(0, "mrn", pa.array([named[place] for place in range(500)]))
    found, told, _ = told_of(source, usefulness=asked)
    assert found["targets"] == expected["targets"]
    assert found["targets"][0]["models"][0]["source"]["accuracy"] > found["targets"][0]["baseline"]
    assert entry(found, "age")["mean_overlap"] == pytest.approx(entry(expected, "age")["mean_overlap"])
    assert entry(found, "age")["labels"] == entry(expected, "age")["labels"]
    assert (found["persons"], told["persons"]) == (500, 500)


@pytest.mark.parametrize("attacker", only(ATTACKERS, lambda name: name == "any-row"))
def test_figures_of_persons_do_not_follow_the_order_of_the_source(attacker):
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    source, asked = visits(400), {**ASKED, "targets": ["ill"], "records": 250, "folds": 2}
    source = source.set_column(1, "age", pa.array(source["age"].to_numpy() // 30 * 30))
    other = source.take(np.random.default_rng(3).permutation(source.num_rows))
    limit = {"suppression_limit": 0.9}
    assert told_of(source, attacker, asked, **limit)[0] == told_of(other, attacker, asked, **limit)[0]


@pytest.mark.parametrize("attacker", only(ATTACKERS, lambda name: name == "any-row"))
def test_a_mean_is_of_the_persons_whose_records_the_file_shows(attacker):
    """Written down again from the source and the labels that the file has enough of."""
    random = np.random.default_rng(4)
    owner = random.permutation(np.repeat(np.arange(400), random.choice([1, 1, 2, 9], 400)))
    age = random.integers(0, 90, owner.size) if attacker == "any-row" else (random.integers(0, 9, 400) * 10 + 5)[owner]
    zips = np.where(owner < 3, "999", "121")
    source = table_of([f"p{one}" for one in owner], age, zips, ["no"] * owner.size, age)
    limit = {"suppression_limit": 0.9}
    found, _, file = told_of(source, attacker, **limit)
    shown = kept(file, source)
    assert 0 < shown.sum() < owner.size
    by_person = {one: (age[shown & (owner == one)], age[shown & (owner == one)] // 10 * 10 + 4.5) for one in set(owner)}
    pairs = np.array([(ages.mean(), labels.mean()) for ages, labels in by_person.values() if ages.size])
    half = 1.959963984540054 * pairs.std(axis=0, ddof=1) / math.sqrt(len(pairs))
    low, high = (pairs.mean(axis=0) - half).max(), (pairs.mean(axis=0) + half).min()
    assert entry(found, "age")["mean_overlap"] == pytest.approx((high - low) * (1 / half / 4).sum())
    assert found["persons"] == len(pairs)
    after = Counter(map(band, age[shown].tolist()))
    assert {one["label"]: one["after"] for one in entry(found, "age")["labels"]} == after
    assert all(one["before"] == one["after"] for one in entry(found, "age")["labels"])


def kept(file, source):
    """Tell which records are in the file, by the cells that it has as often as the source."""
    cells = list(zip(map(band, source["age"].to_pylist()), source["zip"].to_pylist(), strict=True))
    there, whole = (
        Counter(zip(*(file[name].to_pylist() for name in ("age", "zip")), strict=True)),
        Counter(cells),
    )
    assert all(there[cell] in (0, whole[cell]) for cell in whole)
    return np.array([there[cell] > 0 for cell in cells])


HIDDEN = {
    "few records of five persons": (5, [1, 1, 1, 1, 1]),
    "many records of seven persons": (7, [1, 30, 2, 2, 9, 4, 1]),
    "records of one person": (1, [12]),
}


@pytest.mark.parametrize("attacker", only(ATTACKERS, lambda name: name == "any-row"))
def test_nothing_of_a_suppressed_record_enters_any_figure(attacker):
    """Not even of those with all digits: whoever is left out, with whatever values, and however many records."""
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    asked = {**ASKED, "targets": ["ill"], "folds": 2, "records": 200}
    owner = np.repeat(np.arange(200), 2)
    age = (owner % 9) * 10 + owner % 7
    made = {}
    for name, (persons, rows) in HIDDEN.items():
        gone = np.repeat(np.arange(persons), rows)
        table = table_of(
            [f"p{one}" for one in owner] + [f"q{one}" for one in gone],
            [*age, *(gone * 10 + 3)],
            ["121"] * owner.size + [f"9{place:02}" for place in range(gone.size)],
            [*np.where(owner % 3, "yes", "no"), *["yes"] * gone.size],
            [*(owner / 7), *(gone * 1e6)],
        )
        order = np.random.default_rng(len(name)).permutation(gone.size)
        table = pa.concat_tables([table.slice(0, 200), table.slice(400).take(order), table.slice(200, 200)])
        found, told, file = told_of(table, attacker, asked, max_rows=40)
        assert file.num_rows == 400
        made[name] = (found, told)
    assert made["few records of five persons"] == made["many records of seven persons"] == made["records of one person"]


def test_values_are_listed_only_where_enough_persons_must_have_them():
    """Each of a hundred persons has at most four records: twenty records are of five persons at least."""
    persons = np.repeat(np.arange(100), 4)
    rare = np.where(np.arange(400) < 19, "nineteen", np.where(np.arange(400) < 39, "twenty", "frequent"))
    source = table_of([f"p{one}" for one in persons], [40] * 400, ["121"] * 400, rare, [1.0] * 400)
    _, told, _ = told_of(source, usefulness={"columns": ["ill"]})
    assert told["columns"][0]["labels"] == []
    assert set(told["columns"][0]["not_told"]) == {"labels", "before", "mean_overlap", "proportion_overlap"}
    _, told, _ = told_of(source, usefulness={"columns": ["ill"]}, max_rows=4)
    assert [(one["label"], one["after"]) for one in told["columns"][0]["labels"]] == [("frequent", 361), (None, 39)]
    assert "labels" not in told["columns"][0]["not_told"]
