"""A release as researchers open it: categories in their order, ends of intervals, nothing that was tampered with."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil

import pandas as pd
import pyarrow as pa
import pytest

import airflow_anon
from engine import InvalidData, VerificationFailed, read_release, run, write_manifest
from tests.engine.codebook.test_codebook import job

RECORDS = pd.DataFrame(
    {
        "mrn": range(13),
        "age": [8, 9, 9, 31, 33, 34, 101, 95, 99, 102, 90, 91, 45],
        "pain": [*["much"] * 3, *["none"] * 3, *["some"] * 6, "much"],
        "ward": [*["a", None, "c", "d"] * 3, "a"],
        "outcome": [0.5] * 13,
    }
)


@pytest.fixture
def release(tmp_path):
    wanted = job(tmp_path)
    wanted["attributes"]["age"] |= {"minimum_level": 2, "maximum_level": 2}
    wanted["attributes"]["pain"] |= {"maximum_level": 0}
    wanted["attributes"]["pain"]["hierarchy"]["values"] = ["much", "some", "none"]
    wanted["suppression_limit"] = 0.4
    wanted["privacy"] = [{"model": "k-anonymity", "k": 2}]
    return run(wanted, table=pd.concat([RECORDS, RECORDS.tail(1).assign(age=50, mrn=99)])).output


def test_labels_are_categories_in_their_order(release):
    table = read_release(release)
    assert list(table.columns) == ["age", "pain", "ward", "outcome"]
    # the second digit of text would put 5 after 30
    assert list(table["age"].cat.categories) == ["5-9", "30-34", "90+", "*"]
    assert list(table["pain"].cat.categories) == ["much", "some", "none", "*"]
    assert table["age"].cat.ordered
    assert table["age"].value_counts().to_dict() == {"5-9": 3, "30-34": 3, "90+": 6, "*": 2}
    assert table["outcome"].dtype == "float64"
    plain = pd.read_parquet(release / "data.parquet")
    pd.testing.assert_frame_equal(table.astype(plain.dtypes), plain)


def test_ends_of_labels_stand_beside_them(release):
    table = read_release(release, ends=True)
    assert list(table.columns) == ["age", "age_begin", "age_below", "pain", "ward", "outcome"]
    found = {
        label: tuple(None if pd.isna(end) else end for end in ends)
        for label, *ends in table[["age", "age_begin", "age_below"]].itertuples(index=False)
    }
    assert found == {"5-9": (5, 10), "30-34": (30, 35), "90+": (90, None), "*": (None, None)}
    assert table["age_begin"].dtype == "float64"


VISITS = {
    "name": "visits",
    "unit": "record",
    "attributes": {
        "year": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
        "dose": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
        "day": {"role": "quasi-identifying", "hierarchy": {"builder": "date"}, "maximum_level": 0},
        "code": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}, "maximum_level": 0},
    },
    "privacy": [{"model": "k-anonymity", "k": 2}],
    "suppression_limit": 0.5,
}


def visits(tmp_path):
    source = pd.DataFrame(
        {
            "year": [2019] * 3 + [2020] * 3 + [1999, 1998],
            "dose": [0.5] * 3 + [-2.25] * 3 + [1.0, 1.0],
            "day": ["2019-02-03"] * 3 + ["2020-11-30"] * 3 + ["1999-01-01", "1998-01-01"],
            "code": ["007"] * 3 + [None] * 3 + ["1", "2"],
        }
    )
    return run(VISITS, source, output=tmp_path / "visits").output


def test_exact_columns_are_numbers_and_dates_if_they_are_wanted(tmp_path):
    table = read_release(visits(tmp_path), numbers=True)
    assert list(table.columns) == ["year", "dose", "day", "code", "suppressed"]
    assert [str(table[name].dtype) for name in ("year", "dose", "suppressed")] == ["Int64", "Float64", "bool"]
    assert table["code"].dtype == "category"
    kept = table[~table["suppressed"]].sort_values("year")
    assert kept["year"].tolist() == [2019] * 3 + [2020] * 3
    assert kept["dose"].tolist() == [0.5] * 3 + [-2.25] * 3
    assert kept["day"].tolist() == [pd.Timestamp("2019-02-03")] * 3 + [pd.Timestamp("2020-11-30")] * 3
    assert kept["code"].astype(object).where(kept["code"].notna(), None).tolist() == ["007"] * 3 + [None] * 3
    gone = table[table["suppressed"]]
    assert len(gone) == 2
    assert gone[["year", "dose", "day"]].isna().all(axis=None)
    assert "year" in read_release(visits(tmp_path)).select_dtypes("category")


def test_generalized_columns_stay_labels_where_numbers_are_wanted(release):
    table = read_release(release, numbers=True)
    assert list(table["age"].cat.categories) == ["5-9", "30-34", "90+", "*"]
    assert table["suppressed"].sum() == 2


def test_times_that_python_has_not_are_text(tmp_path):
    """Programs such as Polars count times of day in nanoseconds."""
    whole, parts = (
        pa.array([nanoseconds] * 4, pa.time64("ns")) for nanoseconds in (3_723_000_004_000, 3_723_000_004_005)
    )
    document = {
        "name": "times",
        "unit": "record",
        "attributes": {
            "ward": {"role": "quasi-identifying", "hierarchy": {"builder": "flat"}},
            "begin": {"role": "insensitive"},
            "end": {"role": "insensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 2}],
    }
    source = pa.table({"ward": ["a", "b"] * 2, "begin": whole, "end": parts})
    read = read_release(run(document, table=source, output=tmp_path / "release").output)
    assert set(read["begin"]) == {dt.time(1, 2, 3, 4)}
    assert set(read["end"]) == {"01:02:03.000004005"}


def test_the_package_for_airflow_reads_a_folder_by_it(release):
    assert airflow_anon.read(release, numbers=True).equals(read_release(release, numbers=True))
    with pytest.raises(AttributeError, match="has no attribute 'write'"):
        _ = airflow_anon.write


@pytest.mark.parametrize("file", ["data.parquet", "codebook.json", "README.md"])
def test_what_was_tampered_with_is_not_read(release, file):
    with (release / file).open("ab") as changed:
        changed.write(b" ")
    with pytest.raises(VerificationFailed, match="changed after it was written"):
        read_release(release)


def test_a_path_beside_a_release_is_told_with_the_one_that_is_meant(release, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidData, match=r"nowhere: not found; a relative path .*, here " + re.escape(str(tmp_path))):
        read_release("nowhere")
    with pytest.raises(InvalidData, match=r"data\.parquet: is a file; name the folder that it is in"):
        read_release(release / "data.parquet")
    job = tmp_path / "share" / "job"
    job.mkdir(parents=True)
    with pytest.raises(InvalidData, match="no release of the job is current; it may have been recalled"):
        read_release(job / "current")
    (job / "current").symlink_to(release)
    with pytest.raises(InvalidData, match=re.escape(f"is the folder of all releases of a job; name {job / 'current'}")):
        read_release(job)


def test_a_release_of_another_version_is_told(release, tmp_path):
    codebook = json.loads((release / "codebook.json").read_text())
    later = shutil.copytree(release, tmp_path / "later")
    (later / "codebook.json").write_text(json.dumps({**codebook, "form": codebook["form"] + 1}))
    write_manifest(later)
    with pytest.raises(InvalidData, match="made by a later version"):
        read_release(later)
    (later / "codebook.json").unlink()
    write_manifest(later)
    with pytest.raises(InvalidData, match=r"has no codebook\.json: it was made by an earlier version"):
        read_release(later)


def test_labels_that_the_codebook_does_not_list_are_no_missing_values(release):
    """The manifest fits, as whoever changes both would write it."""
    path = release / "codebook.json"
    codebook = json.loads(path.read_text())
    labels = codebook["columns"][0]["labels"]
    assert labels.pop(1)["label"] == "30-34"
    path.write_text(json.dumps(codebook))
    write_manifest(release)
    with pytest.raises(VerificationFailed, match=r"column 'age' has labels that codebook\.json does not list"):
        read_release(release)


@pytest.mark.parametrize("text", ["{", '{"form": NaN}', '{"form": 1, "form": 2}', "[" * 100_000])
def test_a_codebook_that_is_none_is_told(release, text):
    (release / "codebook.json").write_text(text)
    write_manifest(release)
    with pytest.raises(VerificationFailed, match=r"codebook\.json cannot be read; the folder was changed"):
        read_release(release)
