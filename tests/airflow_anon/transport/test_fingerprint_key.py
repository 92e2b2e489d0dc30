"""The key of source fingerprints: where it comes from, who may read it, and that there is one of it."""

from __future__ import annotations

import errno
import json
import logging
import multiprocessing
import os
import re
import stat
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_anon.transport import fingerprint_key as module
from airflow_anon.transport.fingerprint_key import fingerprint_key, known_key
from engine import FingerprintKey

LONG = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Give an empty AIRFLOW_HOME, without the setting."""
    monkeypatch.delenv("AIRFLOW_ANON_FINGERPRINTS", raising=False)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def written(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def refused(place, reason):
    with pytest.raises(AirflowFailException, match=reason) as told:
        fingerprint_key(str(place))
    return str(told.value)


def test_it_is_made_once_in_airflow_home(home, caplog):
    caplog.set_level(logging.DEBUG)
    first = fingerprint_key()
    (file,) = home.iterdir()
    assert file.name == "deidentification_fingerprint.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    content = file.read_text()
    assert re.fullmatch("[0-9a-f]{64}\n", content)
    assert first == fingerprint_key() == FingerprintKey(content.strip().encode())
    assert str(file) in caplog.text
    assert content.strip() not in caplog.text + repr(first) + first.id


def test_a_later_task_makes_no_key_in_place_of_a_lost_one(tmp_path, caplog):
    """The fingerprint of the run is under the lost one, which may be restored."""
    file = tmp_path / "key"
    assert known_key(str(file), logging.getLogger("task"), "not stated") is None
    assert not file.exists()
    assert re.search(f"not stated: .*file {file}: .*No such file.*restore it, or clear the whole run", caplog.text)
    made = fingerprint_key(str(file))
    assert known_key(str(file), logging.getLogger("task"), "not stated") == made.secret


def test_the_setting_and_the_argument_name_another_file(home, monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_ANON_FINGERPRINTS", str(tmp_path / "a" / "key"))
    by_setting = fingerprint_key()
    by_argument = fingerprint_key(str(tmp_path / "b"))
    assert by_setting.id != by_argument.id
    assert fingerprint_key().id == by_setting.id
    assert not home.exists()


def test_the_same_key_in_a_connection_and_in_a_file(monkeypatch, tmp_path):
    """An editor may end the file with a line end."""
    monkeypatch.setenv("AIRFLOW_CONN_FINGERPRINTS", json.dumps({"conn_type": "generic", "password": LONG}))
    assert fingerprint_key("fingerprints") == fingerprint_key(str(written(tmp_path / "key", f"{LONG}\n")))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_file_that_others_may_open_is_refused(tmp_path, mode):
    told = refused(written(tmp_path / "key", LONG, mode), f"has mode {mode:04o}, must be closed")
    assert LONG not in told


@pytest.mark.parametrize("text", ["", "\n", LONG[:31], f"{LONG[:31]}\n   \n"])
def test_a_short_key_is_refused_and_kept(tmp_path, text):
    file = written(tmp_path / "key", text)
    told = refused(file, "must be at least 32, such as the output of `openssl rand -hex 32`$")
    assert file.read_text() == text
    assert not text.strip() or text.strip() not in told


def test_a_file_of_somebody_else_is_refused(monkeypatch, tmp_path):
    file = written(tmp_path / "key", LONG)
    monkeypatch.setattr(module.os, "geteuid", lambda: file.stat().st_uid + 1)
    if file.stat().st_uid == 0:
        os.chown(file, 4242, -1)
    refused(file, "belongs to user")


@pytest.mark.parametrize("text", [None, "", "short"])
def test_a_connection_without_a_key_is_refused(monkeypatch, text):
    monkeypatch.setenv("AIRFLOW_CONN_FINGERPRINTS", json.dumps({"conn_type": "generic", "password": text}))
    refused(
        "fingerprints", "connection 'fingerprints': the length of its password in bytes is [05], must be at least 32"
    )


def test_what_is_no_place_of_a_key_is_refused(tmp_path):
    for key_itself in (LONG, f"{LONG}/+"):
        told = refused(key_itself, "id of an Airflow connection, or by the absolute|connection is not defined; add it")
        assert LONG not in told
    refused(tmp_path, "cannot be read or made .Is a directory.*name a connection in AIRFLOW_ANON_FINGERPRINTS")
    os.mkfifo(tmp_path / "pipe", 0o600)
    refused(tmp_path / "pipe", "is not a file; remove it")
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "key", "cannot be read or made")


def test_a_full_disk_is_told_as_one(tmp_path, monkeypatch):
    """Another place for the key would not help, and the next try does."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left on device"):
            fingerprint_key(str(tmp_path / "key"))
    assert list(tmp_path.iterdir()) == []
    assert fingerprint_key(str(tmp_path / "key")).id


def test_processes_that_start_at_once_have_one_key(tmp_path):
    """Whoever comes first makes it; nobody reads it half written, and nothing else stays."""
    fork = multiprocessing.get_context("fork")
    start, found = fork.Barrier(4), fork.SimpleQueue()

    def make():
        start.wait()
        found.put(fingerprint_key(str(tmp_path / "keys" / "key")).id)

    processes = [fork.Process(target=make) for _ in range(4)]
    for process in processes:
        process.start()
    ids = {found.get() for _ in processes}
    for process in processes:
        process.join()
    assert len(ids) == 1
    assert [file.name for file in (tmp_path / "keys").iterdir()] == ["key"]


def test_the_key_of_a_faster_process_is_taken(monkeypatch, tmp_path):
    """The moment between looking and making."""
    file = written(tmp_path / "key", LONG)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert fingerprint_key(str(file)) == FingerprintKey(LONG.encode())
    assert [one.name for one in tmp_path.iterdir()] == ["key"]
