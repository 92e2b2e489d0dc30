"""Jobs with several tables: the optimum, what attackers find in the joined release, integrity, and verification."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
import shutil
from collections import Counter

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import InvalidData, InvalidJob, NoSolution, check, check_manifest, load_job, read_release, run, verify
from engine.tables.sources.linked import refuse_shared_keys
from engine.tables.sources.source import open_data
from tests.engine.linked_jobs import (
    COLUMNS,
    HIERARCHIES,
    PSEUDONYM,
    VALUES,
    job,
    rows_of_hierarchies,
    table,
    tables_of,
    weight,
)
from tests.profiles import examples
from tests.reference import linked_tables as reference

SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(300))
ATTACKERS = ["any-row", {"rows": 1}, {"rows": 2}, "all-rows"]
KEY = b"k" * 32
RELEASE_KEY = b"r" * 32


@st.composite
def linked_problems(draw):
    """Draw tables of at most six persons; values may be missing."""
    tables = {}
    for name, columns in COLUMNS.items():
        record = st.fixed_dictionaries({c: st.sampled_from([*VALUES[c], *VALUES[c], None]) for c in columns})
        tables[name] = draw(st.lists(st.tuples(st.integers(0, 5), record), min_size=1, max_size=6))
    for column in HIERARCHIES:
        values = [one.get(column) for records in tables.values() for _, one in records]
        if set(values) == {None}:
            first = next(one for records in tables.values() for _, one in records if column in one)
            first[column] = VALUES[column][0]
    return (
        tables,
        draw(st.sampled_from(ATTACKERS)),
        draw(st.integers(2, 3)),
        draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])),
    )


@SLOW_START
@given(linked_problems())
def test_the_search_finds_the_optimum_over_all_tables(problem):
    tables, knows, k, limit = problem
    given_tables = {
        name: table(
            [(f"p{p}", f"v{n}", *(one[c] for c in COLUMNS[name])) for n, (p, one) in enumerate(tables[name])],
            "person_id",
            *(["visit_id"]),
            *COLUMNS[name],
        )
        for name in tables
    }
    given_tables["patient"] = given_tables["patient"].drop_columns(["visit_id"])
    # builders of groups have the values of the job, and others those of the data
    hierarchies = rows_of_hierarchies()
    there = {one["sex"] for _, one in tables["patient"]} - {None}
    hierarchies["sex"] = {value: hierarchies["sex"][value] for value in there}
    weights = {name: weight(name) for name in HIERARCHIES}
    found = reference.solve(tables, {n: hierarchies[n] for n in HIERARCHIES}, weights, knows, k, limit)
    document = job(
        knows=knows,
        privacy=[{"model": "k-anonymity", "k": k}],
        suppression_limit=limit,
        allow_empty_information=True,
    )
    try:
        report = run(document, given_tables).report
    except NoSolution:
        assert found is None
        return
    levels, loss, gone = found
    assert report["solution"]["information_loss"] == pytest.approx(loss, abs=1e-12)
    assert {name: level for name, level in report["solution"]["levels"].items() if name != "table"} == levels
    assert report["solution"]["suppressed"] == gone
    assert report["solution"]["optimal"]
    assert report["utility"]["loss"] == pytest.approx(loss, abs=1e-12)


def joined(tables):
    """Return the released cells of each person over all tables, who is known by a pseudonym."""
    pieces = []
    for name, released in tables.items():
        frame = released.to_pandas()
        cells = frame[COLUMNS[name]].astype(object).where(frame[COLUMNS[name]].notna(), None)
        pieces.append(pd.DataFrame({"person": frame["person_id"], "cell": [(name, *row) for row in cells.to_numpy()]}))
    return pd.concat(pieces).groupby("person")["cell"].agg(lambda found: tuple(sorted(found, key=repr)))


def fewest(pictures, knows):
    """Return the fewest persons who share what is known of one."""
    if knows == "all-rows":
        return min(Counter(pictures).values())
    parts = [
        {part for n in range(1, knows["rows"] + 1) for part in itertools.combinations(picture, n)}
        for picture in pictures
    ]
    return min(Counter(part for own in parts for part in own).values())


@pytest.mark.parametrize("knows", [{"rows": 2}, {"rows": 3}, "all-rows"], ids=str)
def test_who_joins_the_released_tables_finds_nobody_below_k(knows):
    document = job(PSEUDONYM, knows=knows, privacy=[{"model": "k-anonymity", "k": 4}])
    result = run(document, tables_of(300, seed=3))
    pictures = joined(result.tables)
    assert fewest(pictures, knows) == result.report["classes"]["smallest"] if knows == "all-rows" else True
    assert fewest(pictures, knows) >= 4
    assert result.report["solution"]["suppressed"] > 0
    assert any(len({cell[0] for cell in picture}) == 3 for picture in pictures), "pictures span the tables"


def test_with_any_row_each_class_of_each_table_has_k_persons():
    source = tables_of(120, seed=4)
    result = run(job(knows="any-row", privacy=[{"model": "k-anonymity", "k": 27}], suppression_limit=0.3), source)
    levels = result.report["solution"]["levels"]
    rows = rows_of_hierarchies()
    for name, columns in COLUMNS.items():
        frame = source[name].to_pandas()
        for column in columns:
            frame[column] = [rows[column][value][levels[column]] for value in frame[column]]
        persons = frame.groupby(columns)["person_id"].nunique()
        released = result.tables[name].to_pandas().groupby(columns).size()
        assert set(released.index) == set(persons.index[persons >= 27])
    assert result.report["solution"]["suppressed"] > 0


def keys(tables, name):
    return set(tables[name]["visit_id"].to_pylist())


def test_no_released_record_refers_to_one_that_was_left_out():
    source = tables_of(150, seed=5)
    result = run(job(PSEUDONYM, privacy=[{"model": "k-anonymity", "k": 5}]), source)
    tables = result.tables
    persons = [set(one["person_id"].to_pylist()) for one in tables.values()]
    assert persons[0] < set(range(150)) or len(persons[0]) < 150
    assert persons[1] == persons[0]
    assert persons[2] <= persons[0]
    assert keys(tables, "condition") <= keys(tables, "visit")
    # and each visit kept all of its conditions
    of_source = source["condition"].to_pandas()["visit_id"].value_counts()
    of_release = tables["condition"].to_pandas()["visit_id"].value_counts()
    assert len(of_release) == len(keys(tables, "condition"))
    assert Counter(of_release) <= Counter(of_source)


def test_a_key_of_two_persons_ends_the_run():
    source = tables_of(20)
    visits = source["visit"].to_pandas()
    visits.loc[0, "visit_id"] = visits["visit_id"].iloc[-1]
    with pytest.raises(InvalidData, match="'visit_id': values of a further person: 1;"):
        run(job(PSEUDONYM), {**source, "visit": pa.Table.from_pandas(visits, preserve_index=False)})


def test_a_key_of_both_zeros_is_of_one_person():
    source = pa.table({"person_id": [0.0, -0.0, 1.0], "visit_id": ["a", "a", "b"]})
    refuse_shared_keys(open_data(source), "person_id", ["visit_id"])
    with pytest.raises(InvalidData, match="'visit_id': values of a further person: 1;"):
        refuse_shared_keys(open_data(source.set_column(0, "person_id", [[0.0, 2.0, 1.0]])), "person_id", ["visit_id"])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linked")
    document = job(PSEUDONYM)
    for name, one in tables_of(60, seed=6).items():
        pq.write_table(one, folder / f"{name}.parquet")
        document["tables"][name]["source"] = {"path": str(folder / f"{name}.parquet")}
    result = run(document, output=folder / "release", release_key=RELEASE_KEY)
    return folder, load_job(document), result


def test_a_release_folder_has_a_file_for_each_table(written):
    folder, document, result = written
    release = folder / "release"
    files = set(check_manifest(release)["files"])
    assert files == {
        "patient.parquet",
        "visit.parquet",
        "condition.parquet",
        "report.json",
        "job.yaml",
        "codebook.json",
        "README.md",
    }
    assert pq.read_schema(release / "visit.parquet").names == ["person_id", "visit_id", "ward", "area"]
    report = json.loads((release / "report.json").read_text())
    assert report["tables"] == {
        name: {"released": one.num_rows, "columns": one.column_names} for name, one in result.tables.items()
    }
    assert all(one["released"] > 0 for one in report["tables"].values())
    frame = read_release(release, table="visit")
    assert frame["area"].dtype == "category"
    assert len(frame) == report["tables"]["visit"]["released"]
    with pytest.raises(InvalidData, match="has the tables patient, visit, condition: name one"):
        read_release(release)
    readme = (release / "README.md").read_text()
    assert all(f"`{name}.parquet`" in readme and f"### {name}" in readme for name in COLUMNS)
    assert load_job(release / "job.yaml").sha256 == document.sha256


def test_a_release_is_verified_from_its_files(written):
    folder, document, result = written
    findings = verify(folder / "release", document, result.published, release_key=RELEASE_KEY)
    assert [finding for finding in findings if not finding.holds] == []


@pytest.mark.parametrize("name", list(COLUMNS))
def test_a_record_that_is_missing_or_doubled_in_any_table_is_found(written, name):
    _, document, result = written
    tables = result.tables
    for changed in (tables[name].slice(1), pa.concat_tables([tables[name], tables[name].slice(0, 1)])):
        findings = verify({**tables, name: changed}, document, result.published, release_key=RELEASE_KEY)
        assert "persons" in {finding.check for finding in findings if not finding.holds}


def test_a_record_in_another_table_and_a_foreign_column_are_found(written):
    _, document, result = written
    report = {**result.published, "tables": {**result.published["tables"], "visit": {"released": 1, "columns": []}}}
    failing = [f for f in verify(result.tables, document, report, release_key=RELEASE_KEY) if not f.holds]
    assert ["tables in the report are not" in f.message for f in failing] == [True]
    wider = result.tables["patient"].append_column("ward", pa.nulls(result.tables["patient"].num_rows, pa.string()))
    with pytest.raises(InvalidData, match="table patient must have the columns"):
        verify({**result.tables, "patient": wider}, document, result.published)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda one: one.select(one.column_names[::-1]), "table visit must have its columns in the order person_id, "),
        (
            lambda one: one.set_column(3, "area", one["area"].cast(pa.large_string())),
            "column 'area' of table visit is large_string; it must be string, as in all tables",
        ),
        (
            lambda one: one.set_column(2, "ward", one["ward"].cast(pa.large_string())),
            "column 'ward' of table visit is large_string; it must be string, as in all tables",
        ),
        (
            lambda one: one.set_column(1, "visit_id", one["visit_id"].cast(pa.large_string())),
            "column 'visit_id' of table condition is string; it must be large_string, as in all tables",
        ),
    ],
    ids=["order", "a column of two tables", "a column of one table", "a pseudonym"],
)
def test_a_file_that_is_not_as_it_was_written_is_found(written, tmp_path, change, problem):
    """Its own file alone tells the order of its columns, and their types: stacked, all tables have one."""
    folder, document, result = written
    release = shutil.copytree(folder / "release", tmp_path / "release")
    pq.write_table(change(pq.read_table(release / "visit.parquet")), release / "visit.parquet")
    with pytest.raises(InvalidData, match=re.escape(problem)):
        verify(release, document, result.published, release_key=RELEASE_KEY)


def test_the_same_comes_of_files_of_tables_in_memory_and_of_one_staged_file(written, tmp_path):
    _, document, result = written
    sources = {name: pq.read_table(table.source.path) for name, table in document.tables.items()}
    in_memory = run(document, sources)
    assert in_memory.report["solution"]["levels"] == result.report["solution"]["levels"]
    stacked = pa.concat_tables(
        [one.add_column(0, "table", pa.array([name] * one.num_rows)) for name, one in sources.items()],
        promote_options="default",
    )
    pq.write_table(stacked, tmp_path / "source.parquet")
    staged = run(document.with_source(tmp_path / "source.parquet"))
    assert staged.report["solution"] == {**in_memory.report["solution"]}
    assert {name: one.num_rows for name, one in staged.tables.items()} == {
        name: one.num_rows for name, one in result.tables.items()
    }


def test_a_staged_file_with_a_value_where_a_table_has_no_column_is_refused(written, tmp_path):
    _, document, _ = written
    stacked = pa.table({
        "table": ["patient", "visit", "condition", "visit"],
        "person_id": ["p1"] * 4,
        "visit_id": [None, "v1", "v1", "v2"],
        "sex": ["f", None, "m", None],
        "area": ["n1", "n1", None, "n1"],
        "ward": [None, "w1", None, "w2"],
        "code": [None, None, "a1", None],
    })  # fmt: skip
    pq.write_table(stacked, tmp_path / "source.parquet")
    with pytest.raises(InvalidData, match="'sex': has values in records of a table that lacks it"):
        run(document.with_source(tmp_path / "source.parquet"))
    other = stacked.set_column(0, "table", pa.array(["patient", "visit", "condition", "other"]))
    pq.write_table(other, tmp_path / "source.parquet")
    with pytest.raises(InvalidData, match="some records are of a table that the job does not name"):
        run(document.with_source(tmp_path / "source.parquet"))


def test_nothing_left_to_tell_apart_is_refused():
    everybody = [(f"p{n}", "fm"[n % 2], ["n1", "s1"][n // 2 % 2]) for n in range(4)]
    tables = {
        "patient": table(everybody, "person_id", "sex", "area"),
        "visit": table([(p, f"v{p}", "w1", "n1") for p, _, _ in everybody], "person_id", "visit_id", "ward", "area"),
    }
    document = job(tables=("patient", "visit"), privacy=[{"model": "k-anonymity", "k": 4}], suppression_limit=0.0)
    document["tables"]["visit"]["attributes"]["ward"]["minimum_level"] = 2
    with pytest.raises(NoSolution, match="nothing would be left to tell apart"):
        _ = run(document, tables).tables
    told = run({**document, "allow_empty_information": True}, tables)
    failing = [f.check for f in verify(told.tables, load_job(document), told.report, tables) if not f.holds]
    assert failing == ["information"]


BROKEN = {
    "a record without a person": (
        "visit",
        "person_id",
        lambda v: [None, *v[1:]],
        "has a missing or blank value in 1 of its records",
    ),
    "a person in another case": (
        "visit",
        "person_id",
        lambda v: [v[0].upper(), *v[1:]],
        "another but for case or blanks: 1;",
    ),
    "a person with a blank": (
        "condition",
        "person_id",
        lambda v: [v[0] + " ", *v[1:]],
        "another but for case or blanks: 1;",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_person_who_cannot_be_told_ends_the_run(case):
    name, column, change, match = BROKEN[case]
    source = tables_of(20)
    place = source[name].column_names.index(column)
    changed = source[name].set_column(place, column, pa.array(change(source[name][column].to_pylist())))
    with pytest.raises(InvalidData, match=match):
        run(job(), {**source, name: changed})


def test_ids_of_several_types_end_the_run():
    source = tables_of(20)
    numbers = pa.array([int(one[1:]) for one in source["visit"]["person_id"].to_pylist()])
    visits = source["visit"].set_column(0, "person_id", numbers)
    match = r"'person_id': has several types over the tables of the job \(string in patient, int64 in visit"
    with pytest.raises(InvalidData, match=match):
        run(job(), {**source, "visit": visits})


def test_a_table_without_the_subject_is_named():
    source = tables_of(20)
    with pytest.raises(InvalidData, match=r"subject 'person_id': tables\.visit lack this column"):
        run(job(), {**source, "visit": source["visit"].drop_columns(["person_id"])})


@pytest.mark.parametrize("change", ["lacks", "has"])
def test_columns_that_differ_from_the_job_are_named_with_their_table(change):
    source = tables_of(20)
    visits = source["visit"]
    changed = visits.drop_columns(["ward"]) if change == "lacks" else visits.append_column("extra", visits["ward"])
    match = (
        r"tables\.visit: columns 'ward'" if change == "lacks" else r"tables\.visit: source: column number 5 of its 5"
    )
    with pytest.raises(InvalidData, match=match):
        run(job(), {**source, "visit": changed})


def test_a_table_that_cannot_be_read_or_is_not_given_is_named(tmp_path):
    document = job()
    for name in COLUMNS:
        document["tables"][name]["source"] = {"path": str(tmp_path / f"{name}.parquet")}
    with pytest.raises(InvalidData, match=r"tables\.patient: source .*not found"):
        run(document)
    source = tables_of(5)
    del source["visit"]
    with pytest.raises(InvalidData, match="must give each of the tables patient, visit, condition"):
        run(job(), source)
    with pytest.raises(InvalidJob, match=r"tables\.patient\.source: names no path"):
        run(job())


def test_tables_are_given_by_name(tmp_path):
    source = tables_of(30, seed=6)
    with pytest.raises(InvalidData, match="table: is a Table; a job with tables takes a mapping of their names"):
        run(job(), source["visit"])
    paths = {name: tmp_path / f"{name}.parquet" for name in source}
    for name, path in paths.items():
        pq.write_table(source[name], path)
    assert run(job(), paths).report["solution"] == run(job(), source).report["solution"]
    frames = {name: one.to_pandas() for name, one in source.items()}
    assert run(job(), frames).report["solution"] == run(job(), source).report["solution"]


def test_what_was_made_is_read_by_its_name():
    result = run(job(), tables_of(30, seed=6))
    with pytest.raises(InvalidData, match="table: the job has several tables; read tables"):
        _ = result.table
    assert list(result.tables) == list(COLUMNS)


def test_dates_of_a_person_move_alike_in_all_tables():
    source = tables_of(60, seed=8)
    days = {"visit": dt.date(2026, 3, 1), "condition": dt.date(2026, 3, 4)}
    document = job({**PSEUDONYM, "accept": "linked-rows"}, shift={"days": 90})
    for name, day in days.items():
        column = pa.array([day] * source[name].num_rows, pa.date32())
        source[name] = source[name].append_column(f"{name}_day", column)
        document["tables"][name]["attributes"][f"{name}_day"] = {"role": "insensitive", "action": "shift"}
    result = run(document, source, release_key=RELEASE_KEY)
    visits, conditions = (result.tables[name].to_pandas() for name in days)
    both = visits.merge(conditions, on=["person_id", "visit_id"])
    assert len(both) > 0
    assert {(after - before).days for before, after in zip(both["visit_day"], both["condition_day"], strict=True)} == {
        3
    }
    assert both["visit_day"].nunique() > 10
    findings = verify(result.tables, load_job(document), result.report, source, release_key=RELEASE_KEY)
    assert all(finding.holds for finding in findings)


def test_a_check_reads_the_first_records_of_each_table():
    found = check(job(allow_empty_information=True), tables_of(60, seed=6), most=40)
    assert found.is_sample
    assert found.problems == ()
    assert {name: one["released"] > 0 for name, one in found.published["tables"].items()} == dict.fromkeys(
        COLUMNS, True
    )


def test_rows_of_a_person_are_capped_over_all_tables():
    source = tables_of(80, seed=7, most=4)
    result = run(job(max_rows=2), source, rows_key=KEY)
    assert result.report["further_rows"]["left_out"] > 0
    findings = verify(result.tables, load_job(job(max_rows=2)), result.report, source, rows_key=KEY)
    assert all(finding.holds for finding in findings)
