"""Persons are counted inside MariaDB as elsewhere, whatever its collations hold for the same person."""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import sqlalchemy as sa
from airflow.providers.common.compat.sdk import AirflowFailException
from hypothesis import given
from hypothesis import strategies as st

from airflow_anon.dialects.mariadb import MARIADB
from airflow_anon.dialects.registry import DIALECTS
from engine import EngineError, run
from tests.airflow_anon.warehouse import on_mariadb
from tests.airflow_anon.warehouse.inside import (
    TABLE,
    agree,
    by_file,
    by_sql,
    execute,
    extracted,
    in_sql,
    inside,
    table,
    tables,
)
from tests.airflow_anon.warehouse.test_persons import (
    JOBS,
    SLOW_START,
    SOME,
    changed_after_release,
    compared,
    diverse,
    job_of,
    read,
    rows_of,
)
from tests.engine.person_problems import whole_person_problems
from tests.profiles import only, spread
from tests.reference import persons, whole_persons

pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")


@pytest.fixture
def engine(mariadb_server, monkeypatch):
    with on_mariadb.databases(mariadb_server, monkeypatch):
        yield on_mariadb.writing()


def fill(engine, rows, kind="VARCHAR(20)"):
    """Make the source; the collation of all its texts holds e and é for the same."""
    execute(engine, f"CREATE TABLE source (mrn {kind}, age INT, zip TEXT, ward TEXT, dx TEXT)")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO source VALUES (%s, %s, %s, %s, %s)", rows)


def accented(rows):
    """Give each second person the identifier of the one before, with an accent."""
    numbers = {row[0]: int(row[0][1:]) for row in rows}
    return [(f"{'eé'[numbers[row[0]] % 2]}{numbers[row[0]] // 2}", *row[1:]) for row in rows]


@pytest.mark.parametrize("name", only(JOBS, SOME.__contains__))
def test_every_backend_counts_the_same_persons(engine, tmp_path, name):
    fill(engine, accented(rows_of(120, 4)))
    assert read_one(engine, "SELECT count(DISTINCT mrn) FROM source") == 60
    report, _, records, _ = agree(engine, table("source"), JOBS[name], tmp_path)
    assert report["persons"] == 120
    assert records.total() == report["released"]


def read_one(engine, statement):
    with engine.connect() as connection:
        return connection.exec_driver_sql(statement).scalar_one()


@pytest.mark.parametrize("knows", only(["any-row", {"rows": 2}, "all-rows"], lambda one: one == {"rows": 2}))
def test_further_rows_are_left_out(engine, tmp_path, knows):
    """All rows of a person are the same here, so the release does not depend on which of them chance leaves out."""
    fill(engine, accented(rows_of(120, 6, alike=True)))
    document = job_of(diverse(2), knows=knows, max_rows=2, suppression_limit=0.6)
    report, _, _, _ = agree(engine, table("source"), document, tmp_path)
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


UNCLEAR = {
    "missing": None,
    "empty": "",
    "blank": " ",
    "blanks of Unicode": "\u00a0\u3000\t",
    "case": "P7",
    "blanks": " p 7",
    "letters": "\u00c4\u0416",
    "newer letters": "\u13a0",
}


@pytest.mark.parametrize("name", spread(UNCLEAR, 3))
def test_persons_who_cannot_be_told_are_refused_in_the_same_words(engine, tmp_path, name):
    others = [("\u00e4\u0436", 30, "80", "w0", "a"), ("\uab70", 30, "80", "w0", "a")]
    fill(engine, [*rows_of(40, 2), *others])
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE source SET mrn = %s WHERE mrn = 'p3'", (UNCLEAR[name],))
    path = extracted(table("source"), job_of(), tmp_path / "source.parquet")
    for most in ({}, {"max_rows": 2}):
        document = job_of(**most)
        kind, text = by_sql(engine, table("source"), document)
        assert (kind, text) == by_file(document, path, "arrow")
        assert kind == "InvalidData"
        assert "has a missing or blank value" in text or "values that are another but for case" in text
    assert tables(engine) == ["source"]


UNICODE_16 = {0x1C89, 0xA7CB, 0xA7CC, 0xA7DA, 0xA7DC, *range(0x10D50, 0x10D66)}
"""Capital letters that are newer than those that MariaDB knows, and known to some versions of Python."""


@pytest.mark.thorough
def test_each_letter_of_unicode_has_the_small_letter_that_arrow_says(engine):
    """One by one: what a database holds for another letter would make two persons of one, or one of two."""
    signs = [
        chr(one)
        for one in range(1, sys.maxunicode + 1)
        if one not in UNICODE_16 and unicodedata.category(chr(one)) not in {"Cs", "Cn"}
    ]
    small = pc.replace_substring_regex(pc.utf8_lower(pa.array(signs)), r"[\s\p{Z}]", "").to_pylist()
    columns = [sa.Column("place", sa.Integer), sa.Column("sign", MARIADB.types["text"]())]
    letters = sa.Table("letters", sa.MetaData(), *columns)
    with engine.begin() as connection:
        letters.create(connection)
        connection.execute(letters.insert(), [{"place": place, "sign": sign} for place, sign in enumerate(signs)])
        asked = sa.select(letters.c.sign, MARIADB.plain(letters.c.sign)).order_by(letters.c.place)
        found = connection.execute(asked).all()
    assert [sign for sign, _ in found] == signs
    assert [plain for _, plain in found] == small


KINDS = {
    "INT": "n",
    "UUID": "concat('00000000-0000-0000-0000-', lpad(n, 12, '0'))",
    "DECIMAL(9, 0)": "n",
    "CHAR(9)": "n",
    "DATE": "date_add('2020-01-01', INTERVAL n DAY)",
    "VARCHAR(9) CHARACTER SET latin1": "concat(if(n %% 2, 'e', 'é'), n DIV 2)",
}


@pytest.mark.parametrize("kind", spread(KINDS, 1))
def test_persons_are_told_by_identifiers_of_any_type(engine, tmp_path, kind):
    fill(engine, rows_of(60, 3))
    execute(
        engine,
        f"CREATE TABLE other (mrn {kind}, age INT, zip TEXT, ward TEXT, dx TEXT)",
        f"INSERT INTO other SELECT {KINDS[kind]}, age, zip, ward, dx "
        "FROM (SELECT source.*, CAST(substr(mrn, 2) AS INT) AS n FROM source) numbered",
    )
    report, _, _, _ = agree(engine, table("other"), job_of(suppression_limit=0.5), tmp_path)
    assert report["persons"] == 60


def test_a_column_may_have_the_name_of_any_helper(engine, tmp_path):
    fill(engine, rows_of(60, 3))
    names = {"mrn": "id", "age": "person", "zip": "person_place", "ward": "value0", "dx": "records"}
    for old, new in names.items():
        execute(engine, f"ALTER TABLE source RENAME COLUMN {old} TO {new}")
    document = job_of(diverse(2), suppression_limit=0.5, max_rows=3)
    document["attributes"] = {names[name]: entry for name, entry in document["attributes"].items()}
    document["privacy"][1]["attribute"] = "records"
    agree(engine, table("source"), {**document, "subject": "id"}, tmp_path)


def test_what_a_recount_reads_has_no_identifier(engine):
    """Numbers of persons are given by chance, and rows beyond have no values; no other table is left."""
    fill(engine, rows_of(60, 6))
    document = job_of(diverse(2), suppression_limit=0.5, max_rows=2)
    numbers = []
    for _ in range(2):
        with inside(engine, table("source"), document) as warehouse:
            run(in_sql(document), warehouse)
            people = read(warehouse, f"SELECT * FROM {TABLE}_people ORDER BY 1, 2, 3, 4")
            for helper in ("persons", "staged"):
                with pytest.raises(sa.exc.ProgrammingError, match="doesn't exist"):
                    read(warehouse, f"SELECT 1 FROM {TABLE}_{helper}")
        assert {len(row) for row in people} == {6}
        assert {row[:3] for row in people if row[4] == 1} == {(None, None, None)}
        assert sum(row[5] for row in people) == len(rows_of(60, 6))
        assert not any(str(cell).startswith("p") for row in people for cell in row)
        numbers.append(people)
    assert numbers[0] != numbers[1]
    assert tables(engine) == ["source"]


# of a class that is large enough not to be suppressed, in which nobody would see the change
LARGEST = (
    "SELECT value0 DIV 10 AS ten, value1 FROM made_people WHERE further = 0 "
    "GROUP BY 1, 2 ORDER BY sum(records) DESC, 1, 2 LIMIT 1"
)
SAME = "WHERE further = 0 AND (value0 DIV 10, made_people.value1) = (one.ten, one.value1)"
CHANGES = [
    "UPDATE made_people SET person = 0",
    f"UPDATE made_people, ({LARGEST}) one SET made_people.value0 = 99 {SAME}",
    "UPDATE made_people SET further = 1 - further LIMIT 1",
    "UPDATE made_people SET person = person + 1000 LIMIT 1",
    "UPDATE made_people SET value2 = 'z' WHERE value2 IS NOT NULL LIMIT 1",
    "DELETE FROM made_people LIMIT 1",
    "UPDATE made_people SET records = records + 1 LIMIT 1",
]


@pytest.mark.parametrize("change", spread(CHANGES, 3))
def test_the_recount_does_not_believe_what_was_counted_before(engine, change):
    """What is changed between the release and its recount is found."""
    fill(engine, rows_of(60, 3))
    document = job_of(diverse(2), suppression_limit=0.5, max_rows=2)
    with inside(engine, table("source"), document) as warehouse:
        changed_after_release(warehouse, change)
        with pytest.raises(EngineError) as caught:
            run(in_sql(document), warehouse)
    assert type(caught.value).__name__ in {"VerificationFailed", "InvalidData"}


def merged(sql, _):
    return f"CONVERT({sql} USING utf8mb4) COLLATE utf8mb4_general_ci"


def by_old_letters(text):
    return sa.func.lower(sa.func.regexp_replace(text, "[ \u00a0\t\u2003\u3000]", ""))


def split(sql, _):
    return f"concat(convert({sql} using utf8mb4), '|', RAND())"


LIES = {
    "identifiers that differ in accents are one person": ({"bytewise": merged}, "makes one person of several"),
    "equal identifiers are several persons": ({"bytewise": split}, "makes one person of several identifiers, or"),
    "letters are those of an old Unicode": (
        {"plain": by_old_letters},
        "does not tell which identifiers are others but for case",
    ),
    "blanks are not told": ({"plain": sa.func.lower}, "does not tell which identifiers are others but for case"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_does_not_tell_persons_is_refused_before_anything_is_counted(engine, monkeypatch, lie):
    changes, told = LIES[lie]
    fill(engine, rows_of(40, 2))
    # which would find the first two
    monkeypatch.setattr("airflow_anon.warehouse.warehouse.try_expressions", lambda *_: None)
    monkeypatch.setitem(DIALECTS, "mariadb", replace(MARIADB, **changes))
    with (
        pytest.raises(AirflowFailException, match=f"this server of mariadb {told}.*; nothing was counted"),
        inside(engine, table("source"), job_of()),
    ):
        pass
    assert tables(engine) == ["source"]
