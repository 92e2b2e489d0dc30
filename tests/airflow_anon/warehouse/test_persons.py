"""Persons are counted inside the warehouse as elsewhere: levels, suppressed records, figures, sorted output."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import EngineError, run
from tests.airflow_anon.warehouse.inside import (
    TABLE,
    agree,
    by_file,
    by_sql,
    connect,
    execute,
    extracted,
    in_sql,
    inside,
    table,
    tables,
)
from tests.engine import build
from tests.engine.person_problems import job_of as job_of_problem
from tests.engine.person_problems import whole_person_problems
from tests.profiles import examples, thorough
from tests.reference import persons, whole_persons

pytestmark = [pytest.mark.postgres]
pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")
SLOW_START = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(30))


@pytest.fixture
def engine(monkeypatch, postgres_database):
    return connect(monkeypatch, postgres_database)


def rows_of(people, most, *, alike=False):
    """Return records of made-up visits: a person has an age and an area, and per visit a ward and a diagnosis."""
    chance = random.Random(7)
    rows = []
    for person in range(people):
        age, area, ward, diagnosis = (chance.randrange(size) for size in (40, 4, 3, 5))
        for _ in range(chance.randint(1, most)):
            if not alike:
                ward, diagnosis = chance.randrange(3), chance.randrange(5)
            rows.append((f"p{person}", age, f"8{area}", f"w{ward}", [*"abcd", None][diagnosis]))
    return rows


def fill(engine, rows, kind="text"):
    columns = f'mrn {kind}, age int, zip text COLLATE "pg_c_utf8", ward text, dx text'
    execute(engine, f"CREATE TABLE source ({columns})")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO source VALUES (%s, %s, %s, %s, %s)", rows)


def job_of(*others, **changes):
    return {
        "name": "persons",
        "subject": "mrn",
        "attributes": {
            "mrn": {"role": "identifying"},
            "age": {"role": "quasi-identifying", "hierarchy": {"builder": "interval", "widths": [5, 10, 20]}},
            "zip": {"role": "quasi-identifying", "hierarchy": {"builder": "redaction", "length": 2}},
            "ward": {"role": "insensitive"},
            "dx": {"role": "sensitive"},
        },
        "privacy": [{"model": "k-anonymity", "k": 3}, *others],
        "suppression_limit": 0.2,
        **changes,
    }


def diverse(l, variant="distinct"):  # noqa: E741 (its name in a job)
    return {"model": "l-diversity", "variant": variant, "attribute": "dx", "l": l}


CLOSE = {"model": "t-closeness", "distance": "equal", "attribute": "dx", "t": 0.3}
JOBS = {
    "star": job_of(diverse(3), CLOSE),
    "drop": job_of(diverse(4), output={"suppressed": "drop"}),
    "two rows": job_of(diverse(3), knows={"rows": 2}),
    "all rows": job_of(CLOSE, knows="all-rows", suppression_limit=0.9),
    "size": job_of(),
    "entropy": job_of(diverse(3, "shannon-entropy")),
    "beta": job_of({"model": "beta-likeness", "variant": "basic", "attribute": "dx", "beta": 1}),
    "disclosure": job_of({"model": "delta-disclosure-privacy", "attribute": "dx", "delta": 2}),
    "one row": job_of(diverse(4), knows={"rows": 1}),
}
SOME = ("star", "two rows", "all rows")


def test_every_backend_counts_the_same_persons(engine, tmp_path):
    fill(engine, rows_of(120, 4))
    for name, document in JOBS.items():
        if name in SOME or thorough():
            report, _, records, _ = agree(engine, table("source"), document, fresh(tmp_path / name))
            assert report["persons"] == 120
            assert records.total() == report["released"]


def fresh(folder):
    folder.mkdir()
    return folder


def test_further_rows_are_left_out(engine, tmp_path):
    """All rows of a person are the same here, so the release does not depend on which of them chance leaves out."""
    fill(engine, rows_of(120, 6, alike=True))
    for knows in ["any-row", {"rows": 2}, "all-rows"] if thorough() else [{"rows": 2}]:
        document = job_of(diverse(2), knows=knows, max_rows=2, suppression_limit=0.6)
        report, _, _, _ = agree(engine, table("source"), document, fresh(tmp_path / str(knows)))
        assert report["further_rows"]["left_out"] > 100


def test_which_rows_are_left_out_is_chance_and_nothing_else(engine):
    """Another choice in each run, of each person as many as may stay, from all of his or her rows."""
    rows = [(f"p{person}", 30, "80", f"{person} {place}", "a") for person in range(20) for place in range(10)]
    fill(engine, rows)
    document = job_of(max_rows=3, allow_empty_information=True)
    document["attributes"]["ward"] = {"role": "insensitive", "accept": "unique"}
    chosen = []
    for _ in range(2):
        _, _, records, _ = by_sql(engine, table("source"), document)
        wards = [record.split("'ward': '")[1].split("'")[0] for record in records.elements()]
        assert set(Counter(ward.split()[0] for ward in wards).values()) == {3}
        chosen.append(set(wards))
    assert chosen[0] != chosen[1]
    assert len({ward.split()[1] for ward in chosen[0] | chosen[1]}) == 10


@SLOW_START
@given(problem=whole_person_problems(), knows=st.sampled_from(["any-row", "all-rows"]))
def test_enumeration_finds_the_same(engine, problem, knows):
    """Random tables of up to eight persons: every transformation is tried by the slow twin."""
    compared(engine, problem, knows, persons.solve if knows == "any-row" else whole_persons.solve)


@SLOW_START
@given(problem=whole_person_problems(models="distinct values"), known=st.integers(1, 3))
def test_enumeration_of_all_sets_of_persons_finds_the_same(engine, problem, known):
    compared(engine, problem, {"rows": known}, whole_persons.solve)


def compared(engine, problem, knows, solve):
    with tempfile.TemporaryDirectory() as folder:
        document = job_of_problem(problem, Path(folder), knows=knows, allow_empty_information=True).document()
        records = build.table(problem)
        columns = ", ".join(f'"{name}" text' for name in records.column_names)
        execute(engine, "DROP TABLE IF EXISTS source", f"CREATE TABLE source ({columns})")
        marks = ", ".join(["%s"] * records.num_columns)
        with engine.begin() as connection:
            rows = [tuple(row.values()) for row in records.to_pylist()]
            connection.exec_driver_sql(f"INSERT INTO source VALUES ({marks})", rows)
        document.pop("source", None)
        found = by_sql(engine, table("source"), document)
        other = by_file(document, extracted(table("source"), document, Path(folder) / "source.parquet"), "arrow")
    assert found[:3] == other[:3]
    known = knows["rows"] if isinstance(knows, dict) else knows
    expected = solve(problem) if known == "any-row" else solve(problem, known)
    if isinstance(found[0], dict):
        assert tuple(found[0]["solution"]["levels"].values()) == expected.levels
        if problem["combine"] != "rank":  # whose losses are several
            assert found[0]["solution"]["information_loss"] == pytest.approx(expected.loss, rel=1e-9, abs=1e-12)


UNCLEAR = {
    "missing": "NULL",
    "empty": "''",
    "blank": "' '",
    "no-break space": "U&'\\00a0\\3000'",
    "case": "'P7'",
    "blanks": "' p 7'",
    "letters": "'ÄΣ'",
}


def test_persons_who_cannot_be_told_are_refused_in_the_same_words(engine, tmp_path):
    fill(engine, [*rows_of(40, 2), ("äσ", 30, "80", "w0", "a")])
    for name, value in UNCLEAR.items() if thorough() else [("letters", UNCLEAR["letters"])]:
        execute(engine, f"UPDATE source SET mrn = {value} WHERE mrn = 'p3' OR zip = 'changed'")
        execute(engine, f"UPDATE source SET zip = 'changed' WHERE mrn IS NULL OR mrn = {value}")
        path = extracted(table("source"), job_of(), fresh(tmp_path / name) / "source.parquet")
        for most in ({}, {"max_rows": 2}):
            document = job_of(**most)
            document["attributes"]["zip"] = {"role": "insensitive"}
            kind, text = by_sql(engine, table("source"), document)
            assert (kind, text) == by_file(document, path, "arrow")
            assert kind == "InvalidData"
            assert "has a missing or blank value" in text or "values that are another but for case" in text
    assert tables(engine) == ["source"]


def test_a_float_that_is_no_number_is_nobody(engine, tmp_path):
    """The database takes all of them for one person."""
    fill(engine, rows_of(40, 2))
    execute(engine, "ALTER TABLE source ALTER mrn TYPE double precision USING substr(mrn, 2)::double precision")
    execute(engine, "UPDATE source SET mrn = 'NaN' WHERE mrn = 3")
    path = extracted(table("source"), job_of(), fresh(tmp_path / "nan") / "source.parquet")
    kind, text = by_sql(engine, table("source"), job_of())
    assert (kind, text) == by_file(job_of(), path, "arrow")
    assert (kind, "has a missing or blank value" in text) == ("InvalidData", True)


@pytest.mark.parametrize("kind", ["double precision", "real"])
def test_both_zeros_of_a_float_are_one_person(engine, tmp_path, kind):
    """The database takes them for equal; their texts are two."""
    fill(engine, rows_of(40, 4))
    execute(engine, f"ALTER TABLE source ALTER mrn TYPE {kind} USING substr(mrn, 2)::{kind} + 0.5")
    execute(engine, "UPDATE source SET mrn = '-0' WHERE mrn = 0.5", "UPDATE source SET mrn = 0 WHERE mrn = 1.5")
    report, _, _, _ = agree(engine, table("source"), job_of(suppression_limit=0.5), tmp_path)
    assert report["persons"] == 39


def test_case_is_told_where_the_locale_knows_no_letters(engine):
    fill(engine, [*rows_of(40, 2), ("Ä", 30, "80", "w0", "a"), ("ä", 30, "80", "w0", "a")])
    execute(engine, 'CREATE VIEW shown AS SELECT mrn COLLATE "C" AS mrn, age, zip, ward, dx FROM source')
    kind, text = by_sql(engine, table("shown"), job_of())
    assert (kind, "values that are another but for case or blanks: 1" in text) == ("InvalidData", True)


def test_a_source_without_the_column_is_refused(engine):
    fill(engine, rows_of(40, 2))
    execute(engine, "ALTER TABLE source DROP COLUMN mrn")
    kind, text = by_sql(engine, table("source"), job_of())
    assert (kind, text[:47]) == ("InvalidData", "subject 'mrn': the source lacks this column, so")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["int", "uuid", "numeric(9, 0)", "char(9)", "date"])
def test_persons_are_told_by_identifiers_of_any_type(engine, tmp_path, kind):
    fill(engine, rows_of(60, 3))
    number = "substr(mrn, 2)::int"
    made = {
        "uuid": f"md5({number}::text)::uuid",
        "date": f"date '2020-01-01' + {number}",
        "char(9)": f"({number})::text::char(9)",
    }.get(kind, f"({number})::{kind}")
    execute(engine, f"ALTER TABLE source ALTER mrn TYPE {kind} USING {made}")
    report, _, _, _ = agree(engine, table("source"), job_of(suppression_limit=0.5), tmp_path)
    assert report["persons"] == 60


def test_a_column_may_have_the_name_of_any_helper(engine, tmp_path):
    fill(engine, rows_of(60, 3))
    names = {"mrn": "id", "age": "person", "zip": "person_place", "ward": "value0", "dx": "records"}
    for old, new in names.items():
        execute(engine, f'ALTER TABLE source RENAME "{old}" TO "{new}"')
    document = job_of(diverse(2), suppression_limit=0.5, max_rows=3)
    document["attributes"] = {names[name]: entry for name, entry in document["attributes"].items()}
    document["privacy"][1]["attribute"] = "records"
    agree(engine, table("source"), {**document, "subject": "id"}, tmp_path)


def test_what_a_recount_reads_has_no_identifier(engine):
    """Numbers of persons are given by chance, and rows beyond have no values."""
    fill(engine, rows_of(60, 6))
    document = job_of(diverse(2), suppression_limit=0.5, max_rows=2)
    numbers = []
    for _ in range(2):
        with inside(engine, table("source"), document) as warehouse:
            run(in_sql(document), warehouse)
            made = sorted(
                row[0] for row in read(warehouse, "SELECT tablename FROM pg_tables WHERE schemaname='public'")
            )
            assert made == [TABLE, f"{TABLE}_people", "source"]
            people = read(warehouse, f"SELECT * FROM {TABLE}_people ORDER BY 1, 2, 3, 4")
        assert {len(row) for row in people} == {6}
        assert {row[:3] for row in people if row[4] == 1} == {(None, None, None)}
        assert sum(row[5] for row in people) == len(rows_of(60, 6))
        assert not any(str(cell).startswith("p") for row in people for cell in row)
        numbers.append(people)
    assert numbers[0] != numbers[1]
    assert tables(engine) == ["source"]


def read(warehouse, statement):
    return [tuple(row) for row in warehouse._connection.exec_driver_sql(statement)]


# of a class that is large enough not to be suppressed, in which nobody would see the change
LARGEST = (
    "SELECT value0 / 10, value1 FROM made_people WHERE further = 0 "
    "GROUP BY 1, 2 ORDER BY sum(records) DESC, 1, 2 LIMIT 1"
)
ONE = f"SELECT min(ctid) FROM made_people WHERE further = 0 AND (value0 / 10, value1) = ({LARGEST})"
CHANGES = [
    "UPDATE made_people SET person = 0",
    f"UPDATE made_people SET value0 = 99 WHERE ctid = ({ONE})",
    "UPDATE made_people SET further = 1 - further WHERE ctid = (SELECT min(ctid) FROM made_people)",
    "UPDATE made_people SET person = person + 1000 WHERE ctid = (SELECT min(ctid) FROM made_people)",
    "UPDATE made_people SET value2 = 'z' WHERE ctid = (SELECT min(ctid) FROM made_people WHERE value2 IS NOT NULL)",
    "DELETE FROM made_people WHERE ctid = (SELECT min(ctid) FROM made_people)",
    "UPDATE made_people SET records = records + 1 WHERE ctid = (SELECT min(ctid) FROM made_people)",
]


def test_the_recount_does_not_believe_what_was_counted_before(engine):
    """What is changed between the release and its recount is found."""
    fill(engine, rows_of(60, 3))
    document = job_of(diverse(2), suppression_limit=0.5, max_rows=2)
    for change in CHANGES if thorough() else CHANGES[:3]:
        with inside(engine, table("source"), document) as warehouse:
            changed_after_release(warehouse, change)
            with pytest.raises(EngineError) as caught:
                # with other keys the changed record may be one that is suppressed
                run(in_sql(document), warehouse, rows_key=bytes([1]) * 32)
        assert type(caught.value).__name__ in {"VerificationFailed", "InvalidData"}, change


def changed_after_release(warehouse, change):
    release = warehouse.release

    def released(rules):
        release(rules)
        warehouse._connection.exec_driver_sql(change)

    warehouse.release = released


def test_a_view_that_gives_other_records_each_time_is_refused(engine):
    """All that is released was read once; that it is not the source any more is found when that is asked again."""
    fill(engine, [(f"p{person}", person, "80", "w0", "a") for person in range(60)])
    execute(
        engine,
        "CREATE SEQUENCE asked",
        "CREATE VIEW other AS SELECT mrn, age, zip, ward, dx FROM source, (SELECT nextval('asked') AS n OFFSET 0) t "
        "WHERE age >= n",
    )
    document = job_of(suppression_limit=1, allow_empty_information=True)
    assert by_sql(engine, table("other"), document)[1].startswith("the source changed while it was counted")
