"""The tables of docs/hierarchies.md say what the builders do."""

from __future__ import annotations

import re

import pytest

from engine.hierarchy.builders.date import UNITS
from engine.hierarchy.builders.zip_areas import census_areas
from tests.places import ROOT

DOCUMENT = ROOT / "docs" / "hierarchies.md"


def columns(section: str, header: str) -> dict[str, list[str]]:
    """Read a table of a section: the labels below each head, empty cells left out."""
    text = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    table = text[text.index(header) :].split("\n\n")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    heads, _, *rows = lines
    cells = zip(*rows, strict=True)
    return {
        head: [label for cell in column for label in re.findall(r"`(.+)`", cell)]
        for head, column in zip(heads, cells, strict=True)
    }


@pytest.mark.parametrize(
    ("section", "header", "keys"),
    [
        ("age", "| level | 37", {}),
        (
            "interval",
            "| level | 23",
            {"widths": [5, 10, 20], "lower": 18, "upper": 100, "open_ended": True},
        ),
        (
            "icd-10-cm",
            "| unit | E11.65",
            {"levels": ["subcategory-6", "subcategory-5", "subcategory-4", "category", "block", "chapter"]},
        ),
        ("zip", "| level | 02139", {}),
        ("atc", "| unit | C09AA02", {}),
        (
            "order",
            "| level | IIA",
            {
                "values": ["0", "I", "IIA", "IIB", "III", "IV"],
                "fanouts": [2, 2],
                "names": [[], ["early", "late"]],
            },
        ),
        (
            "grouping",
            "| level | SE",
            {
                "groups": [{"north": ["DK", "SE"], "south": ["IT", "ES"]}, {"Europe": ["north", "south"]}],
                "other": "elsewhere",
            },
        ),
    ],
)
def test_examples(build, section, header, keys):
    documented = {head: labels for head, labels in columns(section, header).items() if head not in {"level", "unit"}}
    rows = {row[0]: list(row) for row in build(builder=section, **keys).rows(list(documented))}
    assert len(documented) >= 3
    for value, labels in documented.items():
        assert rows[value] == (labels if labels[-1] == "*" else [*labels, "*"])


def test_redaction(build):
    one_each, in_steps = [labels for head, labels in columns("redaction", "| level |").items() if head != "level"]
    assert build(builder="redaction", length=5).rows(["02139"]) == [tuple(one_each)]
    assert build(builder="redaction", length=5, steps=[2, 1]).rows(["02139"]) == [tuple(in_steps)]


def test_restricted_zip_areas():
    text = DOCUMENT.read_text(encoding="utf-8").split("\n## zip\n")[1].split("\n## ")[0]
    lists = [set(re.findall("[0-9]{3}", found)) for found in re.findall(r"(?:\b[0-9]{3},\s){10,}[0-9]{3}", text)]
    every = census_areas(2020, -1)
    assert lists == [every - census_areas(year, 20_000) for year in (2020, 2000)]
    assert [len(every), *map(len, lists)] == [894, 18, 17]


def test_dates(build):
    documented = columns("date", "| unit |")
    assert documented["unit"] == list(UNITS)
    for unit, label in zip(documented["unit"], documented["2026-03-01"], strict=True):
        assert build(builder="date", levels=[unit]).rows(["2026-03-01"]) == [("2026-03-01", label, "*")]
