"""ICD-10-CM: the tree of the classification, on facts that do not come from the package."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidJob
from engine.hierarchy.hierarchy import Hierarchy

SUBCATEGORIES = ["subcategory-6", "subcategory-5", "subcategory-4", "category", "block", "chapter"]

# First letters of the categories of each chapter, as the table of contents of the classification gives them.
LETTERS = {
    1: "AB",
    2: "CD",
    3: "D",
    4: "E",
    5: "F",
    6: "G",
    7: "H",
    8: "H",
    9: "I",
    10: "J",
    11: "K",
    12: "L",
    13: "M",
    14: "N",
    15: "O",
    16: "P",
    17: "Q",
    18: "R",
    19: "ST",
    20: "VWXY",
    21: "Z",
    22: "U",
}


@pytest.fixture(scope="module")
def rows(build):
    return {row[0]: row for row in build(builder="icd-10-cm").rows([])}


@pytest.fixture(scope="module")
def deep(build):
    return {row[0]: row for row in build(builder="icd-10-cm", levels=SUBCATEGORIES).rows([])}


@pytest.mark.parametrize(
    ("code", "labels"),
    [
        ("E11.65", ("E11", "E08-E13", "chapter 4", "*")),
        ("E11", ("E11", "E08-E13", "chapter 4", "*")),
        ("I10", ("I10", "I10-I1A", "chapter 9", "*")),
        ("B99.9", ("B99", "B99-B99", "chapter 1", "*")),
        ("C7A.00", ("C7A", "C7A-C7A", "chapter 2", "*")),
        ("S52.521A", ("S52", "S50-S59", "chapter 19", "*")),
        ("Z3A.01", ("Z3A", "Z30-Z39", "chapter 21", "*")),
        ("U07.1", ("U07", "U00-U49", "chapter 22", "*")),
    ],
)
def test_category_block_chapter(rows, code, labels):
    assert rows[code] == (code, *labels)


@pytest.mark.parametrize(
    ("code", "six_five_four"),
    [
        ("S52.521A", ("S52.521", "S52.52", "S52.5")),
        ("E11.65", ("E11.65", "E11.65", "E11.6")),
        ("I10", ("I10", "I10", "I10")),
        ("S02.0XXA", ("S02.0", "S02.0", "S02.0")),  # placeholders X are no subcategory
        ("T36.0X1A", ("T36.0X1", "T36.0X", "T36.0")),
    ],
)
def test_a_short_code_stays_itself_at_deeper_subcategories(deep, code, six_five_four):
    assert deep[code][1:4] == six_five_four


def test_every_code_nests_and_every_label_is_one_of_its_level(build, deep):
    builder = build(builder="icd-10-cm", levels=SUBCATEGORIES)
    Hierarchy("diagnosis", list(deep.values()))
    assert all(builder.is_label(label, level) for row in deep.values() for level, label in enumerate(row))


def test_a_category_is_three_characters_and_a_chapter_has_its_letters(deep):
    for code, *subcategories, category, _, chapter, _ in deep.values():
        assert code[:3] == category
        assert code[0] in LETTERS[int(chapter.removeprefix("chapter "))]
        assert all(code.startswith(label) and code[:3] == label[:3] for label in subcategories)
    assert {row[-2] for row in deep.values()} == {f"chapter {number}" for number in LETTERS}


def test_the_domain_is_the_same_whatever_the_data_holds(build, rows):
    """Leaves follow the spelling of the data; their number does not, unless it writes a code in both ways."""
    builder = build(builder="icd-10-cm")
    undotted = builder.rows(["E1165", "I10", "no code"])
    assert len(undotted) == len(rows)
    assert ("E1165", "E11", "E08-E13", "chapter 4", "*") in undotted
    assert not any(row[0] in {"E11.65", "no code"} for row in undotted)
    both = [row for row in builder.rows(["E1165", "E11.65"]) if row[0].replace(".", "") == "E1165"]
    assert [row[0] for row in both] == ["E11.65", "E1165"]
    Hierarchy("diagnosis", both)


def test_labels_are_told_apart_by_level(build):
    builder = build(builder="icd-10-cm")
    found = {
        label: [level for level in range(builder.level_count) if builder.is_label(label, level)]
        for label in ("E11.65", "E1165", "E11", "E08-E13", "chapter 4", "*", "B99", "B99-B99", "4", "chapter 23", "e11")
    }
    assert found == {
        "E11.65": [0],
        "E1165": [0],
        "E11": [0, 1],
        "E08-E13": [2],
        "chapter 4": [3],
        "*": [4],
        "B99": [0, 1],
        "B99-B99": [2],
        "4": [],
        "chapter 23": [],
        "e11": [],
    }


@given(text=st.from_regex(r"[A-Z][0-9][0-9A-B](\.?[0-9A-Z]{0,4})?", fullmatch=True), level=st.integers(1, 4))
def test_labels_above_the_leaf_are_exactly_those_of_the_rows(build, rows, text, level):
    builder = build(builder="icd-10-cm")
    assert builder.is_label(text, level) == any(row[level] == text for row in rows.values())
    assert builder.is_label(text, 0) == (text in rows or any(row[0].replace(".", "") == text for row in rows.values()))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], r"levels.*at least 1"),
        (["chapter", "block"], r"levels\.1 is 'block'; it must be coarser than 'chapter', in the order subcategory-6"),
        (["block", "block"], r"levels\.1 is 'block'; it must be coarser"),
        (["letter"], r"levels\.0.*'subcategory-6'"),
    ],
)
def test_a_bad_job_is_refused_by_key(build, levels, message):
    with pytest.raises(InvalidJob, match=message):
        build(builder="icd-10-cm", levels=levels)
