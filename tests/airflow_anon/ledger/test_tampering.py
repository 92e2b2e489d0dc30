"""Whatever somebody changes in the tables is found, and nothing that they hold stops the check.

Publications that have begun are not chained: of them only what cannot be read, or contradicts an entry, is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from airflow_anon.ledger.chain import canonical_json, entry_sha256, text_sha256
from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.schema import VERSION_TABLE
from airflow_anon.ledger.store import Ledger
from tests.airflow_anon.ledger.documents import document
from tests.airflow_anon.ledger.tables import KEYS, insert, is_unbroken, owner, remove, replace, rows_of

CHAINED = ("release_ledger", "release_document", "ledger_head")


@pytest.fixture
def written(ledger: Ledger) -> Ledger:
    """Give a ledger of four entries, one of them without figures, and a publication that has begun."""
    ledger.append(document(1))
    ledger.append(document(2, "refused"))
    bare = {name: document(3, "failed")[name] for name in ("format", "outcome", "name", "run", "publication")}
    ledger.append(bare)
    ledger.append(document(4, name="persons"))
    ledger.begin(document(5))
    assert ledger.check() == []
    return ledger


def changed_values(value: Any, *, sqlite: bool) -> list[Any]:
    """Return other values of the same kind; in SQLite, which holds anything anywhere, also of others."""
    if isinstance(value, bool):
        return [not value, *([7, "true", b"\x01"] if sqlite else [])]
    odd = [b"\xff", "odd", 0.5] if sqlite else []
    if isinstance(value, str):
        return [value + " ", value.upper() if value.upper() != value else "", *([b"\xff"] if sqlite else [])]
    if isinstance(value, int):
        return [value + 1, -value - 1, *odd]
    if isinstance(value, float):
        return [math.nextafter(value, math.inf), -1.0, *([] if sqlite else [math.nan, math.inf]), *odd[:2]]
    return [0.0, "", *odd] if sqlite else []


def mutants(row: dict[str, Any], nullable: set[str], *, sqlite: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in row.items():
        shown = bool(value) if sqlite and name == "optimal" and value is not None else value
        others = changed_values(shown, sqlite=sqlite)
        if name in nullable:
            others.append(None if value is not None else {"optimal": True, "rows": 1, "suppressed": 1}.get(name, "1"))
        for other in others:
            yield name, {**row, name: other}


def test_every_changed_cell_is_found(written, ledger_url):
    missed = []
    sqlite = ledger_url.startswith("sqlite")
    with owner(ledger_url) as connection:
        tables = {table: rows_of(connection, table) for table in CHAINED}
        inspector = sa.inspect(connection)
        nullable = {t: {c["name"] for c in inspector.get_columns(t) if c["nullable"]} for t in CHAINED}
    tried = set()
    for table, rows in tables.items():
        for row in rows:
            for name, mutant in mutants(row, nullable[table], sqlite=sqlite):
                try:
                    with owner(ledger_url) as connection:
                        replace(connection, table, row, mutant)
                except sa.exc.DBAPIError:
                    # The database does not hold such a value there.
                    continue
                tried.add((table, row["sequence"], name))
                if not written.check():
                    missed.append(f"{table} {row['sequence']}: {name} becomes {mutant[name]!r}")
                with owner(ledger_url) as connection:
                    replace(connection, table, mutant, row)
    assert missed == []
    assert tried == {(table, row["sequence"], name) for table, rows in tables.items() for row in rows for name in row}
    assert written.check() == []
    assert is_unbroken(ledger_url)


def test_every_changed_byte_of_a_document_is_found(written, ledger_url):
    with owner(ledger_url) as connection:
        row = rows_of(connection, "release_document")[1]
        texts = connection.execute(sa.text("SELECT document FROM release_document WHERE sequence = 2"))
        length = len(texts.scalar_one())
    for place in range(0, length, 23):
        text = row["document"]
        swapped = text[:place] + ("1" if text[place] != "1" else "2") + text[place + 1 :]
        with owner(ledger_url) as connection:
            replace(connection, "release_document", row, {**row, "document": swapped})
        assert [found.sequence for found in written.check()] == [2]
        assert written.check([1, 3]) == []
        assert [found.sequence for found in written.check([2])] == [2]
        with owner(ledger_url) as connection:
            replace(connection, "release_document", row, row)


def test_every_removed_row_is_found(written, ledger_url):
    with owner(ledger_url) as connection:
        tables = {table: rows_of(connection, table) for table in CHAINED}
    for table, rows in tables.items():
        for row in rows:
            with owner(ledger_url) as connection:
                remove(connection, table, row)
            found = written.check()
            assert found, (table, row["sequence"])
            assert table == "ledger_head" or row["sequence"] in {broken.sequence for broken in found}
            with owner(ledger_url) as connection:
                insert(connection, table, row)
    assert written.check() == []


def test_an_entry_removed_with_its_document_is_found_by_the_chain_alone(written, ledger_url):
    for sequence, said in ((1, "Entry 1 is missing"), (2, "Entry 2 is missing"), (4, "missing from the end")):
        with owner(ledger_url) as connection:
            kept = {t: [r for r in rows_of(connection, t) if r["sequence"] == sequence] for t in CHAINED[:2]}
            for table, (row,) in kept.items():
                remove(connection, table, row)
        assert any(broken.sequence == sequence and said in broken.what for broken in written.check_chain())
        with owner(ledger_url) as connection:
            for table, (row,) in kept.items():
                insert(connection, table, row)
    assert written.check() == []


def test_the_last_entries_removed_and_the_head_moved_back_is_found_by_a_hash_from_outside(written, ledger_url):
    """What the tables alone cannot show: they are then those of an earlier day."""
    last = written.entry(4)
    with owner(ledger_url) as connection:
        (head,) = rows_of(connection, "ledger_head")
        for table in CHAINED[:2]:
            remove(connection, table, {"sequence": 4})
        replace(connection, "ledger_head", head, {"sequence": 3, "entry_sha256": last.previous_sha256})
    assert written.check() == []
    assert written.entry(4) is None


def test_an_entry_that_was_made_anew_breaks_the_link_to_it(written, ledger_url):
    """Its own hashes all fit; that of the entry after it names the one that stood there before."""
    with owner(ledger_url) as connection:
        row = rows_of(connection, "release_ledger")[1]
        text = canonical_json({**written.document(2), "reason": None})
        changed = {**row, "optimal": bool(row["optimal"]), "document_sha256": text_sha256(text)}
        changed["entry_sha256"] = entry_sha256(changed)
        replace(connection, "release_ledger", row, changed)
        replace(connection, "release_document", {"sequence": 2}, {"sequence": 2, "document": text})
    assert [(b.sequence, "does not follow entry 2" in b.what) for b in written.check()] == [(3, True)]
    assert len(written.check_chain()) == 1


def test_swapped_rows_are_found(written, ledger_url):
    for table in CHAINED[:2]:
        with owner(ledger_url) as connection:
            first, second = rows_of(connection, table)[:2]
            for row in (first, second):
                remove(connection, table, row)
            insert(connection, table, {**first, "sequence": 2})
            insert(connection, table, {**second, "sequence": 1})
        assert {1, 2} <= {broken.sequence for broken in written.check()}
        with owner(ledger_url) as connection:
            for row in (first, second):
                remove(connection, table, row)
            for row in (first, second):
                insert(connection, table, row)
    assert written.check() == []


def test_duplicated_rows_are_found(written, ledger_url):
    with owner(ledger_url) as connection:
        tables = {table: rows_of(connection, table)[-1] for table in CHAINED}
    for table, row in tables.items():
        twin = {**row, "sequence": 5}
        if table == "release_ledger":
            twin |= {"entry_sha256": "cd" * 32, "release_id": "release-9"}
        with owner(ledger_url) as connection:
            insert(connection, table, twin)
        assert written.check(), table
        with owner(ledger_url) as connection:
            remove(connection, table, twin)


def test_a_new_chain_is_found_where_a_document_contradicts_its_row(written, ledger_url):
    """Somebody who makes all hashes again has to make row and document agree as well."""
    with owner(ledger_url) as connection:
        row = rows_of(connection, "release_ledger")[-1]
        (head,) = rows_of(connection, "ledger_head")
    texts = ("job", "dag_id", "run_id", "task_group", "release_id", "job_sha256", "manifest_sha256")
    figures = ("suppressed_share", "information_loss", "privacy_margin", "seconds")
    decided = {**dict.fromkeys(texts, "other"), **dict.fromkeys(figures, 0.9)}
    decided |= {"outcome": "refused", "attempt": 9, "rows": 9, "suppressed": 9, "optimal": False}
    for name, value in decided.items():
        changed = {**row, "optimal": bool(row["optimal"]), name: value}
        changed["entry_sha256"] = entry_sha256(changed)
        with owner(ledger_url) as connection:
            replace(connection, "release_ledger", row, changed)
            replace(connection, "ledger_head", head, {**head, "entry_sha256": changed["entry_sha256"]})
        assert written.check_chain() == []
        assert is_unbroken(ledger_url)
        assert [(b.sequence, name in b.what) for b in written.check()] == [(4, True)]
        with owner(ledger_url) as connection:
            replace(connection, "release_ledger", row, row)
            replace(connection, "ledger_head", head, head)
    assert written.check() == []


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", '"\\ud800"', "[" * 100_000, "9" * 10_000, '{"format":1}', '{"format":1,"run":3}']
)
def test_a_document_that_is_none_is_a_break_even_with_its_hash(written, ledger_url, text):
    with owner(ledger_url) as connection:
        row = rows_of(connection, "release_ledger")[-1]
        (head,) = rows_of(connection, "ledger_head")
        changed = {**row, "optimal": bool(row["optimal"]), "document_sha256": text_sha256(text)}
        changed["entry_sha256"] = entry_sha256(changed)
        replace(connection, "release_ledger", row, changed)
        replace(connection, "ledger_head", head, {**head, "entry_sha256": changed["entry_sha256"]})
        replace(connection, "release_document", {"sequence": 4}, {"sequence": 4, "document": text})
    assert [(b.sequence, b.dag_id, "cannot be read" in b.what) for b in written.check()] == [(4, "nightly", True)]
    assert len(written.entries()) == 4
    if not text.startswith('{"format"'):
        with pytest.raises(LedgerError, match="entry 4"):
            written.document(4)


def test_pending_rows_are_checked_as_far_as_can_be_known(written, ledger_url):
    with owner(ledger_url) as connection:
        (row,) = rows_of(connection, "pending_release")
    for changed in ({"manifest_sha256": "short"}, {"manifest_sha256": "x" * 64}, {"release_id": "release-1"}):
        with owner(ledger_url) as connection:
            replace(connection, "pending_release", row, {**row, **changed})
        assert [(b.sequence, b.dag_id) for b in written.check()] == [(None, "nightly")], changed
        with owner(ledger_url) as connection:
            replace(connection, "pending_release", {**row, **changed}, row)
    assert written.check() == []


def test_missing_tables_and_columns_are_breaks(written, ledger_url):
    with owner(ledger_url) as connection:
        connection.execute(sa.text("DROP INDEX release_ledger_outcome"))
        connection.execute(sa.text("ALTER TABLE release_ledger DROP COLUMN seconds"))
    assert ["release_ledger.seconds" in b.what for b in Ledger(ledger_url).check()] == [True]
    for table in ("release_document", "pending_release", "ledger_head", "release_ledger"):
        with owner(ledger_url) as connection:
            connection.execute(sa.text(f"DROP TABLE {table}"))
        assert any(table in b.what for b in written.check_chain())
        assert any(table in b.what for b in written.check())


def test_a_table_without_types_and_keys_is_a_break(tmp_path):
    """SQLite holds anything in a column of no type, the number of an entry included."""
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    ledger = Ledger(url)
    ledger.append(document(1))
    with owner(url) as connection:
        row = rows_of(connection, "release_ledger")[0]
        (head,) = rows_of(connection, "ledger_head")
        for table, columns in (("release_ledger", row), ("ledger_head", head)):
            connection.execute(sa.text(f"DROP TABLE {table}"))
            connection.execute(sa.text(f"CREATE TABLE {table} ({', '.join(columns)})"))
    for number in ("1", "x", None, 1.5, b"1", 0, -1, 2**62):
        for table, columns in (("release_ledger", row), ("ledger_head", head)):
            with owner(url) as connection:
                connection.execute(sa.text(f"DELETE FROM {table}"))
                insert(connection, table, {**columns, "sequence": number})
        assert ledger.check_chain(), number
        assert len(ledger.entries()) == 1
    with owner(url) as connection:
        insert(connection, "release_ledger", row)
        insert(connection, "release_ledger", row)
    assert any("twice" in b.what for b in ledger.check())


def test_nothing_is_chained_to_a_head_that_was_removed(written, ledger_url):
    with owner(ledger_url) as connection:
        connection.execute(sa.text("DELETE FROM ledger_head"))
    with pytest.raises(LedgerError, match="verify"):
        written.append(document(6))
    assert len(written.entries()) == 4


def test_an_entry_after_a_removed_one_leaves_the_gap(written, ledger_url):
    with owner(ledger_url) as connection:
        for table in CHAINED[:2]:
            remove(connection, table, {"sequence": 4})
    assert written.append(document(6)).sequence == 5
    assert [b.sequence for b in written.check()] == [4]


def test_bytes_that_are_no_text_are_found_and_still_shown(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    ledger = Ledger(url)
    ledger.append(document(1, name="caf\ufffd"))
    with owner(url) as connection:
        connection.execute(sa.text("UPDATE release_ledger SET job = CAST(x'636166ff' AS TEXT)"))
    assert [b.sequence for b in ledger.check()] == [1, 1]
    (entry,) = ledger.entries()
    assert entry.job.encode() == "caf\ufffd".encode()


def test_breaks_name_the_dag_of_their_entry(written, ledger_url):
    assert set(KEYS) == {*CHAINED, "pending_release"}
    with owner(ledger_url) as connection:
        connection.execute(sa.text("UPDATE release_ledger SET rows = 5 WHERE sequence = 2"))
    (broken, contradiction) = written.check()
    assert (broken.sequence, broken.dag_id, contradiction.sequence) == (2, "nightly", 2)
    assert written.check_chain() == [broken]
    assert canonical_json(broken.what).isascii()


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "DROP TABLE {}", "UPDATE {} SET version_num = 'x'"])
def test_a_ledger_without_its_version_is_no_empty_one(written, ledger_url, statement):
    """To a process that opened it before, and to one that opens it now."""
    with owner(ledger_url) as connection:
        connection.execute(sa.text(statement.format(VERSION_TABLE)))
    assert ["version" in found.what for found in written.check()] == [True]
    assert ["version" in found.what for found in written.check_chain()] == [True]
    fresh = Ledger(ledger_url)
    if "UPDATE" in statement:
        with pytest.raises(LedgerError, match="newer version"):
            fresh.check()
    else:
        assert fresh.exists()
        assert fresh.entries() == written.entries() != []
        assert fresh.check() == written.check()


def swapped(text):
    """Give the document of another release in the place of one that is pending."""
    return text.replace("release-5", "release-4")


@pytest.mark.parametrize(
    "forged", [swapped, lambda text: text.replace("run 5", "run 4"), lambda _: "{}", lambda _: "x"]
)
def test_a_pending_document_of_another_release_is_found_and_not_recorded(written, ledger_url, forged):
    with owner(ledger_url) as connection:
        text = connection.execute(sa.text("SELECT document FROM pending_release")).scalar()
        connection.execute(sa.text("UPDATE pending_release SET document = :text"), {"text": forged(text)})
    assert [found.what for found in written.check()] == ["A pending release was changed: it cannot be read."]
    (row,) = written.pending()
    assert row.document == {}
    with pytest.raises(LedgerError, match="format"):
        written.complete(row.job, row.release_id, row.manifest_sha256)
