"""The codebook against the released file, counted with pandas, and against the values that labels stand for."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import run
from engine.codebook.document import MOST
from engine.hierarchy.builders.age import Age
from engine.hierarchy.builders.cuts import CutPoints
from engine.hierarchy.builders.date import Date
from engine.hierarchy.builders.equal_width import EqualWidth
from engine.hierarchy.builders.interval import Interval
from engine.hierarchy.builders.order import Order
from engine.hierarchy.policy_groups import PolicyGroups
from engine.hierarchy.registry import Source
from tests.engine.pipeline.test_replaced import job as replaced_job
from tests.engine.pipeline.test_replaced import visits

NUMBERS = [Decimal(text) for text in ("-7", "-0.5", "0", "3", "4.25", "19", "20", "89", "90", "120", "150")]
DAYS = ["0001-01-01", "0009-12-31", "1999-12-31", "2000-02-29", "2024-12-30", "2026-03-01", "9999-12-31"]
BUILDERS = [
    Age(),
    Age(top_code="none", widths=(5,)),
    Age(top_code=83, widths=(4, 20)),
    Interval(widths=(5, 10), lower=0, upper=120, open_ended=True),
    Interval(widths=(5, 50), origin=3),
    Interval(type="decimal", widths=("0.5", 2), lower=-1, upper=100),
    CutPoints(cuts=(("3.5", 20, 80, 120), (20,))),
    EqualWidth(lower=0, upper=120, bins=(24, 6)),
    Date(),
    Date(levels=("day", "month", "5-years")),
    Date(levels=("day", "week")),
]


def number_or_day(text):
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return Decimal(text)


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_value_is_inside_the_ends_of_its_labels(builder):
    for value, *labels in builder.rows([*map(str, NUMBERS), *DAYS]):
        at = number_or_day(value)
        assert builder.extent(value, 0) == (at, at)
        for level, label in enumerate(labels, start=1):
            extent = builder.extent(label, level)
            if label == "*":
                assert extent is None
                continue
            begin, below = extent
            # a unit of the calendar may begin or end where no date can be
            assert (begin, below) != (None, None) or "0001" in value
            assert begin is None or begin <= at
            assert below is None or at < below or begin == below == at


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_label_says_all_that_it_stands_for(builder):
    """Every value between the ends has the label: there is no narrower pair of ends."""
    values = [str(number) for number in range(-20, 140)]
    values += [str(dt.date(1999, 12, 1) + dt.timedelta(days)) for days in (*range(120), *range(120, 12_000, 91))]
    rows = builder.rows(values)
    for level in range(1, builder.level_count - 1):
        of_label: dict[str, list] = {}
        for row in rows:
            of_label.setdefault(row[level], []).append(number_or_day(row[0]))
        for label, members in of_label.items():
            begin, below = builder.extent(label, level)
            inside = [
                at
                for row in rows
                for at in [number_or_day(row[0])]
                if (begin is None or begin <= at) and (below is None or at < below or begin == below == at)
            ]
            assert sorted(inside) == sorted(members), label


def test_labels_are_in_their_order():
    severity = ("mild", "medium", "severe", "fatal")
    order = Order(values=severity, fanouts=(2,), names=(("z", "a"),))
    places = [order.place(label, 0) for label in severity]
    assert places == sorted(places)
    assert order.place("z", 1) < order.place("a", 1)
    assert order.place("*", 2) is None
    labels = ["< 0", "[0, 5[", "[5, 10[", "[10, 15[", ">= 120"]
    places = [BUILDERS[3].place(label, 1) for label in labels]
    assert places == sorted(places)
    groups = [{"from": "9", "to": "19"}, {"from": "20", "to": "29"}, {"value": "100"}]
    policy = PolicyGroups(hierarchy=Age(), groups=groups, order="integer")
    assert [policy.place(label, 1) for label in ("9-19", "20-29", "100")] == [0, 1, 2]
    assert policy.place("9", 0) < policy.place("19", 0)
    assert Date().place("2019", 3) < Date().place("2020", 3)


def test_every_builder_says_how_its_labels_are_read():
    """But those whose labels are values, or are given in the job or in a file."""
    speaking = {"csv", "flat", "grouping"}
    builders = {source.model_fields["builder"].default: source for source in Source.__args__}
    assert {name for name, source in builders.items() if not source.notation} == speaking


def job(tmp_path, **changes):
    return {
        "name": "visits",
        "unit": "record",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}},
            "pain": {
                "role": "quasi-identifying",
                "hierarchy": {"builder": "order", "values": ["none", "some", "much"], "fanouts": [2]},
            },
            "ward": {"role": "insensitive"},
            "outcome": {"role": "sensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "suppression_limit": 0.5,
        "output": {"path": str(tmp_path / "release")},
        **changes,
    }


people = st.tuples(
    st.integers(0, 110), st.sampled_from(["none", "some", "much", None]), st.sampled_from(["x", "y", None])
)


@given(records=st.lists(people, min_size=12, max_size=40), form=st.sampled_from(["star", "drop"]))
def test_every_figure_is_a_count_of_the_file(tmp_path_factory, records, form):
    folder = tmp_path_factory.mktemp("codebook")
    table = pd.DataFrame(records, columns=["age", "pain", "outcome"]).assign(mrn=range(len(records)), ward="w")
    table["ward"] = table["ward"].where(table.index % 2 == 0)
    wanted = job(folder, allow_empty_information=True, suppression_limit=1.0)
    wanted["output"]["suppressed"] = form
    release = run(wanted, table=table).output
    told = json.loads((release / "codebook.json").read_text())
    report = json.loads((release / "report.json").read_text())
    file = pd.read_parquet(release / "data.parquet")
    assert [column["column"] for column in told["columns"]] == list(file.columns)
    assert told["records"] == len(file)
    kept_as_stars = report["suppressed_class"]["form"] == "star"
    all_stars = (file[["age", "pain"]] == "*").all(axis=1).sum()
    assert told["suppressed"] == (all_stars if kept_as_stars else 0)
    assert told["left_out"] == (report["suppressed_class"]["form"] == "drop")
    for column in told["columns"]:
        values = file[column["column"]]
        if column["role"] == "insensitive":
            assert set(column) == {"column", "type", "role", "what"}
            continue
        assert column["missing"] == values.isna().sum()
        assert column["distinct"] == values.nunique()
        if column["role"] == "sensitive":
            assert "labels" not in column
            continue
        assert column["level"] == report["solution"]["levels"][column["column"]]
        assert {one["label"]: one["records"] for one in column["labels"]} == values.value_counts().to_dict()
        assert [one["label"] for one in column["labels"] if one["label"] == "*"] == [
            one["label"] for one in column["labels"][-1:] if one["label"] == "*"
        ]


def test_a_column_of_very_many_labels_has_only_their_number(tmp_path):
    table = pd.DataFrame({"code": [f"{i // 3:05}" for i in range(3 * MOST + 3)]})
    attributes = {"code": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 5}}}
    release = run(job(tmp_path, attributes=attributes, suppression_limit=0), table=table).output
    (column,) = json.loads((release / "codebook.json").read_text())["columns"]
    assert column["what"] == "exact"
    assert column["distinct"] == MOST + 1
    assert "labels" not in column


def test_pseudonyms_and_moved_dates_are_no_values_of_the_source(tmp_path):
    replaced = replaced_job(output={"path": str(tmp_path / "release")})
    release = run(replaced, table=visits()).output
    told = json.loads((release / "codebook.json").read_text())
    what = {column["column"]: column["what"] for column in told["columns"]}
    assert {name: what[name] for name in ("mrn", "visit", "admitted", "discharged", "diagnosis")} == {
        "mrn": "pseudonym",
        "visit": "pseudonym",
        "admitted": "shifted",
        "discharged": "shifted",
        "diagnosis": "as-in-the-source",
    }
    assert {column["column"] for column in told["columns"] if column.get("shifted")} == {"admitted", "discharged"}
    text = (release / "README.md").read_text()
    assert "Records with the same pseudonym (mrn, visit) belong together" in text
    assert "- admitted: its dates were moved" in text
    assert "does not tell which" not in text
    assert "cannot be joined" not in text
