"""Release folders: every change is detected, and there is never half a one."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import InvalidJob, VerificationFailed, check_manifest, write_manifest
from engine.pipeline import release as release_folder
from engine.pipeline.exchange import exchanged
from engine.pipeline.release import MANIFEST, replacing
from tests.profiles import examples

EVERY = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=examples(200))
FILES = {"data.parquet": b"PAR1 some bytes PAR1", "report.json": b"{}", "job.yaml": b"name: people\n", "empty": b""}


def fill(folder, files=FILES):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return write_manifest(folder, {"name": "people"})


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    fill(folder)
    return folder


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_manifest_names_every_file_with_size_and_hash(release):
    manifest = check_manifest(release)
    assert manifest["name"] == "people"
    assert {name: entry["bytes"] for name, entry in manifest["files"].items()} == {
        name: len(content) for name, content in FILES.items()
    }
    # of the empty text, as published with the standard
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert manifest["files"]["empty"]["sha256"] == empty


def test_the_hash_returned_is_that_of_the_manifest(tmp_path):
    sha256 = fill(tmp_path)
    done = subprocess.run(["sha256sum", tmp_path / MANIFEST], capture_output=True, check=True, text=True)
    assert done.stdout.split()[0] == sha256
    assert check_manifest(tmp_path, sha256) == check_manifest(tmp_path)


@EVERY
@given(st.data())
def test_any_changed_byte_is_detected(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("release")
    sha256 = fill(folder)
    name = data.draw(st.sampled_from([*(name for name, content in FILES.items() if content), MANIFEST]))
    content = bytearray((folder / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    (folder / name).write_bytes(content)
    with pytest.raises(VerificationFailed, match="changed"):
        check_manifest(folder, sha256)
    if name != MANIFEST:
        with pytest.raises(VerificationFailed, match=name):
            check_manifest(folder)


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes() + b" "),
        lambda path: path.rename(path.with_name("other")),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.rename(path.parent.parent / "away"), path.symlink_to(path.parent.parent / "away")),
    ],
    ids=["removed", "longer", "renamed", "folder", "pipe", "link"],
)
def test_removed_replaced_and_renamed_files_are_detected(tmp_path, name, change):
    folder = tmp_path / "release"
    folder.mkdir()
    sha256 = fill(folder)
    change(folder / name)
    with pytest.raises(VerificationFailed):
        check_manifest(folder, sha256)


def test_files_of_any_size_are_told_without_reading_them(release, monkeypatch):
    """Who may write into a folder must not keep whoever checks it busy for days, nor fill the memory."""
    with (release / "data.parquet").open("r+b") as file:
        file.truncate(1 << 40)
    monkeypatch.setattr("engine.pipeline.release._sha256", lambda _: pytest.fail("was read"))
    with pytest.raises(VerificationFailed, match=r"data\.parquet"):
        check_manifest(release)
    with (release / MANIFEST).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(VerificationFailed, match="cannot be read"):
        check_manifest(release)


@pytest.mark.parametrize("name", ["extra.csv", ".hidden", "data.parquet.bak"])
def test_an_added_file_is_detected(release, name):
    (release / name).write_bytes(b"")
    with pytest.raises(VerificationFailed, match=name):
        check_manifest(release)
    (release / name).unlink()
    (release / name).mkdir()
    with pytest.raises(VerificationFailed, match=name):
        check_manifest(release)


@pytest.mark.parametrize(
    "content",
    [
        *("", "null", "[]", "{}", '{"files": null}', '{"files": []}', '{"files": {"data.parquet": null}}', "\xff", "{"),
        *('{"files": {}, "files": {}}', '{"files": {"a": {"bytes": NaN}}}', "[" * 100_000),
    ],
)
def test_a_manifest_that_is_none(release, content):
    (release / MANIFEST).write_bytes(content.encode("latin-1"))
    with pytest.raises(VerificationFailed, match="changed"):
        check_manifest(release)


def test_a_folder_without_a_manifest_is_no_release(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(VerificationFailed, match="so it is not a release"):
            check_manifest(folder)


def test_a_new_release_takes_its_place_when_the_block_ends(tmp_path):
    target = tmp_path / "a" / "b" / "release"
    with replacing(target) as fresh:
        assert not target.exists()
        assert fresh.parent == target.parent
        assert fresh.stat().st_mode & 0o777 == 0o700
        fill(fresh)
    check_manifest(target)
    assert [path.name for path in target.parent.iterdir()] == ["release"]


def test_an_old_release_is_replaced_as_a_whole(release):
    with replacing(release) as fresh:
        assert tree(release).keys() == {*FILES, MANIFEST}
        (fresh / "new").write_bytes(b"new")
        write_manifest(fresh)
    assert tree(release).keys() == {"new", MANIFEST}
    assert [path.name for path in release.parent.iterdir()] == ["release"]


def half_done(folder, error):
    (folder / "data.parquet").write_bytes(b"half")
    raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_when_the_block_raises_the_old_release_stays_and_nothing_else(release, error):
    before = tree(release)
    with pytest.raises(error), replacing(release) as fresh:
        half_done(fresh, error)
    assert tree(release) == before
    assert [path.name for path in release.parent.iterdir()] == ["release"]


def test_when_the_block_raises_no_new_folder_stays(tmp_path):
    with pytest.raises(ValueError, match="stop"), replacing(tmp_path / "a" / "b" / "release"):
        raise ValueError("stop")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "files",
    [
        {"notes.txt": b"mine"},
        {"manifest.json": b'{"name": "a web page", "icons": []}', "index.html": b"<p>"},
        {"manifest.json": b"[]"},
        {".git": b""},
    ],
    ids=["files", "another manifest", "no manifest", "hidden"],
)
def test_a_foreign_folder_is_refused_and_untouched(tmp_path, files):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with pytest.raises(InvalidJob, match="is not a release; name a new or empty folder"), replacing(folder):
        pytest.fail("the block must not run")
    assert tree(folder) == files
    assert list(tmp_path.iterdir()) == [folder]


def test_a_release_to_which_something_was_added_is_refused(release):
    (release / "notes.txt").write_bytes(b"mine")
    with pytest.raises(InvalidJob, match="is not a release"), replacing(release):
        pytest.fail("the block must not run")


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidJob, match="output"), replacing(target):
            pytest.fail("the block must not run")
    assert tree(tmp_path) == {"file": b"mine"}


def test_an_empty_folder_is_used(tmp_path):
    (tmp_path / "release").mkdir()
    with replacing(tmp_path / "release") as fresh:
        fill(fresh)
    check_manifest(tmp_path / "release")


def test_a_link_to_a_release_stays_a_link(release):
    link = release.parent / "current"
    link.symlink_to("release")
    with replacing(link) as fresh:
        fill(fresh, {"new": b"new"})
    assert link.is_symlink()
    assert tree(release).keys() == {"new", MANIFEST}


KILLED = """
import os, signal, sys
from pathlib import Path
from engine.pipeline.release import replacing, write_manifest
with replacing(sys.argv[1]) as fresh:
    (fresh / "data.parquet").write_bytes(b"half")
    if sys.argv[2] == "after":
        write_manifest(fresh)
    os.kill(os.getpid(), getattr(signal, sys.argv[3]))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("old", [True, False])
def test_a_killed_process_leaves_no_half_release_under_the_name(tmp_path, moment, old):
    target = tmp_path / "release"
    if old:
        target.mkdir()
        fill(target)
    done = subprocess.run([sys.executable, "-c", KILLED, target, moment, "SIGKILL"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.exists() == old
    if old:
        assert check_manifest(target)["files"].keys() == FILES.keys()
    # whatever the killed process left, the next one works
    with replacing(target) as fresh:
        fill(fresh, {"new": b"new"})
    assert check_manifest(target)["files"].keys() == {"new"}
    assert list(tmp_path.iterdir()) == [target]


def watched(target, stop, seen):
    while not stop.is_set():
        seen[mark_in(target)] += 1


def mark_in(target):
    try:
        return (target / "mark").read_bytes()
    except FileNotFoundError:
        return None


def test_a_release_is_there_at_every_moment_of_its_replacement(tmp_path):
    """A reader that never waits finds the old release or the new one."""
    target, stop, seen = tmp_path / "release", threading.Event(), Counter()
    with replacing(target) as fresh:
        fill(fresh, {"mark": b"0"})
    if not exchanged(tmp_path / "release", tmp_path / "release"):
        pytest.skip("this file system cannot exchange folders")
    reader = threading.Thread(target=watched, args=(target, stop, seen))
    reader.start()
    for number in range(300):
        with replacing(target) as fresh:
            fill(fresh, {"mark": b"%d" % number})
    stop.set()
    reader.join()
    assert seen[None] == 0
    assert sum(seen.values()) > 1
    assert list(tmp_path.iterdir()) == [target]


@pytest.fixture
def no_exchange(monkeypatch):
    monkeypatch.setattr(release_folder, "exchanged", lambda *_: False)


@pytest.mark.usefixtures("no_exchange")
def test_where_folders_cannot_be_exchanged(release, monkeypatch):
    with replacing(release) as fresh:
        fill(fresh, {"new": b"new"})
    assert check_manifest(release)["files"].keys() == {"new"}
    rename = Path.rename

    def fails(path, target):
        if path.suffix == ".new":
            raise OSError("disk")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="disk"), replacing(release) as fresh:
        fill(fresh)
    assert check_manifest(release)["files"].keys() == {"new"}
    assert list(release.parent.iterdir()) == [release]


def test_a_release_that_lost_its_name_has_it_back(release):
    """As of a process killed between two renames; also if the next run comes to nothing."""
    before = tree(release)
    release.rename(release.with_name(f".release.{'0' * 32}.old"))
    with pytest.raises(KeyError), replacing(release):
        raise KeyError
    assert tree(release) == before
    assert list(release.parent.iterdir()) == [release]


def test_only_leftovers_of_this_folder_are_removed_and_nothing_that_is_in_use(tmp_path):
    others = [f".other.{'0' * 32}.new", ".release.0.new", f".release.{'0' * 32}.newer", f"release.{'0' * 32}.new"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / f".release.{'1' * 32}.old").mkdir()
    (tmp_path / "release").mkdir()
    with replacing(tmp_path / "release") as first:
        with replacing(tmp_path / "release") as second:
            assert first.is_dir()
            fill(second, {"second": b""})
        fill(first, {"first": b""})
    assert check_manifest(tmp_path / "release")["files"].keys() == {"first"}
    assert {path.name for path in tmp_path.iterdir()} == {*others, "release"}


@pytest.mark.parametrize("name", ["a" * 300, "a" * 240, "a\0b", "a\ud800b", "a" * 300 + "/b"])
def test_names_that_no_folder_can_have(tmp_path, name):
    with pytest.raises(InvalidJob, match=r"^output.*; name another folder"), replacing(tmp_path / name):
        pytest.fail("the block must not run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("name", ["release", "above/release"])
def test_a_full_disk_is_no_fault_of_the_name(tmp_path, monkeypatch, number, name):
    """A file system without free inodes makes no folder; another name would not help, a later try does."""

    def full(self, *_, **__):
        raise OSError(number, os.strerror(number), str(self))

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.mkdir", full)
        with pytest.raises(OSError, match=os.strerror(number)), replacing(tmp_path / name):
            pytest.fail("the block must not run")
    assert list(tmp_path.iterdir()) == []
    with replacing(tmp_path / name) as fresh:
        fill(fresh, {"a": b""})


def test_the_manifest_is_replaced_in_one_step(release, monkeypatch):
    before = (release / MANIFEST).read_bytes()

    def broken(self, target):
        raise OSError("disk")

    monkeypatch.setattr("pathlib.Path.replace", broken)
    with pytest.raises(OSError, match="disk"):
        write_manifest(release, {"name": "other"})
    assert (release / MANIFEST).read_bytes() == before
    assert json.loads(before)["name"] == "people"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_folders_without_permission(release):
    release.parent.chmod(0o500)
    try:
        with pytest.raises(InvalidJob, match="cannot be made"), replacing(release):
            pytest.fail("the block must not run")
    finally:
        release.parent.chmod(0o700)
