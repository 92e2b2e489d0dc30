"""Hierarchy files: rows as they stand, errors by file and row, a changed file is read anew."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidData, InvalidJob
from engine.hierarchy.builders.csv_file import CsvFile, wrong_label


@pytest.fixture
def write(tmp_path):
    def make(content: str | bytes, name: str = "sex.csv", **keys) -> CsvFile:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return CsvFile(path=str(path), **keys)

    return make


def test_rows_stand_as_in_the_file_whatever_the_data_holds(write):
    source = write("1;[1, 2];*\n2;[1, 2];*\n2;[1, 2];*\n")
    assert source.rows(["2", "unknown"]) == [("1", "[1, 2]", "*"), ("2", "[1, 2]", "*"), ("2", "[1, 2]", "*")]
    assert source.level_count == 3


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        ("a;b c;*", {}),
        ("\ufeffa;b c;*\r\n\r\n", {}),
        ('"a";"b c";"*"\n', {}),
        ("a,b c,*\n", {"delimiter": ","}),
    ],
)
def test_byte_order_mark_line_ends_quotes_and_delimiter(write, content, keys):
    assert write(content, **keys).rows([]) == [("a", "b c", "*")]


def test_a_quoted_field_may_hold_the_delimiter(write):
    assert write('"a;b";*\n').rows([]) == [("a;b", "*")]


def test_labels_belong_to_their_level(write):
    source = write("M;person;*\nF;person;*\n")
    assert [source.is_label("M", level) for level in range(3)] == [True, False, False]
    assert [source.is_label("person", level) for level in range(3)] == [False, True, False]
    assert [source.is_label("*", level) for level in range(3)] == [False, False, True]
    assert not source.is_label("", 0)


def test_a_path_is_relative_to_the_job(tmp_path, write):
    write("a;*\n", "a.csv")
    assert CsvFile(path="a.csv").resolved(tmp_path).rows([]) == [("a", "*")]


def test_a_ragged_file_is_told_by_row_and_not_by_value(write):
    with pytest.raises(
        InvalidData, match=r"sex\.csv: the number of columns of row 2 is 2, and that of row 1.*';'"
    ) as caught:
        write("secret-a;b;*\nsecret-c;d\n").rows([])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("secret-c;;*", "row 2: its label at level 1 is blank.*give it a label"),
        ("secret-c; \t;*", "row 2: its label at level 1 is blank"),
        ("secret-c;b;", "row 2: its label at level 2 is blank.*delimiter at the end of the rows"),
        (";;", "row 2: its label at level 1 is blank"),
        (
            "secret-c;*;x",
            "row 2: its label at level 1 is '\\*', which is reserved for the highest level: choose another",
        ),
        ("*;x;*", "row 2: its value is '\\*', which stands for removed values; take the row out"),
    ],
)
def test_a_label_that_looks_like_a_missing_or_a_removed_value_is_told_by_row_and_level(write, row, told):
    """A release that shows it would say that records of a kept class are suppressed, or that their value is missing."""
    with pytest.raises(InvalidData, match=rf"sex\.csv: {told}") as caught:
        write(f"secret-a;b;*\n{row}\n").rows([])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("row", ["c;*;*", "*;*;*", ";b;*", "c;b;x"])
def test_a_value_may_be_empty_and_its_path_may_end_early(write, row):
    assert write(f"a;b;*\n{row}\n").rows([]) == [("a", "b", "*"), tuple(row.split(";"))]


@given(st.lists(st.sampled_from(["*", "", " ", "a", "b*"]), min_size=1, max_size=5).map(tuple))
def test_a_row_is_refused_exactly_if_a_label_is_blank_or_something_is_above_a_star(row):
    ends_early = all(above == "*" for below, above in itertools.pairwise(row) if below == "*")
    assert (wrong_label(row) is None) == (ends_early and all(label.strip() for label in row[1:]))


def test_a_text_that_is_too_long_is_told_as_such(write):
    with pytest.raises(InvalidData, match=r"sex\.csv: line 2: has a text of more than 131,072 characters, or a quote"):
        write(f"a;b;*\nc;{'d' * 131_073};*\n").rows(["a"])


@pytest.mark.parametrize(
    ("text", "line"),
    [('a;b;*\n"c;d;*\ne;f;*\n', 2), ('a;b;*\n\n"c";"d;*\n', 3), ('"a"secret;b;*\n', 1), ('a;"b\n";*\nc;d;"*', 3)],
)
def test_a_quote_that_is_not_closed_is_told_by_its_line(write, text, line):
    with pytest.raises(InvalidData, match=rf"sex\.csv: line {line}: a quote is not closed") as caught:
        write(text).rows([])
    assert "secret" not in str(caught.value)


def test_an_empty_file_is_refused(write):
    with pytest.raises(InvalidData, match=r"sex\.csv: is empty; it needs one row for each value"):
        write("\n\n").rows([])


@pytest.mark.parametrize("name", ["flat", "Flat", "icd-10-cm", "csv", "snomed-ct"])
def test_a_builder_where_a_path_belongs_is_told(tmp_path, name):
    fix = rf"not found; for the builder {name.lower()} write {{builder: {name.lower()}}}"
    with pytest.raises(InvalidJob, match=fix):
        CsvFile(path=str(tmp_path / name)).rows([])
    (tmp_path / name).write_text("a;*\n")
    assert CsvFile(path=str(tmp_path / name)).rows([]) == [("a", "*")]


def test_a_folder_is_not_told_to_be_absent(tmp_path):
    (tmp_path / "flat").mkdir()
    with pytest.raises(InvalidJob, match=r"/flat: is a folder; name the file in it"):
        CsvFile(path=str(tmp_path / "flat")).rows([])


HEADERS = [
    ("sex;p;*", ["M"], "is a header"),
    (" Sex ;p;*", ["M"], "is a header"),
    ("sex;p;*", ["M", "sex"], None),
    ("sexes;p;*", ["M"], None),
    ("value;level 1;level 2", ["M"], "looks like a header"),
    ("value;level 1;level 2", ["M", "value"], None),
    ("value;level 1;*", ["M"], None),
]


@pytest.mark.parametrize(("row", "values", "told"), HEADERS)
def test_a_header_is_no_value(write, row, values, told):
    """It would count in the size of the domain, and give the hierarchy a second root."""
    source = write(f"{row}\nM;secret;*\nF;secret;*\n")
    if told is None:
        source.check_column("sex", values)
        return
    with pytest.raises(InvalidData, match=rf"sex\.csv: row 1 {told}.*; remove it") as caught:
        source.check_column("sex", values)
    assert not {"secret", "M", "F"} & set(re.findall(r"\w+", str(caught.value)))


def test_a_hierarchy_with_several_roots_has_no_header(write):
    """That tonight's table lacks the first value says nothing of it."""
    write("none;never\nmild;ever\nsevere;ever\n").check_column("pain", ["mild"])
    write("none;never\n").check_column("pain", ["mild"])


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_not_read(tmp_path, make):
    """Who reads a device without an end, or waits for a pipe, never says what is wrong."""
    make(tmp_path / "odd.csv")
    with pytest.raises(InvalidJob, match=r"odd\.csv: not found; the path is relative to the job file"):
        CsvFile(path=str(tmp_path / "odd.csv")).rows([])


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidJob, match=r"none\.csv: not found; the path is relative to the job file"):
        CsvFile(path=str(tmp_path / "none.csv")).rows([])


def test_another_encoding_is_refused(write):
    with pytest.raises(InvalidData, match=r"sex\.csv: cannot be read as UTF-8"):
        write("m\xe4nnlich;*".encode("latin-1")).rows([])


@pytest.mark.parametrize("content", ["m\xe4nnlich;*".encode("latin-1"), "a;*\n".encode("utf-16"), b"PK\x03\x04\xff"])
def test_the_error_of_another_encoding_has_the_fix(write, content):
    with pytest.raises(InvalidData, match=r"save it as UTF-8 \(in Excel: CSV UTF-8\)"):
        write(content).rows([])


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize(
    ("used", "given", "shown"),
    [(",", ";", "','"), ("|", ";", "'|'"), (";", ",", "';'"), ("\t", ";", '"\\t"'), ("\t", "|", '"\\t"')],
)
def test_another_delimiter_is_told_as_the_job_writes_it(write, used, given, shown, quote):
    rows = [("secret-a", "b", "*"), ("secret-c", "b", "*")]
    text = "".join(used.join(f"{quote}{field}{quote}" for field in row) + "\n" for row in rows)
    with pytest.raises(InvalidData) as caught:
        write(text, delimiter=given).rows([])
    assert f"its rows look separated by {shown} and not by {given!r}: say " in str(caught.value)
    assert "secret" not in str(caught.value)
    fix = yaml.safe_load(re.search(r"\{.*\}", str(caught.value)).group())
    assert write(text, delimiter=fix["delimiter"]).rows([]) == rows


@pytest.mark.parametrize("content", ["M\nF\n", '"a, b"\n"c, d"\n', "a,b\nc\n", "a,b\nc,d,e\n"])
def test_a_file_of_one_level_is_read(write, content):
    """A hierarchy may have no level above the value, and a value may hold any character."""
    assert {len(row) for row in write(content).rows([])} == {1}


def test_a_changed_file_is_read_anew(write):
    source = write("a;*\n")
    assert source.is_label("a", 0)
    write("b;c;*\n")
    assert source.rows([]) == [("b", "c", "*")]
    assert source.level_count == 3
    assert not source.is_label("a", 0)


@pytest.mark.parametrize("moment", [1, None])
def test_a_file_changed_within_its_size_is_read_anew(write, moment):
    """Also where it gets the time that it had, as copies and images of containers give to all of their files."""
    source = write("a;*\n")
    before = Path(source.path).stat().st_mtime_ns
    assert source.is_label("a", 0)
    write("b;*\n")
    os.utime(source.path, ns=(1, moment or before))
    assert source.rows([]) == [("b", "*")]
    assert not source.is_label("a", 0)
