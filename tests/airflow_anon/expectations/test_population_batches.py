"""The people of a population read in many batches: the same counts as by hand, the first of equal ones released."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_anon.expectations import file_texts
from airflow_anon.expectations import population as module
from airflow_anon.expectations.listed_people import listed_rows
from airflow_anon.expectations.population import people_by_labels
from engine import InvalidData
from tests.profiles import examples

TEXT = st.sampled_from(["a", "b", "c"])
PEOPLE = st.lists(st.tuples(TEXT, TEXT, st.sampled_from(["x", "y", "", None])), max_size=25)
GROUPS = {"builder": "grouping", "groups": [{"ab": ["a", "b"], "c": ["c"]}]}
ATTRIBUTE = {"role": "quasi-identifying", "hierarchy": GROUPS}


def population_in(folder, people, subset):
    columns = [list(column) for column in zip(*people, strict=True)] or [[], [], []]
    table = {name: pa.array(column, pa.string()) for name, column in zip(("p", "q", "id"), columns, strict=True)}
    pq.write_table(pa.table(table), folder / "people.parquet")
    pq.write_table(pa.table({"id": pa.array(subset, pa.string())}), folder / "subset.parquet")
    return {
        "people": {"path": str(folder / "people.parquet"), "delimiter": ","},
        "subset": {"path": str(folder / "subset.parquet"), "delimiter": ","},
        "attributes": {"p": ATTRIBUTE, "q": ATTRIBUTE},
        "levels": {"p": 1, "q": 0},
    }


@settings(deadline=None, max_examples=examples(200))
@given(PEOPLE, st.data())
def test_any_batches_give_what_counting_by_hand_gives(people, data):
    subset = [row[2] for row in people if data.draw(st.booleans())]
    left, expected = Counter(key or "" for key in subset), Counter()
    for p, q, key in people:
        label = (p.replace("a", "ab") if p != "b" else "ab", q)
        expected[label, "people"] += 1
        if left[key or ""]:
            left[key or ""] -= 1
            expected[label, "released"] += 1
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_texts, "_BATCH_ROWS", 4)
        patch.setattr(module, "_WAITING", 2)
        population = population_in(Path(folder), people, subset)
        found = people_by_labels(population).to_pylist()
        assert listed_rows(population) == len(subset)
    counted = Counter({((row["0"], row["1"]), name): row[name] for row in found for name in ("people", "released")})
    assert +counted == +expected
    assert len(found) == len({label for label, _ in expected})


def test_rows_that_are_no_records_are_counted_over_all_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(file_texts, "_BATCH_ROWS", 2)
    population = population_in(tmp_path, [("a", "b", "x")] * 5, ["x"] * 7 + ["z"])
    with pytest.raises(InvalidData, match="subset: rows that are no records of the source: 3"):
        people_by_labels(population)
