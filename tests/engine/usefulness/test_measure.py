"""Runs that measure their release: what a reader of the file counts, and what nobody may find out."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from engine import run
from engine.usefulness import measure
from engine.usefulness.document import Usefulness
from engine.usefulness.published import suppressed_step
from tests.engine.pipeline.test_document import check_form
from tests.engine.usefulness.conftest import SEED
from tests.engine.usefulness.stays import job, stays
from tests.profiles import examples

DROP = {"output": {"path": "never-written", "suppressed": "drop"}}


def released(job, table, folder):
    """Run in a folder of its own; give the full report, the published one and the file."""
    result = run(job, table, output=folder / "release")
    return result.report["usefulness"], result.published["usefulness"], result.table


def entry(found, name):
    (one,) = (one for one in found["columns"] if one["column"] == name)
    return one


def band(age):
    return f"[{age // 10 * 10}, {age // 10 * 10 + 10}["


@pytest.mark.parametrize("form", [{}, DROP])
def test_counts_are_those_of_source_and_file(tmp_path, form):
    table = stays(rare=40)
    full, told, file = released(job(**form), table, tmp_path)
    before, after = Counter(map(band, table["age"].to_pylist())), Counter(file["age"].to_pylist())
    for one in entry(full, "age")["labels"]:
        if "other" not in one:
            assert (one["before"], one["after"]) == (before[one["label"]], after[one["label"]])
    hidden = 600 - sum(count for label, count in after.items() if label != "*")
    assert entry(full, "age")["suppressed"] == entry(told, "age")["suppressed"] == hidden > 11
    ill = {one["label"]: one["after"] for one in entry(told, "ill")["labels"]}
    assert ill == Counter(file["ill"].to_pylist())
    assert entry(told, "ill")["suppressed"] == (hidden if form else 0)


def test_overlaps_are_those_of_the_formula(tmp_path):
    """The middle of an interval of whole numbers is 4.5 above its begin.

    Numbers beyond those of the file count as its nearest.
    """
    table = stays(rare=40)
    # the first record is of a rare ZIP code, and left out
    table = table.set_column(3, "days", pa.array([99.0, *table["days"].to_pylist()[1:]]))
    full, _, file = released(job(**DROP), table, tmp_path)

    def interval(values):
        half = 1.959963984540054 * np.std(values, ddof=1) / math.sqrt(len(values))
        return np.mean(values) - half, np.mean(values) + half

    def overlap(one, other):
        both = min(one[1], other[1]) - max(one[0], other[0])
        return (both / (one[1] - one[0]) + both / (other[1] - other[0])) / 2

    middles = [int(label[1:].split(",")[0]) + 4.5 for label in file["age"].to_pylist()]
    expected = overlap(interval(table["age"].to_pylist()), interval(middles))
    assert entry(full, "age")["mean_overlap"] == pytest.approx(expected)
    shown = file["days"].to_pylist()
    assert max(table["days"].to_pylist()) > max(shown)
    days = overlap(interval(np.clip(table["days"].to_pylist(), min(shown), max(shown))), interval(shown))
    assert entry(full, "days")["mean_overlap"] == pytest.approx(days)
    shares = []
    for label in ("yes", "no"):
        two = []
        for values in (table["ill"].to_pylist(), file["ill"].to_pylist()):
            share = values.count(label) / len(values)
            half = 1.959963984540054 * math.sqrt(share * (1 - share) / len(values))
            two.append((share - half, share + half))
        shares.append(overlap(*two))
    assert entry(full, "ill")["proportion_overlap"] == pytest.approx(np.mean(shares))
    assert entry(full, "ill")["least_proportion_overlap"] == pytest.approx(min(shares))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 50), st.sampled_from([{}, DROP]))
def test_nobody_solves_for_suppressed_records(seed, rare, form):
    """The bounds of each label, by who has the file, the report and the rule: none or many, and never few for sure."""
    with tempfile.TemporaryDirectory() as folder:
        _, told, _ = released(job(**form), stays(300, seed, rare), Path(folder))
    for one in told["columns"]:
        gone, step = one["suppressed"], one["step"]
        assert step == suppressed_step(gone, 5)
        assert all(label["after"] >= 5 for label in one["labels"])
        hidden = [label["before"] - label["after"] for label in one["labels"]]
        assert sum(hidden) + one["untold"] == gone
        if step is None:
            assert sum(hidden) == 0
            continue
        room = step - 1
        for count in hidden:
            least = count + max(0, one["untold"] - (len(hidden) - 1) * room)
            assert least == 0 or least >= 5
            assert count + min(room, one["untold"]) >= 5


def test_at_the_root_all_records_have_one_label_and_none_is_suppressed():
    roots = {
        **job().document()["attributes"],
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "minimum_level": 5},
        "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "minimum_level": 1},
    }
    this = job({"columns": ["age", "zip"]}, attributes=roots, allow_empty_information=True)
    for one in run(this, stays(100)).published["usefulness"]["columns"]:
        assert one["labels"] == [{"label": "*", "before": 100, "after": 100}]
        assert one["suppressed"] == one["untold"] == 0


def test_how_many_few_records_were_left_out_changes_nothing(tmp_path):
    """One record, or four others, that nobody else is like: the figures are those of the rest."""
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    kept = stays(rare=0)
    told = []
    for number, (age, zips, ill, days) in enumerate(
        [([3], ["977"], ["yes"], [99.0]), ([80, 4, 55, 21], ["955", "966", "977", "944"], ["no"] * 4, [1.0] * 4)]
    ):
        table = pa.concat_tables([kept, pa.table({"age": age, "zip": zips, "ill": ill, "days": days})])
        asked = {"columns": ["age", "zip", "ill", "days"], "targets": ["ill"], "folds": 2, "records": 400}
        (tmp_path / str(number)).mkdir()
        _, found, file = released(job(asked, **DROP), table, tmp_path / str(number))
        assert file.num_rows == 600
        told.append(found)
    assert told[0]["restricted"]
    assert told[0] == told[1]


LEFT_OUT = {
    "with a ZIP code that others have": (95.0, "12100"),
    "with a ZIP code between those of others": (95.0, "12150"),
    "with a ZIP code whose label others have": (95.0, "00100"),
    "with a part of a year": (95.5, "12100"),
}


@pytest.mark.parametrize("level", [0, 2])
def test_no_value_of_few_records_left_out_changes_anything(tmp_path, level):
    """All digits are the same: the middle of ages, the order of labels, and what a forest draws."""
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    (tmp_path / "areas.csv").write_text("001;1\n121;1000000\n122;1\n")
    zips = {"builder": "zip", "populations": str(tmp_path / "areas.csv")}
    attributes = {
        **job().document()["attributes"],
        "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [10], "type": "decimal"}},
        "zip": {"role": "quasi-identifying", "hierarchy": zips, "minimum_level": level, "maximum_level": level},
    }
    attributes["age"] |= {"minimum_level": 1, "maximum_level": 1}
    asked = {"columns": ["age", "zip"], "targets": ["ill"], "folds": 2, "records": 400}
    kept = stays(rare=0)
    kept = kept.set_column(0, "age", kept["age"].cast(pa.float64()))
    kept = kept.set_column(1, "zip", pa.array([f"{text}00" for text in kept["zip"].to_pylist()]))
    made = []
    for age, code in LEFT_OUT.values():
        table = pa.concat_tables([kept, pa.table({"age": [age], "zip": [code], "ill": ["no"], "days": [1.0]})])
        result = run(job(asked, attributes=attributes, **DROP), table, output=tmp_path / "release")
        assert result.table.num_rows == 600
        made.append(result.report["usefulness"])
    assert made == [made[0]] * len(made)
    if level:
        assert [one["label"] for one in entry(made[0], "zip")["labels"]] == ["000", "121"]


@pytest.mark.parametrize("unseen", ["error", "root"])
def test_no_figure_follows_the_order_of_the_source(unseen, monkeypatch):
    """All digits are the same: who is drawn, folds and trees, and the last digit of a mean."""
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    asked = {"columns": ["age", "zip", "ill", "days"], "targets": ["ill", "days"], "folds": 2, "records": 300}
    attributes = job().document()["attributes"]
    attributes["age"] |= {"unseen": unseen, "hierarchy": {**attributes["age"]["hierarchy"], "upper": 80}}
    table = stays(600, rare=40)
    if unseen == "error":
        table = table.set_column(0, "age", pa.array(np.minimum(table["age"].to_numpy(), 79)))
    made = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(table.num_rows) if seed else np.arange(table.num_rows)
        made.append(run(job(asked, attributes=attributes), table.take(order)).report["usefulness"])
    assert made == [made[0]] * 3
    monkeypatch.setattr(measure, "new_seed", lambda: SEED + 1)
    other = run(job(asked, attributes=attributes), table).report["usefulness"]
    assert other["targets"] != made[0]["targets"]


def test_each_record_of_a_local_recoding_is_seen_as_it_is_released(tmp_path):
    wide = {"age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}}}
    zips = {"zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 3}}}
    attributes = {**job().document()["attributes"], **wide, **zips}
    this = job({"columns": ["age", "zip", "ill"]}, transformation="local-recoding", attributes=attributes)
    full, told, file = released(this, stays(400), tmp_path)
    assert entry(told, "age")["labels"] == entry(told, "zip")["labels"] == []
    middles = [_middle(label) for label in file["age"].to_pylist()]
    middles = [one for one in middles if one is not None]
    ages = stays(400)["age"].to_pylist()
    half, other = (1.959963984540054 * np.std(one, ddof=1) / math.sqrt(len(one)) for one in (ages, middles))
    low = max(np.mean(ages) - half, np.mean(middles) - other)
    high = min(np.mean(ages) + half, np.mean(middles) + other)
    assert entry(full, "age")["mean_overlap"] == pytest.approx((high - low) / 4 * (1 / half + 1 / other))
    assert [one["after"] for one in entry(told, "ill")["labels"]] == [
        file["ill"].to_pylist().count(value) for value in ("no", "yes")
    ]


def _middle(label):
    """Ages by themselves, bands of whole years, and an open band by its begin."""
    if label == "*":
        return None
    first, _, last = label.rstrip("+").partition("-")
    return (int(first) + int(last)) / 2 if last else float(first)


def test_the_report_has_the_form_that_is_declared(tmp_path):
    asked = {"columns": ["age", "ill"], "targets": ["ill"], "folds": 2, "records": 200}
    this = job(asked)
    pytest.importorskip("sklearn", reason="needs the extra 'usefulness'")
    result = run(this, stays(300), output=tmp_path / "release")
    check_form(result.report, this.document())
    found = TypeAdapter(Usefulness).validate_python(result.published["usefulness"], strict=True, extra="forbid")
    assert json.loads((tmp_path / "release" / "report.json").read_text())["usefulness"] == found
    assert "usefulness" in result.report["timings"]


def test_without_the_key_nothing_is_measured():
    document = job().document()
    del document["usefulness"]
    result = run(document, stays())
    assert "usefulness" not in result.report
    assert "usefulness" not in result.report["timings"]
