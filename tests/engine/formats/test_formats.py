"""Further files of a release: read by others than their writers, compared with the Parquet file."""

from __future__ import annotations

import csv
import datetime as dt
import json
import shutil
import subprocess
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from engine import InvalidJob, VerificationFailed, check_manifest, compared_formats, load_job, run, write_manifest
from engine.cli.commands import main
from engine.formats import csv_file, formats, spss_file, stata_file
from tests.engine.linked_jobs import job as linked_job
from tests.engine.linked_jobs import tables_of

ROWS = 24
NOW = dt.datetime(2026, 11, 23, 1, 2, 3, 4000)  # noqa: DTZ001 (a table's times need not have a zone)
BEFORE_ZONES = dt.datetime(1850, 1, 1, tzinfo=dt.timezone.utc)
"""When Zurich was 34 minutes and 8 seconds ahead, of which ISO 8601 has the minutes alone."""


def job(tmp_path, formats=("parquet", "csv", "dta", "sav"), **more):
    roles = {name: {"role": "insensitive", **extra} for name, extra in more.items()}
    return {
        "name": "stays",
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "age"}, "minimum_level": 1},
            "ward": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
            **roles,
        },
        "unit": "record",
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "suppression_limit": 0.5,
        "output": {"path": str(tmp_path / "release"), "formats": list(formats)},
    }


TEXTS = ["=1+1", "", None, 'say "a, b"', "two\nlines", "ärztlich", "007", " x"]
MORE = {
    "note": pa.array(TEXTS * 3, pa.string()),
    "dose": pa.array([0.1, None, 1e300, -2.5] * 6, pa.float64()),
    "visits": pa.array([1, None, 2**53] * 8, pa.int64()),
    "alive": pa.array([True, None, False] * 8, pa.bool_()),
    "day": pa.array([dt.date(2026, 11, 23), None, dt.date(1900, 2, 28)] * 8, pa.date32()),
    "moment": pa.array([NOW, None] * 12, pa.timestamp("us")),
}


def table(**more):
    base = {
        "age": pa.array([str(20 + i % 4 * 20) for i in range(ROWS)]),
        "ward": pa.array(["w,1", "=w2", None] * (ROWS // 3)),
    }
    return pa.table({**base, **more})


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    document = job(folder, **{name: {"accept": "unique"} for name in MORE})
    return run(document, table=table(**MORE)).output, document


def test_csv_has_the_records_in_their_order(release):
    """Read with Python's own reader, and with pandas, which both share nothing with the writer."""
    folder, _ = release
    file = pq.read_table(folder / "data.parquet").to_pandas()
    with (folder / "data.csv").open(encoding="utf-8", newline="") as opened:
        header, *rows = csv.reader(opened)
    assert header == list(file.columns)
    for name in ("age", "ward", "note"):
        place = header.index(name)
        assert [row[place] for row in rows] == file[name].fillna("").tolist()
    read = pd.read_csv(folder / "data.csv")
    assert np.array_equal(read["dose"], file["dose"], equal_nan=True)
    assert read["day"].fillna("").tolist() == ["" if day is None else day.isoformat() for day in file["day"]]


def test_an_empty_text_is_told_from_a_missing_one_in_csv(release):
    folder, _ = release
    notes = pq.read_table(folder / "data.parquet", columns=["note"])["note"]
    written = pa.csv.read_csv(
        folder / "data.csv",
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            include_columns=["note"],
            column_types={"note": pa.string()},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )["note"]
    assert written.to_pylist() == notes.to_pylist()


def test_stata_has_the_records_with_labels_in_their_order(release):
    folder, _ = release
    file = pq.read_table(folder / "data.parquet").to_pandas()
    read = pd.read_stata(folder / "data.dta")
    codebook = {one["column"]: one for one in json.loads((folder / "codebook.json").read_text())["columns"]}
    for name in ("age", "ward"):
        labels = [one["label"] for one in codebook[name]["labels"]]
        assert [text for text in labels if text in read[name].cat.categories] == labels
        assert read[name].astype(object).fillna("missing").tolist() == file[name].fillna("missing").tolist()
    assert read["note"].tolist() == file["note"].fillna("").tolist()
    assert np.array_equal(read["dose"], file["dose"], equal_nan=True)
    assert np.array_equal(read["visits"].astype(float), file["visits"].astype(float), equal_nan=True)
    assert read["moment"].equals(file["moment"].astype(read["moment"].dtype))
    assert [None if pd.isna(day) else day.date() for day in read["day"]] == file["day"].tolist()
    with pd.read_stata(folder / "data.dta", iterator=True) as reader:
        assert reader.variable_labels()["age"].startswith("labels of level")


def test_stata_is_read_by_another_library_than_wrote_it(release):
    """ReadStat, which R's haven is too: the same records, labels and words about a variable."""
    folder, _ = release
    file = pq.read_table(folder / "data.parquet").to_pandas()
    read, about = pyreadstat.read_dta(folder / "data.dta", apply_value_formats=True)
    codebook = {one["column"]: one for one in json.loads((folder / "codebook.json").read_text())["columns"]}
    for name in ("age", "ward"):
        labels = [one["label"] for one in codebook[name]["labels"]]
        numbered = about.variable_value_labels[name]
        assert [numbered[number] for number in sorted(numbered)] == labels
        assert read[name].astype(object).fillna("missing").tolist() == file[name].fillna("missing").tolist()
    assert read["note"].fillna("").tolist() == file["note"].fillna("").tolist()
    assert np.array_equal(read["dose"], file["dose"], equal_nan=True)
    assert np.array_equal(read["visits"].astype(float), file["visits"].astype(float), equal_nan=True)
    assert about.column_names_to_labels["age"].startswith("labels of level")


def test_spss_has_the_records_with_labels_in_their_order(release):
    folder, _ = release
    file = pq.read_table(folder / "data.parquet").to_pandas()
    read, about = pyreadstat.read_sav(folder / "data.sav", apply_value_formats=True, dates_as_pandas_datetime=True)
    codebook = {one["column"]: one for one in json.loads((folder / "codebook.json").read_text())["columns"]}
    for name, measure in (("age", "ordinal"), ("ward", "nominal")):
        labels = [one["label"] for one in codebook[name]["labels"]]
        assert list(about.variable_value_labels[name].items()) == list(enumerate(labels, 1))
        assert about.variable_measure[name] == measure
        assert read[name].astype(object).fillna("missing").tolist() == file[name].fillna("missing").tolist()
    assert read["note"].tolist() == file["note"].fillna("").tolist()
    assert np.array_equal(read["dose"], file["dose"], equal_nan=True)
    assert np.array_equal(read["visits"].astype(float), file["visits"].astype(float), equal_nan=True)
    assert read["alive"].fillna(-1).tolist() == [-1 if one is None else int(one) for one in file["alive"]]
    assert read["moment"].dt.round("ms").equals(file["moment"].astype(read["moment"].dtype))
    assert [None if pd.isna(day) else day.date() for day in read["day"]] == file["day"].tolist()
    assert about.column_names_to_labels["age"].startswith("labels of level")


def test_all_files_are_in_the_manifest_and_are_compared(release, tmp_path, capsys):
    folder, document = release
    assert {"data.parquet", "data.csv", "data.dta", "data.sav"} <= set(check_manifest(folder)["files"])
    loaded = load_job(document)
    assert [finding.holds for finding in compared_formats(folder, loaded)] == [True, True, True]
    (tmp_path / "job.yaml").write_text(json.dumps(document))
    assert main(["verify", str(folder), str(tmp_path / "job.yaml")]) == 0
    assert "data.csv: has the records of data.parquet" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        lambda _: [],
        lambda found: {key: value for key, value in found.items() if key != "columns"},
        lambda found: {**found, "columns": [3, *found["columns"]]},
        lambda found: {**found, "columns": [{**found["columns"][0], "labels": 1}]},
    ],
)
def test_a_codebook_that_is_none_ends_verify_with_4(release, tmp_path, capsys, change):
    """The further files are compared by it before it is compared itself."""
    folder, document = release
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    codebook = copy / "codebook.json"
    codebook.write_text(json.dumps(change(json.loads(codebook.read_text()))))
    write_manifest(copy)
    (tmp_path / "job.yaml").write_text(json.dumps(document))
    assert main(["verify", str(copy), str(tmp_path / "job.yaml")]) == 4
    assert "codebook.json is missing or cannot be read" in capsys.readouterr().err


def changed(folder, name):
    """Change one record, swap two, drop the last one or add one."""
    frame = pd.read_parquet(folder / "data.parquet")
    other = {
        "swapped": frame.iloc[[-1, *range(1, len(frame) - 1), 0]],
        "shorter": frame.iloc[:-1],
        "longer": pd.concat([frame, frame.iloc[-1:]]),
        "changed": frame.assign(visits=frame["visits"].where(frame.index != 3, 77)),
    }[name].reset_index(drop=True)
    return pa.Table.from_pandas(other, pq.read_schema(folder / "data.parquet"), preserve_index=False)


@pytest.mark.parametrize("how", ["swapped", "shorter", "longer", "changed", "gone"])
@pytest.mark.parametrize("form", ["csv", "dta", "sav"])
def test_other_records_are_found(release, tmp_path, form, how):
    folder, document = release
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    loaded = load_job(document)
    if how == "gone":
        (copy / f"data.{form}").unlink()
    else:
        pq.write_table(changed(folder, how), tmp_path / "other.parquet")
        columns = json.loads((folder / "codebook.json").read_text())["columns"]
        formats.FORMATS[form].write(tmp_path / "other.parquet", copy / f"data.{form}", columns)
    findings = {finding.message.split(":")[0]: finding.holds for finding in compared_formats(copy, loaded)}
    assert findings == {f"data.{name}": name != form for name in ("csv", "dta", "sav")}


@pytest.mark.parametrize("name", ["data.csv", "data.dta", "data.sav", "data.parquet"])
def test_a_damaged_file_is_another_one(release, tmp_path, name):
    """Whatever the library that reads it makes of it: of some bytes pandas raises errors of its own classes."""
    folder, document = release
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    loaded, content = load_job(document), (folder / name).read_bytes()
    # the head of a Stata file says where its parts are
    for begin in (*range(100, 400, 20), len(content) // 2, len(content) - 20):
        (copy / name).write_bytes(content[:begin] + b"\xff" * 20 + content[begin + 20 :])
        found = {finding.message.split(":")[0]: finding.holds for finding in compared_formats(copy, loaded)}
        assert set(found) == {"data.csv", "data.dta", "data.sav"}
        assert all(holds for other, holds in found.items() if name not in (other, "data.parquet"))
    (copy / name).write_bytes(content[: len(content) // 2])
    assert not all(finding.holds for finding in compared_formats(copy, loaded))


def test_a_release_whose_csv_differs_is_not_made(tmp_path, monkeypatch):
    def shorter(data, target, _):
        pq.write_table(pq.read_table(data).slice(1), tmp_path / "other.parquet")
        write(tmp_path / "other.parquet", target, [])

    write = csv_file.write
    monkeypatch.setattr(formats, "FORMATS", {"csv": formats.Format(csv_file.refuse, shorter, csv_file.differ)})
    with pytest.raises(VerificationFailed, match=r"data\.csv"):
        run(job(tmp_path, ["parquet", "csv"]), table=table())
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("form", "column", "why"),
    [
        ("csv", pa.array([b"x"] * ROWS), "'extra' of type binary"),
        ("csv", pa.array([np.float16(0.5)] * ROWS), "'extra' of type halffloat"),
        ("csv", pa.array([Decimal("1.5")] * ROWS, pa.decimal256(50, 1)), "'extra' of type decimal256"),
        ("csv", pa.array([Decimal("1.5")] * ROWS, pa.decimal64(12, 1)), "'extra' of type decimal64"),
        ("csv", pa.array([2_932_897] * ROWS, pa.int32()).cast(pa.date32()), "'extra' has years before 0 or after 9999"),
        ("csv", pa.array([BEFORE_ZONES] * ROWS, pa.timestamp("us", "Europe/Zurich")), "'extra' has times of a zone"),
        ("csv", pa.array(["a\0b"] * ROWS), "'extra' has texts with a NUL"),
        ("dta", pa.array([Decimal("1.5")] * ROWS), "'extra' of type decimal128"),
        ("dta", pa.array([NOW] * ROWS, pa.timestamp("us", "UTC")), "'extra' of type timestamp"),
        ("dta", pa.array([2**53 + 1] * ROWS), "'extra' has whole numbers beyond"),
        ("dta", pa.array([float("inf")] * ROWS), "'extra' has infinite numbers"),
        ("dta", pa.array([NOW.replace(microsecond=1)] * ROWS), "'extra' has times of parts"),
        ("dta", pa.array(["a\0b"] * ROWS), "'extra' has texts with a NUL"),
        ("sav", pa.array([Decimal("1.5")] * ROWS), "'extra' of type decimal128"),
        ("sav", pa.array([2**53 + 1] * ROWS), "'extra' has whole numbers beyond"),
        ("sav", pa.array([-1.7976931348623157e308] * ROWS), "'extra' has infinite numbers"),
        ("sav", pa.array([NOW.replace(microsecond=1)] * ROWS), "'extra' has times of parts"),
        ("sav", pa.array([dt.date(1582, 10, 13)] * ROWS), "'extra' has days before 14 October 1582"),
        ("sav", pa.array(["a "] * ROWS), "'extra' has texts with a space at the end"),
        ("sav", pa.array(["ä" * 16_384] * ROWS), "'extra' has texts of more than 32,767 bytes"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_by_name(tmp_path, form, column, why):
    with pytest.raises(InvalidJob, match=why):
        run(job(tmp_path, ["parquet", form], extra={"accept": "unique"}), table=table(extra=column))
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("form", ["csv", "dta", "sav"])
def test_a_release_without_a_record_has_its_files(tmp_path, form):
    document = job(tmp_path, ["parquet", form], **{name: {"accept": "unique"} for name in MORE})
    document["attributes"]["age"] = {"role": "identifying"}
    document["privacy"] = [{"model": "k-anonymity", "k": ROWS}]
    changes = {"suppression_limit": 1, "allow_empty_information": True}
    document["output"]["suppressed"] = "drop"
    result = run({**document, **changes}, table=table(**MORE))
    assert result.table.num_rows == 0
    read = {"csv": pd.read_csv, "dta": pd.read_stata, "sav": pd.read_spss}[form]
    frame = read(tmp_path / "release" / f"data.{form}")
    assert len(frame) == 0
    assert list(frame) == result.table.column_names


def test_a_mean_of_decimals_is_a_double_that_stata_and_spss_hold(tmp_path):
    cost = pa.array([Decimal(number) / 4 for number in range(ROWS)], pa.decimal128(10, 2))
    document = job(tmp_path, ["parquet", "dta", "sav"], cost={"role": "quasi-identifying", "microaggregation": "mean"})
    document["privacy"] = [{"model": "k-anonymity", "k": 3}]
    run(document, table=table(cost=cost))
    released = pq.read_table(tmp_path / "release" / "data.parquet")["cost"].to_pylist()
    for read, form in ((pyreadstat.read_dta, "dta"), (pyreadstat.read_sav, "sav")):
        frame, _ = read(tmp_path / "release" / f"data.{form}")
        np.testing.assert_array_equal(frame["cost"].to_numpy(), np.array(released, float))


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        (pa.int8(), -(2**7)),
        (pa.int8(), 2**7 - 1),
        (pa.int16(), -(2**15)),
        (pa.int16(), 2**15 - 1),
        (pa.int32(), -(2**31)),
        (pa.int32(), 2_147_483_621),
        (pa.int32(), 2**31 - 1),
        (pa.uint32(), 2**32 - 1),
        (pa.float32(), float(np.float32(2.0**127))),
        (pa.float32(), float(np.finfo("float32").min)),
    ],
)
def test_numbers_beyond_a_type_of_stata_are_in_a_wider_one(tmp_path, kind, number):
    """Stata's byte, int, long and float end before those of others: their last numbers are its missing values."""
    run(job(tmp_path, ["parquet", "dta"], extra={}), table=table(extra=pa.array([number, 1] * (ROWS // 2), kind)))
    frame, _ = pyreadstat.read_dta(tmp_path / "release" / "data.dta")
    assert sorted(set(frame["extra"])) == sorted({number, 1})


@pytest.mark.parametrize("name", ["a" * 33, "größe", "a b", "2nd", "long", "str12"])
def test_names_that_stata_has_not_are_refused(name):
    with pytest.raises(InvalidJob, match=f"column '{name}'"):
        stata_file.refuse(pa.schema([(name, pa.string())]))


@pytest.mark.parametrize("name", ["a" * 65, "größe", "a b", "2nd", "_x", "With", "AGE"])
def test_names_that_spss_has_not_are_refused(name):
    with pytest.raises(InvalidJob, match=f"'{name}'"):
        spss_file.refuse(pa.schema([("age", pa.string()), (name, pa.string())]))


def test_labels_that_spss_would_cut_are_refused(tmp_path):
    long = [f"{'w' * 120}{number}" for number in (1, 2)] * (ROWS // 2)
    with pytest.raises(InvalidJob, match="'ward' has labels of more than 120 bytes"):
        run(job(tmp_path, ["parquet", "sav"]), table=table(ward=pa.array(long)))
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("ward", "why"),
    [("w ", "with a space at the end"), (f"{'w' * 31_999}ä", "of more than 32,000 bytes")],
    ids=["space", "long"],
)
def test_labels_that_readers_of_dta_cut_are_refused_by_name(tmp_path, ward, why):
    """ReadStat, which haven and pyreadstat have, reads the first 32,000 bytes of a label, without spaces at its end."""
    with pytest.raises(InvalidJob, match=f"'ward' has labels {why}, which programs that read dta cut"):
        run(job(tmp_path, ["parquet", "dta"]), table=table(ward=pa.array([ward, "w"] * (ROWS // 2))))
    assert not (tmp_path / "release").exists()


def test_the_longest_label_of_dta_is_read_whole(tmp_path):
    wards = [f"{'w' * 31_998}{end}" for end in ("ä", "öx")]
    run(job(tmp_path, ["parquet", "dta"]), table=table(ward=pa.array([wards[0], wards[1][1:]] * (ROWS // 2))))
    frame, _ = pyreadstat.read_dta(tmp_path / "release" / "data.dta", apply_value_formats=True)
    assert set(frame["ward"]) == {wards[0], wards[1][1:]}


@pytest.mark.parametrize(
    ("form", "end", "why"),
    [
        ("csv", "\0", "a NUL character"),
        ("dta", "\0", "a NUL character"),
        ("sav", "\0", "a NUL character"),
        ("sav", " ", "a space at the end"),
    ],
)
def test_labels_that_a_format_would_change_are_refused_by_name(tmp_path, form, end, why):
    wards = [f"{ward}{end}" for ward in "ab"] * (ROWS // 2)
    with pytest.raises(InvalidJob, match=f"'ward' has texts with {why}"):
        run(job(tmp_path, ["parquet", form]), table=table(ward=pa.array(wards)))
    assert not (tmp_path / "release").exists()


def test_names_that_r_does_not_read_are_refused():
    with pytest.raises(InvalidJob, match=r"csv cannot name a column 'a\\x00b'"):
        csv_file.refuse(pa.schema([("age", pa.string()), ("a\0b", pa.string())]))


def test_csv_of_one_column_would_lose_records():
    with pytest.raises(InvalidJob, match="needs two columns"):
        csv_file.refuse(pa.schema([("age", pa.string())]))


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({"conn_id": "share", "table": "stays", "formats": ["parquet", "csv"]}, "name a path"),
        ({"path": "share", "formats": ["csv"]}, "must name parquet"),
        ({"path": "share", "formats": ["parquet", "csv", "csv"]}, "each format once"),
        ({"path": "share", "formats": ["parquet", "xpt"]}, "'parquet', 'csv', 'dta' or 'sav'"),
    ],
)
def test_formats_that_cannot_be_are_refused(tmp_path, output, why):
    with pytest.raises(InvalidJob, match=why):
        load_job({**job(tmp_path), "output": output})


def test_each_of_several_tables_has_its_files(tmp_path):
    output = {"path": str(tmp_path / "release"), "formats": ["parquet", "dta", "sav"]}
    tables = {name: tables_of(300, seed=3)[name] for name in ("patient", "visit")}
    folder = run(linked_job(output=output, tables=tuple(tables)), table=tables).output
    for name in ("patient", "visit"):
        read = pd.read_stata(folder / f"{name}.dta").astype(object)
        expected = pd.read_parquet(folder / f"{name}.parquet").astype(object)
        assert read.where(read.notna(), None).equals(expected)
        read = pyreadstat.read_sav(folder / f"{name}.sav", apply_value_formats=True)[0].astype(object)
        assert read.where(read.notna(), None).equals(expected)


R = shutil.which("Rscript")


def run_in_r(tmp_path, folder, asked):
    """Run the lines of a release's README, and then others; return what became of it."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    (tmp_path / "read.R").write_text(text.split("```r\n")[1].split("```")[0] + asked, encoding="utf-8")
    return subprocess.run(
        [R, "--vanilla", tmp_path / "read.R"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.skipif(R is None, reason="needs R (apt-get install r-base-core)")
def test_the_lines_of_the_readme_run_in_r(release, tmp_path):
    folder, _ = release
    codebook = {one["column"]: one for one in json.loads((folder / "codebook.json").read_text())["columns"]}
    asked = """
    stopifnot(is.factor(table[["age"]]), is.ordered(table[["age"]]), is.numeric(table[["dose"]]))
    writeLines(c(nrow(table), levels(table[["age"]]), sum(is.na(table[["ward"]])), table[["note"]][1:3]))
    """
    done = run_in_r(tmp_path, folder, asked)
    assert done.returncode == 0, done.stderr
    file = pd.read_parquet(folder / "data.parquet")
    notes = [text or "NA" for text in file["note"].where(file["note"].notna(), None).tolist()[:3]]
    expected = [str(ROWS), *(one["label"] for one in codebook["age"]["labels"]), str(file["ward"].isna().sum())]
    assert done.stdout.split("\n")[: len(expected)] == expected
    assert done.stdout == "\n".join([*expected, *notes]) + "\n"


@pytest.mark.skipif(R is None, reason="needs R (apt-get install r-base-core)")
def test_the_lines_of_the_readme_run_in_r_where_a_column_has_no_name(tmp_path):
    """The index that pandas writes has none in the header of its CSV file; R finds no column of an empty name."""
    document = job(tmp_path, ["parquet", "csv"], **{"": {"accept": "unique"}})
    numbers = [f"{number:03}" for number in range(ROWS)]
    folder = run(document, table=table(**{"": pa.array(numbers)})).output
    asked = 'writeLines(c(levels(table[["ward"]]), sort(table[[3]])))'
    done = run_in_r(tmp_path, folder, asked)
    assert done.stderr == ""
    wards = sorted(set(pd.read_parquet(folder / "data.parquet")["ward"].dropna()))
    assert done.stdout.split() == [*wards, *numbers]


@pytest.mark.skipif(R is None, reason="needs R (apt-get install r-base-core)")
@pytest.mark.parametrize(("ends", "levels"), [(("\r\n", "\r"), 2), (("\r\n", "\n"), 1)], ids=["apart", "alike"])
def test_line_ends_of_labels_are_those_that_r_reads(tmp_path, ends, levels):
    """Each line end in a text is a line feed to R: no label may be missing, and two may have become one."""
    wards = [f"{name}{end}x" for name, end in zip("ab" if levels == 2 else "aa", ends, strict=True)]
    folder = run(job(tmp_path, ["parquet", "csv"]), table=table(ward=pa.array(wards * (ROWS // 2)))).output
    asked = 'writeLines(c(sum(is.na(table[["ward"]])), length(unique(table[["ward"]]))) |> as.character())'
    done = run_in_r(tmp_path, folder, asked)
    assert done.stderr == ""
    released = pd.read_parquet(folder / "data.parquet")["ward"]
    assert done.stdout.split() == [str(released.isna().sum()), str(levels + ("*" in set(released)))]
