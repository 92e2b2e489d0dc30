"""A value that no earlier night had finds its place by its builder, and the places of all others stay as they were."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from engine.hierarchy.registry import AnySource

BUILDERS = TypeAdapter(AnySource)
NEW = {
    "age": ({"builder": "age"}, "20", ("87", "87", "85-89", "80-89", "80-89", "*")),
    "atc": ({"builder": "atc"}, "A10BA02", ("C09AA05", "C09AA", "C09A", "C09", "C", "*")),
    "icd-10-cm": ({"builder": "icd-10-cm"}, "E11.9", ("I10", "I10", "I10-I1A", "chapter 9", "*")),
    "icd-10": ({"builder": "icd-10"}, "E11.9", ("I99.77", "I99", "chapter 9", "*")),
    "icd-10-gm": ({"builder": "icd-10-gm"}, "E11.9", ("U99.0", "U99", "chapter 22", "*")),
    "icd-9-cm": ({"builder": "icd-9-cm"}, "250.00", ("401.9", "401", "chapter 7", "*")),
    "zip": ({"builder": "zip"}, "02139", ("99501", "9950", "995", "9", "*")),
    "postcode": ({"builder": "postcode", "country": "DE"}, "10115", ("80331", "803", "80", "8", "*")),
    "date": (
        {"builder": "date"},
        "2026-01-01",
        ("2031-12-31", "2031-12", "2031-Q4", "2031", "2030-2039", "*"),
    ),
    "interval": ({"builder": "interval", "type": "integer", "widths": [10]}, "3", ("17", "[10, 20[", "*")),
    "redaction": ({"builder": "redaction", "length": 2}, "02", ("55", "5*", "*")),
    "flat": ({"builder": "flat"}, "F", ("X", "*")),
    "grouping": (
        {"builder": "grouping", "groups": [{"warm": ["red"], "cold": ["blue"]}], "other": "else"},
        "red",
        ("green", "else", "*"),
    ),
}
UNKNOWN = {"age": "-3", "atc": "hello", "icd-10-cm": "I10.99X", "icd-10": "zz", "zip": "abc", "date": "soon"}


@pytest.mark.parametrize("name", NEW)
def test_a_new_value_of_the_system_has_its_place(name):
    written, known, row = NEW[name]
    builder = BUILDERS.validate_python(written)
    before = {one[0]: one for one in builder.rows([known])}
    after = {one[0]: one for one in builder.rows([known, row[0]])}
    assert after[row[0]] == row
    assert after[known] == before[known]
    assert all(builder.is_label(label, level) for level, label in enumerate(row))


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_of_the_system_has_none(name):
    written, known, _ = NEW[name]
    builder = BUILDERS.validate_python(written)
    assert UNKNOWN[name] not in {row[0] for row in builder.rows([known, UNKNOWN[name]])}
