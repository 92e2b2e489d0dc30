"""The vault of a series: written in two steps, in step with the release folder, and closed when anything is odd."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
from contextlib import contextmanager

import numpy as np
import pytest

from engine import InvalidJob, run
from engine.errors import VaultRefused
from engine.job.open_series import open_series
from engine.pipeline.release import check_manifest
from engine.series import vault as vault_module
from engine.series.keyed_ids import SeriesKey
from engine.series.remembered import History, Remembered, places_among
from engine.series.vault_database import VaultFile
from tests.engine.series.nights import job, patients, stated, table

PEOPLE = patients(40)


def known(folder, **changes):
    return open_series(job(folder, **changes), "").vault.known()


class Killed(BaseException):
    """The process ends here."""


class Mortal(VaultFile):
    """A vault that ends the process before one of its statements."""

    left = 10**9

    def writing(self):
        return _mortal(super().writing())


def _mortal(transaction):
    @contextmanager
    def giving():
        with transaction as run_statement:

            def statement(text, /, **values):
                Mortal.left -= 1
                if Mortal.left < 0:
                    raise Killed
                return run_statement(text, **values)

            yield statement

    return giving()


def in_step(folder):
    """Tell whether the release in the folder is the newest confirmed one of the vault, and nothing is pending."""
    found = known(folder)
    return found[-1].release_id == stated(folder)["release_id"] and {one.state for one in found} == {"confirmed"}


def test_a_release_is_confirmed_with_its_folder(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    run(job(tmp_path), table=table(PEOPLE))
    assert [one.number for one in known(tmp_path)] == [1, 2]
    assert in_step(tmp_path)
    assert (tmp_path / "vault.sqlite").stat().st_mode & 0o077 == 0


def test_a_run_killed_at_any_statement_leaves_vault_and_folder_agreeing_after_the_retry(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.job.open_series.VaultFile", Mortal)
    run(job(tmp_path), table=table(PEOPLE))
    before = 10**9
    Mortal.left = before
    run(job(tmp_path), table=table(PEOPLE))
    statements = before - Mortal.left
    for number in range(0, statements, max(1, statements // 12)):
        Mortal.left = number
        with pytest.raises(Killed):
            run(job(tmp_path), table=table(PEOPLE))
        Mortal.left = 10**9
        check_manifest(tmp_path / "release")
        run(job(tmp_path), table=table(PEOPLE))
        assert in_step(tmp_path)


def test_a_run_killed_between_swap_and_confirmation_is_settled_by_the_folder(tmp_path, monkeypatch):
    run(job(tmp_path), table=table(PEOPLE))

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(vault_module, "confirm_release", killed)
        with pytest.raises(Killed):
            run(job(tmp_path), table=table(PEOPLE))
    # the folder has the second release, of which the vault knows only that it was begun
    assert [one.state for one in known(tmp_path)] == ["confirmed", "pending"]
    run(job(tmp_path), table=table(PEOPLE))
    assert [one.state for one in known(tmp_path)] == ["confirmed"] * 3


def test_nobody_guesses_whether_a_pending_release_was_published(tmp_path, monkeypatch):
    run(job(tmp_path), table=table(PEOPLE))

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(vault_module, "confirm_release", killed)
        with pytest.raises(Killed):
            run(job(tmp_path), table=table(PEOPLE))
    shutil.rmtree(tmp_path / "release")
    with pytest.raises(VaultRefused, match="nobody can tell"):
        run(job(tmp_path), table=table(PEOPLE))


def test_an_older_copy_of_the_vault_is_refused(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    shutil.copy(tmp_path / "vault.sqlite", tmp_path / "copy")
    run(job(tmp_path), table=table(PEOPLE))
    shutil.copy(tmp_path / "copy", tmp_path / "vault.sqlite")
    with pytest.raises(VaultRefused, match="older copy"):
        run(job(tmp_path), table=table(PEOPLE))


def test_no_key_is_made_in_place_of_one_that_was_lost(tmp_path):
    """A new file would look like the key that is to be restored, which would then be refused."""
    run(job(tmp_path), table=table(PEOPLE))
    key = (tmp_path / "key").rename(tmp_path / "copy")
    with pytest.raises(VaultRefused, match=r"key: is missing, .*restore the key, or set series\.begin"):
        run(job(tmp_path), table=table(PEOPLE))
    assert not (tmp_path / "key").exists()
    key.rename(tmp_path / "key")
    run(job(tmp_path), table=table(PEOPLE))


def test_a_new_series_has_a_new_key_where_the_old_one_was_lost(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    (tmp_path / "key").unlink()
    run(job(tmp_path, series={"begin": "anew"}), table=table(PEOPLE))
    assert (tmp_path / "key").exists()


def test_another_key_is_refused(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    (tmp_path / "key").write_text("f" * 64, encoding="utf-8")
    with pytest.raises(VaultRefused, match="another key"):
        run(job(tmp_path), table=table(PEOPLE))


def test_a_job_that_changed_needs_an_explicit_word(tmp_path):
    run(job(tmp_path, k=3), table=table(PEOPLE))
    with pytest.raises(VaultRefused, match=r"series\.begin"):
        run(job(tmp_path, k=4), table=table(PEOPLE))
    new = run(job(tmp_path, k=4, series={"begin": "second"}), table=table(PEOPLE))
    assert new.report["series"]["releases"] == 1
    assert new.report["series"]["name"] == "patients/second"


def test_a_vault_of_a_newer_version_is_refused(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        connection.execute("UPDATE series_vault SET version = 99")
    with pytest.raises(VaultRefused, match="version 99"):
        run(job(tmp_path), table=table(PEOPLE))


def test_a_damaged_vault_is_refused(tmp_path):
    (tmp_path / "vault.sqlite").write_bytes(b"no database" * 500)
    (tmp_path / "vault.sqlite").chmod(0o600)
    with pytest.raises(VaultRefused, match="cannot be used"):
        run(job(tmp_path), table=table(PEOPLE))


def test_a_vault_that_others_may_open_is_refused(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    (tmp_path / "vault.sqlite").chmod(0o644)
    with pytest.raises(VaultRefused, match="chmod 600"):
        run(job(tmp_path), table=table(PEOPLE))


def test_a_run_that_another_one_has_overtaken_releases_nothing(tmp_path, monkeypatch):
    run(job(tmp_path), table=table(PEOPLE))
    whole = vault_module.Vault.remembered

    def overtaken(self, memory, *, before=None):
        found = whole(self, memory, before=before)
        with monkeypatch.context() as patched:
            patched.setattr(vault_module.Vault, "remembered", whole)
            run(job(tmp_path), table=table(PEOPLE))
        return found

    monkeypatch.setattr(vault_module.Vault, "remembered", overtaken)
    with pytest.raises(VaultRefused, match="another run has released"):
        run(job(tmp_path), table=table(PEOPLE))
    assert in_step(tmp_path)


def test_the_vault_holds_nobody_and_no_value(tmp_path):
    people = {number: (age, ward, f"disease of {number % 5}") for number, (age, ward, _) in PEOPLE.items()}
    run(job(tmp_path, diversity=2), table=table(people))
    content = (tmp_path / "vault.sqlite").read_bytes()
    assert not [number for number in people if f"MRN{number}".encode() in content and number > 9]
    assert b"disease" not in content
    assert b"mrn" not in json.dumps(stated(tmp_path)).encode()


def test_only_the_memory_stays(tmp_path):
    for _ in range(5):
        run(job(tmp_path, memory=3), table=table(PEOPLE))
    assert [one.number for one in known(tmp_path)] == [3, 4, 5]


def test_who_is_forgotten_is_found_by_no_key_and_stays_one_of_a_class(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    opened = open_series(job(tmp_path), "")
    before = opened.vault.remembered(4)[0]
    assert opened.vault.forget(opened.key.ids(["MRN7", "nobody"])) == 1
    after = opened.vault.remembered(4)[0]
    assert after.places(opened.key.ids(["MRN7"]))[0] == -1
    assert np.array_equal(before.releases[0].classes, after.releases[0].classes)
    assert (before.ids != after.ids).any(axis=1).sum() == 1


def test_a_release_is_remembered_only_where_it_is_in_a_folder(tmp_path):
    one = job(tmp_path)
    with pytest.raises(InvalidJob, match="series"):
        run(one.model_copy(update={"output": None}), table=table(PEOPLE))


def test_traces_are_numbers_of_equal_sequences():
    """Four persons over three releases: the first two are always together, the last is in none."""
    classes = [[0, 0, 1, -1], [2, 2, -1, -1], [-1, -1, 0, -1]]
    releases = [Remembered(str(n), {}, np.array(one, np.int32), {}, {}) for n, one in enumerate(classes)]
    found = History(np.eye(4, 16, dtype=np.uint8), releases).traces()
    assert found[0] == found[1] != found[2]
    assert (found[:3] > 0).all()
    assert found[3] == 0


def test_a_vault_of_the_version_without_kept_records_is_migrated(tmp_path):
    run(job(tmp_path), table=table(PEOPLE))
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        connection.execute("ALTER TABLE series_release DROP COLUMN kept")
        connection.execute("UPDATE series_vault SET version = 1")
    assert run(job(tmp_path), table=table(PEOPLE)).report["series"]["releases"] == 2


def test_a_series_of_the_version_that_read_spellings_goes_on(tmp_path):
    """Nobody is taken for another one because persons are read otherwise since."""
    one = job(tmp_path)
    run(one, table=table(PEOPLE))
    secret = (tmp_path / "key").read_bytes().strip()
    key, spelled = SeriesKey(secret, "patients"), SeriesKey(secret, "patients", lambda: True)
    persons = [f"MRN{number}" for number in PEOPLE]
    with sqlite3.connect(tmp_path / "vault.sqlite") as connection:
        (ids,) = connection.execute("SELECT ids FROM series").fetchone()
        of_spelling = dict(zip(map(bytes, key.ids(persons)), map(bytes, spelled.ids(persons)), strict=True))
        ids = b"".join(of_spelling[ids[place : place + 16]] for place in range(0, len(ids), 16))
        connection.execute("UPDATE series SET ids = ?, key_check = ?", (ids, key.checks[1]))
    report = run(one, table=table(PEOPLE)).report["series"]
    assert (report["releases"], report["held_back_share"], report["covered_share"]) == (2, 0, 0)


def test_what_is_removed_is_not_left_in_the_file(tmp_path):
    file = VaultFile(tmp_path / "vault.sqlite")
    with file.writing() as statement:
        statement("CREATE TABLE held (content BLOB)")
        statement("INSERT INTO held VALUES (:content)", content=b"record of somebody" * 1000)
    with file.writing() as statement:
        statement("DELETE FROM held")
    assert b"record of somebody" not in file.path.read_bytes()


def test_persons_are_found_by_the_whole_id():
    """Two known ids have one first half; a free place, which has no id, is nobody's."""
    known = np.zeros((5, 16), np.uint8)
    known[1, 0], known[3, 0], known[3, 15], known[4, 3] = 9, 9, 1, 7
    wanted = np.zeros((5, 16), np.uint8)
    wanted[0], wanted[1], wanted[2], wanted[3, 0], wanted[3, 15] = known[3], known[4], known[1], 9, 2
    assert places_among(wanted, known).tolist() == [3, 4, 1, -1, -1]
    assert places_among(wanted, known[:0]).tolist() == [-1] * 5
    assert places_among(wanted[1:3], known).tolist() == [4, 1]


def test_a_full_disk_is_one_so_that_the_task_is_tried_again(tmp_path):
    file = VaultFile(tmp_path / "vault.sqlite")
    with file.writing() as run:
        run("CREATE TABLE some (content BLOB)")

    def fill():
        with file.writing() as run:
            run("PRAGMA max_page_count = 3")
            run("INSERT INTO some VALUES (:content)", content=bytes(100_000))

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill()
    assert caught.value.errno == errno.ENOSPC
    with file.writing() as run:
        assert run("SELECT count(*) FROM some") == [(0,)]
