"""Folders, patterns and partitioned data sets are one table, to every backend."""

from __future__ import annotations

import os
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import InvalidData, run
from tests.engine.backends.test_contract import agree, document_of

pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")


def part(*values):
    return pa.table({"q": list(values), "s": [f"s{value}" for value in values]})


def job_on(path, **attributes):
    document = document_of(["q"], path, ["a,b", "a\nb"])
    document["attributes"] |= {"s": {"role": "insensitive"}, **attributes}
    return document


def test_a_folder_of_files_is_one_table(tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    pq.write_table(part("a", "b", "a"), folder / "0.parquet")
    pq.write_table(part("b", "c", "c"), folder / "1.parquet")
    (folder / "_SUCCESS").write_text("")
    # as Hadoop leaves it: Spark reads no file beside which there is a wrong one
    content = (folder / "1.parquet").read_bytes()
    blocks = [content[begin : begin + 512] for begin in range(0, len(content), 512)]
    checksums = b"".join(zlib.crc32(block).to_bytes(4) for block in blocks)
    (folder / ".1.parquet.crc").write_bytes(b"crc\0" + (512).to_bytes(4) + checksums)
    assert sum(agree(job_on(folder))[3].values()) == 6
    assert sum(agree(job_on(folder / "*.parquet"))[3].values()) == 6
    assert agree(job_on(folder / "2*.parquet"))[0] == "InvalidData"


def test_links_to_files_are_read(tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    pq.write_table(part(*"aabbcc"), tmp_path / "elsewhere.parquet")
    (folder / "0.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    assert sum(agree(job_on(folder))[3].values()) == 6


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
@pytest.mark.parametrize(
    ("hide", "told"),
    [
        (lambda folder, one: (folder / "1.parquet").symlink_to(one.parent), "1.parquet is a link to a folder"),
        (lambda folder, _: (folder / "1.parquet").symlink_to(folder / "gone"), "1.parquet is a link to nothing"),
        (lambda folder, _: os.mkfifo(folder / "1.parquet"), "1.parquet is a pipe, a device or a socket"),
        (lambda folder, one: (folder / "1.parquet").symlink_to(one), "0.parquet and 1.parquet are one file"),
        (lambda folder, one: os.link(one, folder / "1.parquet"), "0.parquet and 1.parquet are one file"),
    ],
)
def test_what_hides_records_or_shows_them_twice_is_refused(tmp_path, pattern, hide, told):
    folder = tmp_path / "visits"
    folder.mkdir()
    pq.write_table(part(*"aabb"), folder / "0.parquet")
    hide(folder, folder / "0.parquet")
    with pytest.raises(InvalidData, match=told):
        run(job_on(folder / pattern))


def test_a_folder_that_a_pattern_matches_is_refused(tmp_path):
    (tmp_path / "visits-1.parquet").mkdir()
    pq.write_table(part(*"aabb"), tmp_path / "visits-1.parquet" / "part-0.parquet")
    pq.write_table(part(*"aabb"), tmp_path / "visits-2.parquet")
    with pytest.raises(InvalidData, match=r"visits-1\.parquet is a folder, whose files would be left out"):
        run(job_on(tmp_path / "visits-*.parquet"))


def test_a_folder_that_cannot_be_read_is_refused_without_the_value_it_names(tmp_path, monkeypatch):
    for number, name in enumerate(["north", "south"]):
        (tmp_path / "data" / f"place={name}").mkdir(parents=True)
        pq.write_table(part(*"aabb"), tmp_path / "data" / f"place={name}" / f"{number}.parquet")
    scan = os.scandir

    def refused(path):
        if str(path).endswith("south"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InvalidData, match=r"place=\.\.\. cannot be read \(Permission denied\)") as told:
        run(job_on(tmp_path / "data"))
    assert "south" not in str(told.value)


def test_csv_files_are_one_table(tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    for name in "xy":
        (folder / f"{name}.csv").write_text('q,s\n"a,b",1\n"a\nb",\n"",2\n')
    rows = agree(job_on(folder / "*.csv"))[3]
    assert sum(rows.values()) == 6


@pytest.mark.parametrize("value", ["2026", "a b", "ü", "__HIVE_DEFAULT_PARTITION__", "1.0", "x%2Fy"])
def test_folders_name_the_values_of_a_column(tmp_path, value):
    for number, name in enumerate([value, "other"]):
        folder = tmp_path / "data" / f"place={name}"
        folder.mkdir(parents=True)
        pq.write_table(part(*"aabb"), folder / f"{number}.parquet")
    hierarchy = document_of(["place"], tmp_path / "place", [value, "other", "x/y"])["attributes"]["place"]["hierarchy"]
    place = {"role": "quasi-identifying", "hierarchy": hierarchy}
    report, _, schema, rows = agree(job_on(tmp_path / "data", place=place))
    assert report["rows"] == 8
    assert schema.names == ["q", "s", "place"]
    expected = {"__HIVE_DEFAULT_PARTITION__": None, "x%2Fy": "x/y"}.get(value, value)
    assert any(f"'place': {expected!r}" in row for row in rows)


def test_a_column_that_folders_name_must_be_in_the_job(tmp_path):
    folder = tmp_path / "data" / "patient=4711"
    folder.mkdir(parents=True)
    pq.write_table(part("a", "a"), folder / "0.parquet")
    kind, text = agree(job_on(tmp_path / "data"))
    assert kind == "InvalidData"
    assert "its folders name the columns 'patient', which the job does not" in text
    assert "4711" not in text


def test_files_with_other_columns_are_refused_by_name_and_type(tmp_path):
    folder = tmp_path / "data" / "year=4711"
    folder.mkdir(parents=True)
    pq.write_table(part("a", "a"), folder / "0.parquet")
    pq.write_table(part("a", "a").set_column(1, "s", pa.array([1, 2])), folder / "1.parquet")
    with pytest.raises(InvalidData) as problem:
        run(job_on(tmp_path / "data", year={"role": "identifying"}))
    assert "year=.../1.parquet has not the columns of the first file: 's' (string and int64)" in str(problem.value)
    assert "4711" not in str(problem.value)


MOMENT = pa.timestamp("us")


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (MOMENT, pa.timestamp("ns"), "timestamp[us] and timestamp[ns]"),
        (MOMENT, pa.timestamp("us", "UTC"), "timestamp[us] and timestamp[us, tz=UTC]"),
        (pa.decimal128(10, 2), pa.decimal128(12, 2), "decimal128(10, 2) and decimal128(12, 2)"),
        (pa.struct([("Erika", MOMENT)]), pa.struct([("Hans", MOMENT)]), "struct and another struct"),
        (pa.list_(pa.string()), pa.list_(pa.large_string()), "list and another list"),
    ],
    ids=["unit", "zone", "digits", "struct", "list"],
)
def test_types_that_differ_in_their_parameters_are_told_with_them(tmp_path, one, other, told):
    """Names of nested fields may be those of persons: a file that was made of a mapping has its keys there."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, kind in (("0", one), ("1", other)):
        pq.write_table(part("a", "a").set_column(1, "s", pa.nulls(2, kind)), folder / f"{name}.parquet")
    with pytest.raises(InvalidData) as problem:
        run(job_on(folder))
    assert f"1.parquet has not the columns of the first file: 's' ({told}); write" in str(problem.value)


@pytest.mark.parametrize("headless", [["x"], ["y"], ["x", "y"]])
def test_a_file_without_a_header_is_refused_without_the_cells_of_its_first_record(tmp_path, headless):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in "xy":
        header = "" if name in headless else "q,s\n"
        (folder / f"{name}.csv").write_text(f"{header}{name}4711,4711\na,4711\n")
    with pytest.raises(InvalidData) as problem:
        run(job_on(folder))
    assert "y.csv has not the columns of the first file: its columns 1" in str(problem.value)
    assert "4711" not in str(problem.value)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"q": ["a"], "s": ["b"], "more": ["4711"]}, "its columns 3 of 3 are in this file alone; write all"),
        ({"s": ["b"]}, "the first file's columns 1 of 2 are in this file alone; write all"),
        ({"Q": ["a"], "s": [1]}, "'s' (string and int64), its columns 1 of 2 are in this file alone, the first file's"),
        ({"s": ["b"], "q": ["a"]}, "they are in another order; write all"),
    ],
)
def test_files_with_further_columns_are_told_by_place(tmp_path, columns, told):
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(part("a", "a"), folder / "0.parquet")
    pq.write_table(pa.table(columns), folder / "1.parquet")
    with pytest.raises(InvalidData) as problem:
        run(job_on(folder))
    assert f"1.parquet has not the columns of the first file: {told}" in str(problem.value)


def test_folders_that_name_other_columns_are_refused(tmp_path):
    for name in ("a=1", "b=1"):
        (tmp_path / "data" / name).mkdir(parents=True)
        pq.write_table(part("a"), tmp_path / "data" / name / "0.parquet")
    assert "name other columns" in agree(job_on(tmp_path / "data"))[1]


@pytest.mark.parametrize(
    ("above", "folders", "values"),
    [
        ("q=9", ["y=1", "y=2"], ["1", "2"]),
        ("y=9", ["y=1", "y=2"], ["1", "2"]),
        ("Q=9", ["y=1", "y=2"], ["1", "2"]),
        ("plain", ["y=NULL", "y=null"], ["NULL", "null"]),
        ("plain", ["y=a\\b", "y=a\\c"], ["a\\b", "a\\c"]),
        ("plain", ["y=a=b", "y=2"], ["a=b", "2"]),
        ("plain", ["%79=1", "%79=x%2Fy"], ["1", "x/y"]),
    ],
)
def test_values_that_folders_name_are_those_of_the_engine(tmp_path, above, folders, values):
    for folder in folders:
        (tmp_path / above / "visits" / folder).mkdir(parents=True)
        pq.write_table(part(*"aabb"), tmp_path / above / "visits" / folder / "0.parquet")
    job = job_on(tmp_path / above / "visits", y={"role": "quasi-identifying", "hierarchy": {"builder": "flat"}})
    job["privacy"] = [{"model": "k-anonymity", "k": 2}]
    agree(job)
    for backend in ("arrow", "duckdb"):
        table = run({**job, "backend": backend}).table
        assert sorted(set(zip(table["q"].to_pylist(), table["y"].to_pylist(), strict=True))) == sorted(
            (letter, value) for letter in "ab" for value in values
        )


@pytest.mark.parametrize(
    ("folder", "told"), [("y=1/y=2", "two folders that name column 'y'"), ("y=%FF", "bytes after % that are no UTF-8")]
)
def test_folders_whose_values_are_not_clear_are_refused(tmp_path, folder, told):
    (tmp_path / "visits" / folder).mkdir(parents=True)
    pq.write_table(part(*"aabb"), tmp_path / "visits" / folder / "0.parquet")
    with pytest.raises(InvalidData, match=told):
        run(job_on(tmp_path / "visits", y={"role": "insensitive"}))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("0.csv", b"q,s\na,b,c\n"),
        ("0.csv", b"q,q\na,b\n"),
        ("0.csv", b"q,s\n\xff,b\n"),
        ("0.csv", b""),
        ("0.csv", b'q,s\na,"b\n'),
        ("0.parquet", b"PAR1"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_without_the_value_of_its_folder(tmp_path, name, content):
    folder = tmp_path / "visits" / "person=Jane Roe"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(content)
    with pytest.raises(InvalidData) as problem:
        run(job_on(tmp_path / "visits", person={"role": "insensitive"}))
    assert f"person=.../{name}" in str(problem.value)
    assert "Jane" not in str(problem.value)


def test_files_that_differ_in_what_may_be_missing_are_alike(tmp_path):
    folder = tmp_path / "visits"
    folder.mkdir()
    for number, may_lack in enumerate([True, False]):
        schema = pa.schema([pa.field("q", pa.string(), may_lack), pa.field("s", pa.string())])
        pq.write_table(part(*"aabb").cast(schema), folder / f"{number}.parquet")
    assert sum(agree(job_on(folder))[3].values()) == 8
