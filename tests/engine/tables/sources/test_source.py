"""Tables: what is read from files and memory, and that no error text holds a cell."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import decimal
import errno
import gzip
import io
import math
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.parquet.encryption import CryptoFactory, EncryptionConfiguration, KmsClient, KmsConnectionConfig

from engine import InvalidData
from engine.tables.sources.broken_csv import why
from engine.tables.sources.column_text import as_text
from engine.tables.sources.column_types import plain_type
from engine.tables.sources.csv_form import CsvForm, encoding_of
from engine.tables.sources.source import open_data, open_path
from tests.profiles import examples

PERSON = "Jane-Roe-4711"


def read(table, columns=None):
    """Return the columns of a table, all batches put together."""
    columns = table.schema.names if columns is None else columns
    return pa.Table.from_batches(list(table.batches(columns))).to_pydict()


def csv_file(folder, content, name="people.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(action):
    with pytest.raises(InvalidData) as problem:
        action()
    # as a log would show it, with every exception before it
    assert PERSON not in "".join(traceback.format_exception(problem.value))
    return str(problem.value)


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ('a,b\n1,"x,y"\n2,"say ""hi"""\n', ","),
        ('a;b\r\n1;x,y\r\n2;"say ""hi"""\r\n', ";"),
        ('\ufeffa\tb\n1\tx,y\n2\t"say ""hi"""', "\t"),
        ('"a"|"b"\n"1"|"x,y"\n"2"|"say ""hi"""\n', "|"),
    ],
)
def test_csv_quoting_line_ends_bom_and_delimiters(tmp_path, content, delimiter):
    table = open_path(csv_file(tmp_path, content), CsvForm(delimiter))
    assert read(table) == {"a": ["1", "2"], "b": ["x,y", 'say "hi"']}


def test_csv_values_stay_text_and_an_empty_field_is_an_empty_text(tmp_path):
    table = open_path(csv_file(tmp_path, 'code,flag,none\n007,true,\n1e3,NA,""\n'))
    assert table.schema.types == [pa.string()] * 3
    assert read(table) == {"code": ["007", "1e3"], "flag": ["true", "NA"], "none": ["", ""]}


def test_csv_line_breaks_within_quotes(tmp_path):
    assert read(open_path(csv_file(tmp_path, 'a,b\n"x\ny",1\n'))) == {"a": ["x\ny"], "b": ["1"]}


def test_csv_reads_only_what_is_asked_in_that_order_and_can_be_read_again(tmp_path):
    table = open_path(csv_file(tmp_path, "a,b,c\n1,2,3\n"))
    for _ in range(2):
        (batch,) = table.batches(["c", "a"])
        assert batch.to_pydict() == {"c": ["3"], "a": ["1"]}


def test_compressed_csv(tmp_path):
    assert read(open_path(csv_file(tmp_path, gzip.compress(b"a,b\n1,2\n"), "p.csv.gz"))) == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    ("name", "cell"),
    [("n" * 100_000, "c"), ("n", "c" * 200_000), ("n" * 65_530, "c" * 65_530), ("n", 'c"",\n' * 50_000)],
    ids=["long header", "long record", "both", "line breaks"],
)
def test_a_header_and_a_record_may_be_longer_than_what_is_read_for_the_header(tmp_path, name, cell):
    path = csv_file(tmp_path, f'{name},second\n"{cell}",2\n')
    assert read(open_path(path)) == {name: [cell.replace('""', '"')], "second": ["2"]}


def test_header_only_is_a_table_without_records(tmp_path):
    table = open_path(csv_file(tmp_path, "a,b\n"))
    assert table.schema.names == ["a", "b"]
    assert sum(batch.num_rows for batch in table.batches(["a"])) == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"a,b\n1,2\n{PERSON},1,2\n", "has 3 instead of 2 fields separated by ',' in row 3 (the header is row 1)"),
        (f"a,b\n{PERSON}\n", "has 1 instead of 2 fields separated by ',' in row 2"),
        # a row, since a value may have several lines
        (f'a,b\n"x\ny",2\n{PERSON}\n', "row 3 (the header is row 1)"),
        (f'a,b\n"{PERSON},2\n', "check the delimiter, the quoting"),
        (f"a,b\n1,{PERSON}".encode() + b"\xff\n", "has text in column 2 that is not UTF-8; save"),
        (f"{PERSON}".encode() + b"\xff,b\n1,2\n", "has a header that is not UTF-8 text; save"),
        (f"a,b\n{PERSON},2\n".encode("utf-16"), "is UTF-16 text; save it as UTF-8, or say source: {encoding"),
        (b"a,b\n" + b"\xff" + f"{PERSON}\n".encode(), "has 1 instead of 2 fields separated by ',' in row 2"),
        ("", "is empty; its first row must name the columns"),
        ("\n", "has no line but empty ones where its header must be; its first row must name the columns"),
        ("\r\n\r\n\r\n", "has no line but empty ones where its header must be"),
        (f"{PERSON},b", "is one line without an end, and has no record"),
        (gzip.compress(f"a,b\n{PERSON},1\n".encode()), "is compressed by gzip; give it a name that ends in .csv.gz"),
        (b"PK\x03\x04" + f"{PERSON},1\n\xfe,2\n".encode("latin-1"), "is an Excel workbook or a ZIP archive; save"),
        (b"PAR1" + f"{PERSON}\n1,2\n".encode(), "is a Parquet file; give it a name that ends in .parquet"),
    ],
    ids=[
        "long",
        "short",
        "of two lines",
        "open quote",
        "bad byte",
        "in the header",
        "utf-16",
        "bad and short",
        "empty",
        "an empty line",
        "empty lines",
        "one line",
        "gzip",
        "zip",
        "parquet",
    ],
)
def test_broken_csv_is_refused_with_the_place_and_without_its_cells(tmp_path, monkeypatch, content, told):
    path, ignored = csv_file(tmp_path, content), []
    monkeypatch.setattr("sys.unraisablehook", ignored.append)
    text = refusal(lambda: read(open_path(path)))
    assert not ignored  # Python prints them, with what they quote
    assert text.startswith(f"source {path}: ")
    assert told in text


@pytest.mark.parametrize(
    "content", [gzip.compress(f"a,b\n{PERSON},1\n".encode())[:-9], f"a,b\n{PERSON},1\n"], ids=["cut", "no gzip"]
)
def test_broken_compression_is_refused(tmp_path, content):
    path = csv_file(tmp_path, content, "p.csv.gz")
    text = refusal(lambda: read(open_path(path)))
    assert text.startswith(f"source {path}: cannot be read to its end")


def test_a_file_that_may_not_be_read_is_told_as_such():
    """The file is whole: nobody need look at it."""
    problem = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    told = why(Path("people.csv"), pa.csv.ReadOptions(), pa.csv.ParseOptions(), problem)
    assert told == "cannot be read (Permission denied); let the user who runs the job read it"


def test_the_column_of_broken_text_is_that_of_the_file_whatever_is_read(tmp_path):
    table = open_path(csv_file(tmp_path, f"a,b,c\n1,2,{PERSON}".encode() + b"\xff\n"))
    assert "column 3 that is not UTF-8" in refusal(lambda: read(table, ["c", "a"]))
    # what is not read is not looked at
    assert read(table, ["a"]) == {"a": ["1"]}


def test_a_bad_row_far_behind_the_first_block_is_refused_too(tmp_path):
    path = csv_file(tmp_path, "a,b\n" + "1234567,1234567\n" * 1_100_000 + f"{PERSON},1,2\n")
    table = open_path(path)
    assert "has 3 instead of 2 fields separated by ',' in row 1100002" in refusal(lambda: read(table))


def test_equal_column_names_are_refused_by_position_since_a_headerless_file_has_values_there(tmp_path):
    path = csv_file(tmp_path, f"{PERSON},x,{PERSON}\n1,2,3\n")
    assert "columns 1, 3" in refusal(lambda: open_path(path))


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-8-sig", "mac-roman", "UTF8"])
@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz"])
def test_a_file_is_read_in_its_encoding(tmp_path, encoding, name):
    content = "Größe;ort\n1,8;Köln\n".encode(encoding)
    path = csv_file(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    found = read(open_path(path, CsvForm(";", encoding_of(encoding))))
    assert found == {"Größe": ["1,8"], "ort": ["Köln"]}


def test_a_character_may_begin_in_one_block_and_end_in_the_next(tmp_path):
    values = ["ä" * (1 + place % 7) for place in range(3_600_000)]
    path = csv_file(tmp_path, ("a\n" + "\n".join(values) + "\n").encode("utf-16"))
    assert path.stat().st_size > 2 * (1 << 24)
    assert read(open_path(path, CsvForm(encoding="utf-16"))) == {"a": values}


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (f"a,b\n{PERSON},".encode() + b"\x81\n", "cp1252"),
        (f"{PERSON},".encode() + b"\x81\n1,2\n", "cp1252"),
        (f"a,b\n{PERSON},1\n".encode(), "utf-16"),
        (f"a,b\n{PERSON},ä\n".encode("utf-16"), "ascii"),
        ("a,b\n".encode("utf-16") + f"{PERSON}".encode() + b"\x00\xd8\n\x00", "utf-16"),
    ],
    ids=["byte", "header", "no utf-16", "utf-16", "half a pair"],
)
def test_a_file_in_another_encoding_than_is_said_is_refused_without_its_cells(tmp_path, content, encoding):
    path = csv_file(tmp_path, content)
    text = refusal(lambda: read(open_path(path, CsvForm(encoding=encoding))))
    assert text.startswith(f"source {path}: is not text in the encoding {encoding}, which source.encoding names")


def test_a_bad_row_of_a_file_in_another_encoding_is_told(tmp_path):
    path = csv_file(tmp_path, f"a,b\n{PERSON}ä,1,2\n".encode("cp1252"))
    text = refusal(lambda: read(open_path(path, CsvForm(encoding="cp1252"))))
    assert "has 3 instead of 2 fields separated by ',' in row 2" in text
    assert "that the file is cp1252 text" in text


@pytest.mark.parametrize(
    "name", ["utf-9", "", "rot13", "base64", "punycode", "unicode_escape", "undefined", "utf-7", "a\0b"]
)
def test_what_is_no_encoding_of_text_is_refused(name):
    with pytest.raises(ValueError, match="must be an encoding that Python knows"):
        encoding_of(name)


@pytest.mark.parametrize("name", ["p.txt", "p.xlsx", "p"])
def test_other_kinds_of_files_are_refused(tmp_path, name):
    assert "must end in .csv, .csv.gz or .parquet" in refusal(lambda: open_path(csv_file(tmp_path, "a\n1\n", name)))


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.parquet", "."])
def test_a_missing_file_is_named(tmp_path, name):
    assert f"source {tmp_path / name}: not found" in refusal(lambda: open_path(tmp_path / name))


def test_a_pipe_is_no_source(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    assert "pipe.csv: is a pipe, a device or a socket" in refusal(lambda: open_path(tmp_path / "pipe.csv"))


TYPED = {
    "text": pa.array(["x", None]),
    "large": pa.array(["x", None], pa.large_string()),
    "view": pa.array(["x", None], pa.string_view()),
    "categories": pa.array(["x", None]).dictionary_encode(),
    "whole": pa.array([25, None], pa.int16()),
    "float": pa.array([25.0, None]),
    "bool": pa.array([True, None]),
    "decimal": pa.array([decimal.Decimal("1.50"), None]),
    "date": pa.array([dt.date(2026, 3, 1), None]),
    "time": pa.array([1_772_366_700_000, None], pa.timestamp("ms")),
    "list": pa.array([[1], None]),
}


@pytest.mark.parametrize("kind", ["parquet", "table", "reader"])
def test_types_are_kept_as_they_are_read(tmp_path, kind):
    data = pa.table(TYPED)
    pq.write_table(data, tmp_path / "t.parquet")
    table = {
        "parquet": lambda: open_path(tmp_path / "t.parquet"),
        "table": lambda: open_data(data),
        "reader": lambda: open_data(data.to_reader()),
    }[kind]()
    kept = [pa.string() if kind == pa.string_view() else kind for kind in data.schema.types]
    assert table.schema.types == kept
    assert all(batch.schema.types == kept for batch in table.batches(data.column_names))
    assert read(table) == data.to_pydict()
    assert read(table, ["list", "whole"]) == {"whole": [25, None], "list": [[1], None]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("text", "x"),
        ("large", "x"),
        ("view", "x"),
        ("categories", "x"),
        ("whole", "25"),
        ("float", "25"),
        ("bool", "true"),
        ("decimal", "1.50"),
        ("date", "2026-03-01"),
        ("time", "2026-03-01 12:05:00.000"),
    ],
)
def test_the_text_of_a_value(name, text):
    column = as_text(TYPED[name], name)
    assert column.type == pa.string()
    assert column.to_pylist() == [text, None]


def test_the_text_of_floats_tells_every_float_from_every_other():
    floats = [0.1, 0.1 + 2**-56, 1e22, 5e-324, -0.0, 0.0, math.inf, 1 / 3]
    assert [float(text) for text in as_text(pa.array(floats), "f").to_pylist()] == floats
    assert len(set(as_text(pa.array(floats), "f").to_pylist())) == len(floats)
    assert as_text(pa.array([math.nan]), "f").to_pylist() == ["nan"]


def test_a_null_among_the_values_of_a_dictionary_is_a_null():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", None]))
    assert column.null_count == 0
    assert as_text(column, "c").to_pylist() == ["x", None]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[PERSON]]),
        pa.array([{"x": PERSON}]),
        pa.array([PERSON.encode()]),
        pa.array([PERSON.encode()], pa.large_binary()),
        pa.array([PERSON.encode()], pa.binary_view()),
        pa.array([PERSON.encode()], pa.binary(len(PERSON))),
        pa.array([b"0123456789abcdef"], pa.uuid()),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.RunEndEncodedArray.from_arrays([1], [PERSON]),
    ],
    ids=lambda column: str(column.type),
)
def test_types_without_a_text_form_are_refused_by_column_and_type(column):
    text = refusal(lambda: as_text(column, "visits"))
    assert "column 'visits'" in text
    assert "has no text form; convert it in the source query" in text


def test_a_data_frame_leaves_its_index_behind():
    frame = pd.DataFrame({"a": ["x", None], "b": pd.Categorical(["u", "v"])}, index=[7, 8])
    table = open_data(frame)
    assert table.schema.names == ["a", "b"]
    assert read(table) == {"a": ["x", None], "b": ["u", "v"]}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"fine": [1, 2, 3], "a": [PERSON, 1, b"x"]}),
        pd.DataFrame({"fine": [1, 2], "a": [1, PERSON]}, dtype=object),
        pd.DataFrame({"fine": [1, 2], "a": [1, 2**70]}),
        pd.DataFrame({"fine": [1, 2], "a": [1, 2j]}),
    ],
    ids=["mixed", "text after numbers", "large numbers", "complex numbers"],
)
def test_a_data_frame_that_is_no_table_is_refused_without_its_cells(frame):
    told = refusal(lambda: open_data(frame))
    assert "column 2 cannot be read as one of an Arrow table" in told
    assert "make it text by astype(str)" in told


def test_a_data_frame_with_equal_names_is_refused():
    told = refusal(lambda: open_data(pd.DataFrame([[1, 2]], columns=["a", "a"])))
    assert "every column needs a name of its own and values of one type" in told


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2026-01", periods=2, freq="M"),
        pd.interval_range(0, 2),
        pd.interval_range(0, 2).astype("category"),
    ],
    ids=["periods", "intervals", "categories of intervals"],
)
def test_types_that_only_pandas_knows_are_refused(column):
    """Arrow has months as the number of months since 1970, whatever a hierarchy says of them."""
    told = refusal(lambda: open_data(pd.DataFrame({"fine": [1, 2], "a": column})))
    assert "column 2 holds periods or intervals" in told


@pytest.mark.parametrize("values", [["a", "b", None], [1, 2, None], [True, False, None]])
def test_run_end_encoded_columns_are_read(values):
    column = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4, 8], pa.int32()), pa.array(values))
    first, second, last = values
    table = open_data(pa.table({"v": column}).slice(1))
    assert table.schema.field("v").type == pa.array(values).type
    assert read(table) == {"v": [first, second, second, last, last, last, last]}


UNSELECTABLE = [
    pa.RunEndEncodedArray.from_arrays([2], pa.array([PERSON]).dictionary_encode()),
    pa.StructArray.from_arrays([pa.RunEndEncodedArray.from_arrays([2], [PERSON])], ["a"]),
    pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([PERSON, PERSON])]),
]


@pytest.mark.parametrize("column", UNSELECTABLE, ids=lambda column: str(column.type))
def test_columns_of_which_no_records_can_be_selected_are_refused_where_they_are_read(column):
    table = open_data(pa.table({"v": column, "q": ["x", "y"]}))
    assert read(table, ["q"]) == {"q": ["x", "y"]}
    assert "column 'v': holds a union, or a run-end encoding" in refusal(lambda: read(table))


@pytest.mark.parametrize("data", [[1], {"a": [1]}, pd.Series([1]), "people.csv", None])
def test_other_data_is_refused_by_type(data):
    assert f"is a {type(data).__name__}; give a pyarrow Table" in refusal(lambda: open_data(data))


def test_a_reader_that_breaks_is_refused_without_its_cells():
    schema = pa.schema([("a", pa.string())])

    def batches():
        yield pa.record_batch({"a": ["x"]})
        raise pa.ArrowInvalid(f"cannot read {PERSON}")

    assert "ArrowInvalid" in refusal(lambda: open_data(pa.RecordBatchReader.from_batches(schema, batches())))


def test_equal_names_in_memory():
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "columns 1, 2" in refusal(lambda: open_data(table))


class Keys(KmsClient):
    """Keys that are not hidden at all."""

    def wrap_key(self, key_bytes, _):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, _):
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_parquet_file_is_refused(tmp_path, plaintext_footer):
    """Where the footer is plain, Arrow ends the process that asks it for the size of a column."""
    settings = EncryptionConfiguration(footer_key="f", column_keys={"c": ["a"]}, plaintext_footer=plaintext_footer)
    properties = CryptoFactory(lambda _: Keys()).file_encryption_properties(KmsConnectionConfig(), settings)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [PERSON], "b": [1]}), path, encryption_properties=properties)
    ended = subprocess.run([sys.executable, "-c", OPENING, path], capture_output=True, text=True, check=False)
    assert "is an encrypted Parquet file" in ended.stdout, ended.stderr


OPENING = """
import sys
from engine import InvalidData
from engine.tables.sources.source import open_path
try:
    open_path(sys.argv[1])
except InvalidData as problem:
    print(problem)
"""


@pytest.mark.parametrize("cut", [0, 4, 40, -1])
def test_a_damaged_parquet_file(tmp_path, cut):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [PERSON] * 100}), path, compression="none")
    path.write_bytes(path.read_bytes()[:cut])
    assert "Parquet" in refusal(lambda: read(open_path(path)))


def test_a_parquet_file_damaged_within(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [f"{PERSON}{i}" for i in range(1000)]}), path, compression="snappy")
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(content)
    assert "damaged Parquet" in refusal(lambda: read(open_path(path)))


@pytest.mark.parametrize("encoding", ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
@pytest.mark.parametrize("texts", [["f", "m", None] * 40, ["ward 7"] * 120, [f"{number:09}" for number in range(120)]])
def test_texts_in_the_encodings_of_differences_are_read(tmp_path, encoding, texts):
    """They take few bytes, as those of dictionaries do, and Arrow reads no dictionaries of them."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": pa.array(texts, pa.string()), "b": ["x", "y", "z"] * 40})
    pq.write_table(table, path, use_dictionary=["b"], column_encoding={"a": encoding}, row_group_size=50)
    assert read(open_path(path)) == table.to_pydict()


@pytest.mark.parametrize("has_dictionary", [False, True])
def test_other_bits_than_those_of_a_checksum_are_refused(tmp_path, has_dictionary):
    """They are values like others to who does not look at it."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": ["aaaa", "bbbb"] * 4})
    settings = {"compression": "none", "write_statistics": False, "use_dictionary": has_dictionary}
    pq.write_table(table, path, write_page_checksum=True, **settings)
    assert read(open_path(path)) == table.to_pydict()
    path.write_bytes(path.read_bytes().replace(b"bbbb", b"zzzz", 1))
    assert "damaged Parquet" in refusal(lambda: read(open_path(path)))


TEXTS = pa.dictionary(pa.int8(), pa.string())


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (pa.string(), pa.string()),
        (TEXTS, pa.string()),
        (pa.list_(TEXTS), pa.list_(pa.string())),
        (pa.large_list(TEXTS), pa.large_list(pa.string())),
        (pa.list_(TEXTS, 2), pa.list_(pa.string(), 2)),
        (pa.map_(pa.string(), TEXTS), pa.map_(pa.string(), pa.string())),
        (pa.struct([("x", pa.list_(TEXTS))]), pa.struct([("x", pa.list_(pa.string()))])),
        (pa.dictionary(pa.int8(), pa.list_(pa.int32())), pa.list_(pa.int32())),
    ],
    ids=str,
)
def test_no_dictionary_is_left_in_a_plain_type(kind, plain):
    assert plain_type(kind) == plain


def test_a_plain_type_has_no_metadata_within():
    kind = pa.struct([pa.field("x", pa.list_(pa.field("item", pa.int8(), metadata={"a": "b"})), metadata={"c": "d"})])
    assert "metadata" not in repr(plain_type(kind).field(0).metadata or "")
    assert plain_type(kind).field(0).metadata is None
    assert plain_type(kind).field(0).type.value_field.metadata is None


def long_texts(path, rows, length):
    texts = [f"{number:0{length}d}" for number in range(rows)]
    pq.write_table(pa.table({"text": texts, "n": range(rows)}), path, row_group_size=rows // 20, use_dictionary=False)
    return rows * length


def test_a_batch_of_long_texts_has_fewer_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.tables.sources.parquet_source.BATCH_BYTES", 1 << 20)
    long_texts(tmp_path / "t.parquet", 10_000, 500)
    source = open_path(tmp_path / "t.parquet")
    whole = list(source.batches(["text", "n"]))
    assert max(batch.nbytes for batch in whole) < 2 << 20
    assert [n for batch in whole for n in batch.column(1).to_pylist()] == list(range(10_000))
    assert max(batch.num_rows for batch in source.batches(["n"])) == 10_000


def test_memory_does_not_grow_with_the_row_groups(tmp_path, monkeypatch):
    """A reader of all row groups would keep each until the last one was read."""
    monkeypatch.setattr("engine.tables.sources.parquet_source.BATCH_BYTES", 1 << 20)
    size = long_texts(tmp_path / "t.parquet", 20_000, 2000)
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_path(tmp_path / "t.parquet").batches(["text"]):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < size / 4


HEADER = ["mrn", "age", "sex", "dx"]
CELLS = st.sampled_from(["", "a", "x,y", 'say "hi"', '"', "two\nlines", "\n", "ends\n", " ", ",", "é"])


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=5),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from([".csv", ".csv.gz"]),
    st.booleans(),
)
def test_quotes_that_are_closed_are_read(rows, quoting, end, encoding, suffix, ends_with_a_line):
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator=end).writerows([HEADER, *rows])
    content = (text.getvalue() if ends_with_a_line else text.getvalue().removesuffix(end)).encode(encoding)
    with tempfile.TemporaryDirectory() as folder:
        path = csv_file(Path(folder), gzip.compress(content) if suffix == ".csv.gz" else content, f"t{suffix}")
        found = read(open_path(path, CsvForm(encoding=encoding_of(encoding))), ["sex", "mrn"])
    assert found["sex"] == [row[2] for row in rows]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("after", ["", "5,36,M,flu", '5,36,M,"flu"', '5,36,M,""', "5,36,M,"])
def test_a_quote_that_is_not_closed_is_refused(tmp_path, suffix, encoding, end, after):
    """All that follows would be one cell, and with it the records of persons whose columns are dropped."""
    lines = ["mrn,age,sex,dx", "1,34,F,flu", f'{PERSON},35,M,"home', *([after] if after else [])]
    content = ("\n".join(lines) + end).encode(encoding)
    path = csv_file(tmp_path, gzip.compress(content) if suffix == "csv.gz" else content, f"t.{suffix}")
    for columns in (["dx"], ["age", "sex"]):
        text = refusal(lambda: read(open_path(path, CsvForm(encoding=encoding)), columns))  # noqa: B023
        assert "quote" in text


def swallowed(columns, column, between):
    """Return a table of which two cells have a stray quote before them, and so many records between them."""
    rows = [[f"{PERSON}-{number}", "34", "F", "flu"][4 - columns :] for number in range(20)]
    rows[3][column] = '"' + rows[3][column]
    rows[4 + between][column] += '"'
    header = ["mrn", "age", "sex", "dx"][4 - columns :]
    return "".join(",".join(row) + "\n" for row in [header, *rows])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("between", [0, 1, 2, 7])
@pytest.mark.parametrize(
    ("columns", "column"), [(columns, column) for columns in (2, 3, 4) for column in range(columns)]
)
def test_a_cell_of_parts_of_several_records_is_refused(tmp_path, columns, column, between, end):
    """It would be released with the identifiers of other records in it."""
    text = swallowed(columns, column, between).replace("\n", end)
    path = csv_file(tmp_path, text.encode())
    names = [name for name in ["age", "sex", "dx"] if columns > 2 or name != "age"]
    told = refusal(lambda: read(open_path(path), names))
    assert f"a cell of column {column + 1} holds parts of several records" in told


@pytest.mark.parametrize(
    "note",
    [
        "better\nF, and well",
        "seen at home\ntoday,tomorrow",
        "at noon, at night\nno fever",
        "F,34\nF",
        "first\n\nlast",
        "1\n2",
    ],
)
@pytest.mark.parametrize("names", [["sex", "note"], ["age", "sex", "note"]])
def test_commas_of_a_text_of_several_lines_are_no_fields(tmp_path, note, names):
    rows = [["34", "F", note] if number % 3 else ["35", "M", "none"] for number in range(12)]
    kept = [row[3 - len(names) :] for row in rows]
    text = io.StringIO()
    csv.writer(text).writerows([names, *kept])
    assert read(open_path(csv_file(tmp_path, text.getvalue())))["note"] == [row[-1] for row in kept]


def test_a_wide_file_may_have_texts_of_several_lines(tmp_path):
    names = [f"c{number}" for number in range(1500)]
    text = io.StringIO()
    csv.writer(text).writerows([names, ["a\nb"] * 1500])
    assert read(open_path(csv_file(tmp_path, text.getvalue())), ["c3"]) == {"c3": ["a\nb"]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("sep=,\na,b,c\n1,2,3\n", "the mark of Excel, sep="),
        ('"sep=;"\na,b,c\n1,2,3\n', "the mark of Excel, sep="),
        (f"{PERSON}\na,b\n1,2\n", "has 2 fields separated by ',' in row 2, and one in row 1"),
        ("a,b\n1," + "x" * 40_000_000 + "\n", "has a row of more than 16 MB, or a quote"),
    ],
    ids=["mark", "mark in quotes", "title", "large cell"],
)
def test_why_a_csv_file_cannot_be_read(tmp_path, content, told):
    assert told in refusal(lambda: read(open_path(csv_file(tmp_path, content))))


@pytest.mark.parametrize("column", [1, 2, 3])
def test_quotes_far_apart_that_hold_records_are_refused(tmp_path, column):
    rows = [[f"{PERSON}-{number}", "34", "F", "flu"] for number in range(9)]
    for row in (rows[2], rows[7]):
        row[column] = '"' + row[column]
    path = csv_file(tmp_path, "mrn,age,sex,dx\n" + "".join(",".join(row) + "\n" for row in rows))
    assert "quote" in refusal(lambda: read(open_path(path), ["age", "sex", "dx"]))


def test_text_of_several_lines_is_read(tmp_path):
    note = "seen today, no fever\nhome, rest, fluids, and a call on Monday\nsee also: letter"
    path = csv_file(tmp_path, f'mrn,age,sex,note\n1,34,F,"{note}"\n2,35,M,none\n')
    assert read(open_path(path))["note"] == [note, "none"]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.time64("us")])
def test_moments_that_have_no_text_are_refused(kind):
    largest = pa.array([(1 << 31) - 1 if kind == pa.date32() else (1 << 63) - 1])
    column = largest.cast(pa.int32()).view(kind) if kind == pa.date32() else largest.view(kind)
    assert "column 'when': holds dates or times out of range" in refusal(lambda: as_text(column, "when"))


@pytest.mark.parametrize(
    "text",
    ["x\na\n\nb\n", "x\na\nb\n\n", "x\r\na\r\n\r\nb\r\n", "x\n\n", "x\n\na\n"],
    ids=["between", "at the end", "of Windows", "alone", "first"],
)
def test_an_empty_line_of_one_column_may_be_a_record(tmp_path, text):
    """PostgreSQL writes one for a missing value, pandas reads none: nobody knows how many records there are."""
    (tmp_path / "one.csv").write_bytes(text.encode())
    told = refusal(lambda: list(open_path(tmp_path / "one.csv").batches(["x"])))
    assert "has one column and empty lines" in told
    assert 'write a missing value as "", and take the other empty lines out' in told


@pytest.mark.parametrize("end", ["", "\n"])
def test_quoted_empty_texts_of_one_column_are_records(tmp_path, end):
    (tmp_path / "one.csv").write_text(f'x\na\n""\n"b\n\nc"\n""{end}')
    batches = open_path(tmp_path / "one.csv").batches(["x"])
    assert [one for batch in batches for one in batch.column(0).to_pylist()] == ["a", "", "b\n\nc", ""]


def test_an_empty_line_of_several_columns_is_no_record(tmp_path):
    """It has no delimiter, so it could only be one of another table."""
    (tmp_path / "two.csv").write_text("x,y\na,\n\n,\n")
    batches = open_path(tmp_path / "two.csv").batches(["x", "y"])
    assert [row for batch in batches for row in batch.to_pylist()] == [{"x": "a", "y": ""}, {"x": "", "y": ""}]
