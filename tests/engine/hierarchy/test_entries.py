"""Which values a hierarchy takes, in words, against the rows that it has."""

from __future__ import annotations

import pandas as pd
import pytest

from engine import InvalidData, run
from engine.hierarchy.entries import without_entry
from engine.hierarchy.registry import Source

ANY = "any text but '*', which stands for removed values"
WHOLE = "whole numbers without leading zeros or a minus before 0 (type: decimal takes others)"
CASES = [
    ({"builder": "age"}, "ages in whole years from 0 to 120", "120", "121"),
    ({"builder": "age", "maximum": 99}, "ages in whole years from 0 to 99", "0", "1.5"),
    ({"builder": "atc"}, "ATC codes", "C09AA02", "9C"),
    ({"builder": "cuts", "cuts": [[1, 2]]}, "numbers", "1.5", "one"),
    (
        {"builder": "date", "format": "DD.MM.YYYY"},
        "dates that are written DD.MM.YYYY (format: takes other forms)",
        "01.02.2024",
        "2024-02-01",
    ),
    ({"builder": "equal-width", "lower": 0, "upper": 8, "bins": [4, 2]}, "numbers", "9.5", "nine"),
    ({"builder": "flat"}, ANY, "", "*"),
    ({"builder": "grouping", "groups": [{"A": ["a"]}]}, "the values that it lists", "a", "b"),
    ({"builder": "grouping", "groups": [{"A": ["a"]}], "other": "else"}, ANY, "b", "*"),
    ({"builder": "icd-9-cm"}, "codes such as 250.02", "250.02", "E11"),
    ({"builder": "icd-10"}, "codes such as E11.6", "E11.6", "250.02"),
    ({"builder": "icd-10-gm"}, "codes such as E11.60", "E11.60", "250.02"),
    ({"builder": "icd-10-cm"}, "codes of ICD-10-CM", "E11.65", "E11.6X9"),
    ({"builder": "interval", "widths": [5]}, WHOLE, "23", "2.5"),
    ({"builder": "interval", "widths": [5]}, WHOLE, "0", "-0"),
    ({"builder": "interval", "widths": [5], "type": "decimal"}, "numbers", "-0", "two"),
    ({"builder": "interval", "widths": [5], "type": "decimal"}, "numbers", "2.5", "two"),
    ({"builder": "interval", "widths": [5], "lower": 10}, f"{WHOLE} from 10 on", "10", "9"),
    ({"builder": "interval", "widths": [5], "upper": 10}, f"{WHOLE} below 10", "9", "10"),
    ({"builder": "interval", "widths": [5], "lower": 5, "upper": 10}, f"{WHOLE} from 5 to below 10", "5", "10"),
    ({"builder": "interval", "widths": [5], "lower": 5, "upper": 10, "open_ended": True}, WHOLE, "10", "05"),
    ({"builder": "order", "values": ["low", "high"], "fanouts": [2]}, "the values that it lists", "low", "mid"),
    ({"builder": "postcode", "country": "DE"}, "postcodes such as 12345", "10115", "1011"),
    ({"builder": "redaction", "length": 3}, "codes of 3 digits", "123", "12"),
    ({"builder": "redaction", "length": 3, "alphabet": "any"}, "codes of 3 characters", "a-b", "a-bc"),
    (
        {"builder": "zip"},
        "ZIP codes of five or nine digits (pad: true takes those without their leading zeros)",
        "02139-0001",
        "2139",
    ),
    ({"builder": "zip", "pad": True}, "ZIP codes of five or nine digits, or without their leading zeros", "213", "21"),
]


@pytest.mark.parametrize(("document", "words", "taken", "other"), CASES, ids=lambda case: str(case)[:40])
def test_the_words_are_true(build, document, words, taken, other):
    builder = build(**document)
    assert builder.admits == words
    leaves = {row[0] for row in builder.rows([taken, other])}
    assert taken in leaves
    assert other not in leaves


def test_every_builder_of_a_job_file_is_tried_or_lists_its_values_in_a_file():
    tried = {document["builder"] for document, *_ in CASES}
    files = {"csv", "snomed-ct", "loinc"}
    assert {kind.model_fields["builder"].default for kind in Source.__args__} == tried | files
    for kind in Source.__args__:
        if kind.model_fields["builder"].default in files:
            assert kind(path="x").admits in {"the values that its file x lists", "the identifiers that its file lists"}


def test_the_numbers_are_counts_and_the_words_are_not(build):
    message = without_entry("age", ["a", "b", "c"], 60, build(builder="age"))
    assert message.parts == [
        "column 'age': its hierarchy has no entry for ",
        {"count": 3},
        " of the distinct values, in ",
        {"count": 60},
        " of the records; it takes ages in whole years from 0 to 120",
    ]


def test_values_that_a_file_lists_but_for_blanks_and_case_are_counted(tmp_path, build):
    (tmp_path / "ward.csv").write_text("ICU 1;intensive;*\nsurgery;other;*\n")
    builder = build(builder="csv", path=str(tmp_path / "ward.csv"))
    message = without_entry("ward", ["icu 1", "ICU1 ", "surgery\t", "secret"], 60, builder)
    assert message.parts[1:] == [
        {"count": 4},
        " of the distinct values, in ",
        {"count": 60},
        " of the records; it takes the values that its file ward.csv lists, and would take ",
        {"count": 3},
        " of those with other blanks, in other case or without a minus before 0",
    ]
    assert without_entry("ward", ["secret"], 60, builder).endswith("the values that its file ward.csv lists")


@pytest.mark.parametrize("zero", [-0.0, "-0", "-0.0"])
def test_a_negative_zero_is_told_among_values_that_a_file_nearly_lists(tmp_path, zero):
    """A column of floats may hold it; as text it is another value than 0."""
    (tmp_path / "score.csv").write_text("0;low;*\n5;high;*\n")
    job = {
        "name": "t",
        "attributes": {"score": {"role": "quasi-identifying", "hierarchy": str(tmp_path / "score.csv")}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    table = pd.DataFrame(
        {"score": [0.0, 0.0, 5.0, 5.0, zero] if isinstance(zero, float) else ["0", "0", "5", "5", zero]}
    )
    with pytest.raises(InvalidData, match=r"would take 1 of those with .* or without a minus before 0; ") as caught:
        run(job, table)
    assert "-0" not in str(caught.value)


def test_decimals_for_whole_numbers_are_refused_with_the_key_that_takes_them():
    job = {
        "name": "bmi",
        "source": {"path": "bmi.csv"},
        "unit": "record",
        "attributes": {"bmi": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [5]}}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    with pytest.raises(
        InvalidData,
        match=r"no entry for 2 of the distinct values, in 4 of the records; it takes whole numbers .*type: decimal",
    ):
        run(job, pd.DataFrame({"bmi": [26.31, 18.25, 26.31, 18.25]}))
