"""The example that each builder offers of itself: labels of one leaf, right for whatever settings it has."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from engine.hierarchy.policy_groups import AnyHierarchy
from engine.hierarchy.registry import Source
from tests.engine.hierarchy.test_concepts import LOINC, SNOMED

SIZES = ["mild", "moderate", "severe", "fatal", "unknown"]
GROUPS = [{"none": ["0"], "some": ["1", "2"], "many": ["3"]}, {"few": ["none", "some"], "many": ["many"]}]
PLAIN = {
    "age": {},
    "atc": {"levels": ["pharmacological-subgroup", "main-group"]},
    "csv": {},
    "cuts": {"cuts": [[1, 5, 9], [5]]},
    "date": {"levels": ["day", "month", "decade"]},
    "equal-width": {"lower": 0, "upper": 10, "bins": [10, 2]},
    "flat": {},
    "grouping": {"groups": GROUPS, "other": "odd"},
    "icd-10": {},
    "icd-10-gm": {"levels": ["subcategory-4", "category"]},
    "icd-9-cm": {},
    "icd-10-cm": {"levels": ["subcategory-5", "category", "block", "chapter"]},
    "interval": {"widths": [5, 10]},
    "loinc": {"depths": [3, 1]},
    "order": {"values": SIZES, "fanouts": [2, 2]},
    "postcode": {"country": "GB"},
    "redaction": {"length": 5},
    "snomed-ct": {},
    "zip": {"census": 2000},
}


def made(**keys):
    return TypeAdapter(AnyHierarchy).validate_python(keys)


def check(builder):
    """Each label of the example can stand at its level, and is the one the builder gives its value there."""
    labels = builder.example()
    assert len(labels) == builder.level_count
    assert all(builder.is_label(label, level) for level, label in enumerate(labels))
    assert labels in builder.rows([labels[0]])
    return labels


def test_every_builder_has_an_example(tmp_path):
    files = {"csv": tmp_path / "h.csv", "snomed-ct": tmp_path / "snomed.txt", "loinc": tmp_path / "loinc.csv"}
    files["csv"].write_text("a;A;*\nb;A;*\nc;C;*\n")
    files["snomed-ct"].write_text(SNOMED)
    files["loinc"].write_text(LOINC)
    assert set(PLAIN) == {kind.model_fields["builder"].default for kind in get_args(Source)}
    for name, settings in PLAIN.items():
        builder = made(builder=name, **settings, **({"path": str(files[name])} if name in files else {}))
        assert None not in check(builder)


def test_a_file_gives_the_labels_of_its_middle_row(tmp_path):
    (tmp_path / "h.csv").write_text("a;A;*\nb;B;*\nc;C;*\n")
    assert made(path=str(tmp_path / "h.csv")).example() == ("b", "B", "*")


@given(st.integers(1, 150), st.one_of(st.none(), st.integers(1, 150), st.just("none")))
def test_ages(maximum, top_code):
    keys = {"maximum": maximum} | ({} if top_code is None else {"top_code": top_code})
    try:
        builder = made(builder="age", **keys)
    except ValidationError:
        assume(False)
    check(builder)


NUMBER = st.integers(-1000, 1000) | st.decimals(-1000, 1000, places=3).map(str)


@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=3),
    st.sampled_from([1, 7, "0.5", "0.125"]),
    NUMBER,
    st.none() | NUMBER,
    st.none() | NUMBER,
    st.booleans(),
    st.sampled_from(["integer", "decimal"]),
)
def test_intervals(factors, finest, origin, lower, upper, open_ended, kind):
    widths = [finest]
    for factor in factors:
        widths.append(str(float(widths[-1]) * factor).removesuffix(".0"))
    bounds = {key: bound for key, bound in (("lower", lower), ("upper", upper)) if bound is not None}
    try:
        keys = {"type": kind, "widths": widths, "origin": origin, "open_ended": open_ended, **bounds}
        builder = made(builder="interval", **keys)
    except ValidationError:
        assume(False)
    labels = check(builder)
    # the example lies inside the bounds, where a reader sees intervals and not what stands for all beyond
    assert all(label.startswith("[") for label in labels[1:-1])


@given(
    st.integers(1, 30),
    st.sampled_from(["digits", "any"]),
    st.sampled_from("*x17"),
    st.sampled_from(["right-to-left", "left-to-right"]),
)
def test_redaction(length, alphabet, character, direction):
    if alphabet == "digits" and character in "17":
        return
    keys = {"length": length, "alphabet": alphabet, "character": character, "direction": direction}
    check(made(builder="redaction", **keys))


@given(st.lists(st.sampled_from(SIZES), min_size=2, unique=True), st.integers(2, 6))
def test_orders(values, fanout):
    check(made(builder="order", values=values, fanouts=[fanout]))


def policy(hierarchy, groups, **settings):
    return made(builder="policy", hierarchy=hierarchy, groups=groups, **settings)


AGES = {"builder": "age", "maximum": 99}
DATES = {"builder": "date", "levels": ["month", "year"]}


@pytest.mark.parametrize(
    ("builder", "labels"),
    [
        (policy(AGES, [{"from": "0", "to": "17"}, {"value": "18"}], order="integer"), ("18", "18", "*")),
        (policy(AGES, [{"from": None, "to": "17"}], order="integer"), ("17", "*")),
        # no age is named as a group's end that is one: the row in the middle is taken
        (
            policy(AGES, [{"from": "-9", "to": "-1"}, {"from": "0.5", "to": "2.5"}], order="decimal"),
            ("2", "0.5 to 2.5", "*"),
        ),
        (policy(DATES, [{"node": "2020"}, {"node": "2021"}]), ("2020-05-17", "2020", "*")),
        (policy(DATES, [{"node": "1999"}, {"node": "2021"}]), (None, "2021", "*")),
        (policy(DATES, [{"node": "1999"}]), (None, "*")),
        (policy(DATES, [{"node": "1999"}, {"node": "2021", "values": ["2021-03-01"]}]), ("2021-03-01", "2021", "*")),
        (policy(DATES, [{"node": "2021"}, {"value": None}]), (None, "2021", "*")),
    ],
)
def test_a_policy_shows_a_value_that_its_groups_name(builder, labels):
    assert builder.example() == labels
