"""The private staging folder: where it is, who may read it, and what its removal leaves alone."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from airflow_anon.run.staging import UnsafeStagingError, base_folder, prepare, remove, run_folder


@pytest.fixture
def base(tmp_path):
    return tmp_path / "staging"


@pytest.fixture
def folder(base):
    return run_folder(base, "nightly", "scheduled__2026-01-01T00:00:00+00:00", "stays")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def replace_by_link(folder, target):
    """Put a link to `target` where a folder of the staging area was."""
    shutil.rmtree(folder)
    folder.symlink_to(target)


def test_every_level_is_private_whatever_the_umask(base, folder):
    before = os.umask(0)
    try:
        prepare(folder, base)
    finally:
        os.umask(before)
    levels = [folder, *folder.parents][:4]
    assert levels[-1] == base
    assert [mode(level) for level in levels] == [0o700] * 4


def test_a_retry_starts_empty(base, folder):
    prepare(folder, base)
    (folder / "release").mkdir()
    (folder / "release/data.parquet").write_text("old")
    (folder / "source.parquet").write_text("old")
    prepare(folder, base)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("wider", [0o750, 0o701, 0o777])
def test_a_folder_others_can_enter_is_refused(base, folder, wider):
    base.mkdir(mode=0o700)
    base.chmod(wider)
    with pytest.raises(UnsafeStagingError, match=re.escape(f"{base}: must have mode 0700")):
        prepare(folder, base)
    assert list(base.iterdir()) == []


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_link_is_refused_at_every_level(base, folder, tmp_path, level):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    prepare(folder, base)
    replace_by_link([folder, *folder.parents][level], elsewhere)
    with pytest.raises(UnsafeStagingError, match="no link"):
        prepare(folder, base)
    assert list(elsewhere.iterdir()) == []


def test_a_folder_of_somebody_else_is_refused(base, folder, monkeypatch):
    prepare(folder, base)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UnsafeStagingError, match="must be a folder of user"):
        prepare(folder, base)


def test_removal_takes_the_run_and_nothing_else(base, folder):
    other = run_folder(base, "nightly", "another run", "stays")
    for one in (folder, other):
        prepare(one, base)
        (one / "source.parquet").write_text("patients")
    remove(folder, base)
    assert not folder.parent.exists()
    assert (other / "source.parquet").exists()
    remove(other, base)
    assert list(base.iterdir()) == []
    remove(other, base)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_removal_does_not_follow_links(base, folder, tmp_path, level):
    """Whoever plants a link in place of any level does not get its target emptied."""
    prepare(folder, base)
    elsewhere = tmp_path / "elsewhere"
    inside = elsewhere.joinpath(*folder.parts[len(folder.parts) - level :])
    inside.mkdir(parents=True)
    (inside / "precious").write_text("keep")
    replace_by_link([folder, *folder.parents][level], elsewhere)
    with pytest.raises(UnsafeStagingError, match="no link"):
        remove(folder, base)
    assert (inside / "precious").read_text() == "keep"


def test_removal_outside_the_base_is_refused(base, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    for folder in (victim, base / ".." / "victim", base):
        with pytest.raises(UnsafeStagingError, match="not a folder inside the staging base"):
            remove(folder, base)
    assert victim.exists()


@pytest.mark.parametrize("identity", ["..", ".", "a/b", "../../etc", "\u00e9\u00e9", "x" * 250, "run:1+00"])
def test_ids_become_one_plain_component_each(base, identity):
    """No id leaves the base, and none is longer than a file system's names."""
    folder = run_folder(base, identity, identity, identity)
    parts = folder.relative_to(base).parts
    assert len(parts) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,128}", part) for part in parts)


def test_different_runs_have_different_folders(base):
    ids = ["a:b", "a_b", "a+b", "a.b", "x" * 200, "x" * 201]
    assert len({run_folder(base, "dag", identity, "job") for identity in ids}) == len(ids)


def test_the_base_comes_from_argument_then_environment_then_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("AIRFLOW_ANON_STAGING", f"{tmp_path}/environment")
    assert base_folder(f"file://{tmp_path}/argument") == tmp_path / "argument"
    assert base_folder() == tmp_path / "environment"
    monkeypatch.delenv("AIRFLOW_ANON_STAGING")
    assert base_folder() == Path(tempfile.gettempdir()) / f"airflow-anon-staging-{os.geteuid()}"


@pytest.mark.parametrize("configured", ["s3://bucket/staging", "relative/staging"])
def test_a_base_without_file_modes_or_a_fixed_place_is_refused(configured):
    with pytest.raises(UnsafeStagingError, match="must be an absolute path"):
        base_folder(configured)


@pytest.mark.parametrize("taken", [0o777, 0o277])
def test_a_umask_that_takes_the_rights_of_the_owner_is_told(base, folder, taken):
    """No file that is staged could be read again; root could, so the mode is looked at, and nothing is left of it."""
    base.mkdir(mode=0o700)
    before = os.umask(taken)
    try:
        with pytest.raises(UnsafeStagingError, match=r"the umask of the worker takes rights.*set the umask to 0077"):
            prepare(folder, base)
    finally:
        os.umask(before)
    assert list(base.iterdir()) == []
    prepare(folder, base)
    assert mode(folder) == 0o700
