"""The second judge on releases of linked tables: it reads the files of all, and finds what was changed in any."""

from __future__ import annotations

import copy
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_anon.expectations.linked_release import stacked_release
from airflow_anon.expectations.run import run_suite
from airflow_anon.expectations.suite import release_suite
from engine import InvalidData, load_job, run
from tests.engine.linked_jobs import COLUMNS, PSEUDONYM, job, tables_of

RELEASE_KEY = b"r" * 32
ATTACKERS = ["any-row", {"rows": 2}, "all-rows"]


def stacked_source(tables, path):
    """Write the records of all tables as the extraction stages them."""
    parts = [one.add_column(0, "table", pa.array([name] * one.num_rows)) for name, one in tables.items()]
    pq.write_table(pa.concat_tables(parts, promote_options="default"), path)
    return path


def judged(folder, this, report, source, keys=None):
    """Validate the files of a folder; give the names of what does not hold."""
    suite = release_suite(
        this,
        report,
        source_rows=pq.read_metadata(source).num_rows,
        source_types={field.name: str(field.type) for field in pq.read_schema(source)},
        source=str(source),
        keys=keys or {},
    )
    data = stacked_release(folder, this.released_of_tables, folder.parent / "stacked.parquet")
    return {one["expectation_type"] for one in run_suite(data, suite)["results"] if not one["success"]}


def released(folder, knows="all-rows", *, keys=None, **changes):
    """Release sixty persons; give the job, the report, the staged source and the folder of the release."""
    tables = tables_of(60, seed=11)
    this = load_job(job(keys, knows=knows, **changes))
    source = stacked_source(tables, folder / "source.parquet")
    result = run(this, tables, output=folder / "release", release_key=RELEASE_KEY)
    return this, result.published, source, folder / "release"


@pytest.mark.parametrize("knows", ATTACKERS, ids=str)
def test_a_good_release(tmp_path, knows):
    this, report, source, release = released(tmp_path, knows)
    assert judged(release, this, report, source) == set()


def test_a_good_release_with_pseudonyms(tmp_path):
    this, report, source, release = released(tmp_path, keys=PSEUDONYM)
    keys = {f"attributes.{name}": RELEASE_KEY.hex() for name in this.pseudonymized}
    assert judged(release, this, report, source, keys) == set()
    wrong = {name: (b"x" * 32).hex() for name in keys}
    assert judged(release, this, report, source, wrong) == {"expect_replaced_columns"}


@pytest.mark.parametrize("name", list(COLUMNS))
@pytest.mark.parametrize("change", ["gone", "twice"])
def test_a_record_that_is_gone_or_there_twice_in_any_table(tmp_path, name, change):
    this, report, source, release = released(tmp_path)
    path = release / f"{name}.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1) if change == "gone" else pa.concat_tables([table, table.slice(0, 1)]), path)
    assert "expect_persons_in_each_class" in judged(release, this, report, source)


def test_a_label_of_another_class(tmp_path):
    this, report, source, release = released(tmp_path, {"rows": 1})
    path = release / "condition.parquet"
    codes = pq.read_table(path)["code"].to_pylist()
    other = next(code for code in codes if code != codes[0])
    pq.write_table(pa.table({"code": [other, *codes[1:]]}), path)
    assert judged(release, this, report, source) == {"expect_persons_in_each_class"}


def test_figures_of_tables_that_are_not_those_of_the_files(tmp_path):
    this, report, source, release = released(tmp_path)
    wrong = copy.deepcopy(report)
    wrong["tables"]["visit"]["released"] += 1
    assert judged(release, this, wrong, source) == {"expect_persons_in_each_class"}
    del wrong["tables"]
    assert judged(release, this, wrong, source) == {"expect_persons_in_each_class"}


def test_a_release_that_tells_nothing_apart(tmp_path):
    top = {"sex": 1, "area": 2, "ward": 2, "code": 2}
    tables = tables_of(60, seed=11)
    document = job(knows={"rows": 1}, allow_empty_information=True)
    for name, columns in COLUMNS.items():
        for column in columns:
            document["tables"][name]["attributes"][column]["minimum_level"] = top[column]
    source = stacked_source(tables, tmp_path / "source.parquet")
    result = run(document, tables, output=tmp_path / "release")
    strict = load_job({**document, "allow_empty_information": False})
    assert judged(tmp_path / "release", strict, result.published, source) == {"expect_something_to_tell_apart"}


@pytest.mark.parametrize("change", ["gone", "another column", "another type", "another order"])
def test_files_that_are_not_those_of_the_tables(tmp_path, change):
    this, _, _, release = released(tmp_path, {"rows": 1})
    path = release / "patient.parquet"
    if change == "gone":
        path.unlink()
    else:
        table = pq.read_table(path)
        codes = pa.array(range(table.num_rows))
        others = {
            "another column": lambda: table.append_column("ward", codes),
            "another type": lambda: table.set_column(1, "area", codes),
            "another order": lambda: table.select(table.column_names[::-1]),
        }
        pq.write_table(others[change](), path)
    with pytest.raises(InvalidData, match=r"file of a table cannot|have other columns|has several types"):
        stacked_release(release, this.released_of_tables, tmp_path / "stacked.parquet")
    shutil.rmtree(release)
