"""The order of a release tells nothing but the labels: not the order of the source, nor who left since last night."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.tables.release.release_order
from engine import load_job, run
from engine.tables.release.release_order import in_release_order

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])


def batches(places, size=3):
    """Give records numbered by their place in the source, in batches."""
    for start in range(0, len(places), size):
        part = np.array(places[start : start + size], np.int64)
        numbers = list(range(start, start + part.size))
        yield pa.RecordBatch.from_pydict({"n": numbers, "text": [str(n) for n in numbers]}, SCHEMA), part


def ordered(places, folder=None, most=1 << 18):
    """Return the numbers of the records as they come out."""
    sizes = np.bincount(places, minlength=1).astype(np.int64)
    parts = list(in_release_order(batches(places), sizes, SCHEMA, folder, most))
    assert [place for _, part in parts for place in part.tolist()] == sorted(places)
    return [row for part, _ in parts for row in part.to_pylist()]


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 12), st.booleans())
def test_records_come_whole_and_by_class(tmp_path_factory, places, most, in_files):
    folder = tmp_path_factory.mktemp("parts") if in_files else None
    found = ordered(places, folder, most)
    assert sorted(row["n"] for row in found) == list(range(len(places)))
    assert all(row["text"] == str(row["n"]) for row in found)
    assert [places[row["n"]] for row in found] == sorted(places)
    assert folder is None or list(folder.iterdir()) == []


def test_every_order_within_a_class_is_as_likely(tmp_path):
    """Chi square of the 24 orders of four records, in one part and in several; 60 is exceeded once in 30,000 times."""
    for most in (100, 1):
        runs = 600
        seen = Counter(tuple(row["n"] for row in ordered([0] * 4, tmp_path, most)) for _ in range(runs))
        expected = runs / math.factorial(4)
        assert sum((seen[order] - expected) ** 2 / expected for order in seen) + expected * (24 - len(seen)) < 60


def test_a_part_at_a_time_is_in_memory(tmp_path, monkeypatch):
    """Of 2,000 records, in classes of 1 to 1,000, no part has much more than the 100 that it may have."""
    parts = []
    close = engine.tables.release.release_order._File.close

    def watched(self):
        table = close(self)
        parts.append(table.num_rows)
        return table

    monkeypatch.setattr("engine.tables.release.release_order._File.close", watched)
    places = [0] * 1000 + [1] * 400 + list(range(2, 602))
    assert len(ordered(places, tmp_path, 100)) == 2000
    assert sum(parts) == 2000
    assert max(parts) < 200
    assert len(parts) < 40


JOB = {
    "name": "people",
    "attributes": {
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [20]}, "minimum_level": 1},
        "note": {"role": "insensitive", "accept": "unique"},
    },
    "privacy": [{"model": "k-anonymity", "k": 5}],
}


def people(ages):
    return pa.table({"age": ages, "note": [f"n{n}" for n in range(len(ages))]})


def guessed(table, ages):
    """Guess exact ages as one who knows their distribution: the n-th record of a class has its n-th age.

    Returns the share of records whose age is right; `note` says which record it is.
    """
    by_label = {}
    for label, note in zip(table["age"].to_pylist(), table["note"].to_pylist(), strict=True):
        by_label.setdefault(label, []).append(int(note[1:]))
    right = 0
    for members in by_label.values():
        known = sorted(ages[n] for n in members)
        right += sum(ages[n] == guess for n, guess in zip(members, known, strict=True))
    return right / len(ages)


@pytest.mark.parametrize("most", [1 << 18, 50])
def test_the_age_of_a_record_does_not_follow_from_its_place(tmp_path, monkeypatch, most):
    """In a source sorted by age, guessing by place is right for everybody; after the release, for one in twenty."""
    monkeypatch.setattr("engine.tables.release.release_order.in_release_order.__defaults__", (most,))
    ages = sorted(int(age) for age in np.random.default_rng(4).integers(20, 60, 2000))
    source = people(ages)
    assert guessed(source.set_column(0, "age", pa.array([f"{age // 20}" for age in ages])), ages) == 1
    released = run(load_job({**JOB, "output": {"path": str(tmp_path / "release")}}), source).table
    assert guessed(released, ages) < 0.1


def test_two_nights_do_not_join_row_by_row():
    """Yesterday's and today's records of a class are in two orders: equal places have other records."""
    source = people([20] * 500)
    nights = [run(load_job(JOB), source).table["note"].to_pylist() for _ in range(2)]
    assert sum(map(str.__eq__, *nights)) < 20


def test_a_class_that_is_starred_and_the_suppressed_records_are_mixed(tmp_path):
    """Both are `*` throughout; which of them a record was does not follow from its place."""
    (tmp_path / "age.csv").write_text("".join(f"{age};*\n" for age in range(20, 30)))
    age = {
        "role": "quasi-identifying",
        "hierarchy": str(tmp_path / "age.csv"),
        "unseen": "suppress",
        "minimum_level": 1,
    }
    job = load_job(
        {
            **JOB,
            "attributes": {**JOB["attributes"], "age": age},
            "suppression_limit": 0.5,
            "allow_empty_information": True,
        }
    )
    table = run(job, people([25] * 100 + [99] * 50)).table
    assert set(table["age"].to_pylist()) == {"*"}
    first = [int(note[1:]) >= 100 for note in table["note"].to_pylist()[:75]]
    assert 5 < sum(first) < 45


def test_a_part_of_long_texts_has_fewer_records(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.tables.release.release_order.PART_BYTES", 20_000)
    batch = pa.RecordBatch.from_pydict({"text": [f"{number:01000d}" for number in range(400)]})
    places = np.arange(400)
    ordered = list(in_release_order([(batch, places)], np.ones(400, np.int64), batch.schema, tmp_path))
    assert max(found.num_rows for found, _ in ordered) <= 20
    assert [text for found, _ in ordered for text in found.column(0).to_pylist()] == batch.column(0).to_pylist()
    assert list(tmp_path.iterdir()) == []


def test_row_groups_follow_from_the_file_alone(tmp_path, monkeypatch):
    """Neither how long the texts are in the first batch of a source shows in them, nor that it is left out."""
    monkeypatch.setattr("engine.tables.release.release_order.PART_BYTES", 10_000)
    monkeypatch.setattr("engine.tables.release.row_groups.in_row_groups.__defaults__", (200, 10_000))
    attributes = {"age": JOB["attributes"]["age"], "note": {"role": "insensitive"}}
    job = load_job({**JOB, "attributes": attributes, "suppression_limit": 0.1})

    def sizes(*parts):
        tables = [pa.table({"age": ages, "note": notes}) for ages, notes in parts]
        source = pa.Table.from_batches([batch for one in tables for batch in one.to_batches(max_chunksize=50)])
        assert run(job, source, tmp_path / "release").report["released"] == 600
        data = pq.read_metadata(tmp_path / "release/data.parquet")
        return [data.row_group(group).num_rows for group in range(data.num_row_groups)]

    long, short, outliers = ([25] * 300, ["n" * 100] * 300), ([45] * 300, ["n"] * 300), ([95, 96], ["n", "n"])
    found = [sizes(long, short), sizes(short, long), sizes(outliers, long, short)]
    assert found == [found[0]] * 3
    assert len(found[0]) > 3
    assert max(found[0]) <= 200
