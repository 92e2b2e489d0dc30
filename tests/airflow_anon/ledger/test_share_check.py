"""A file of a release that is not what its entry says is told, and nothing outside of the release is read."""

from __future__ import annotations

import os
import shutil

import pytest

from airflow_anon.ledger import share_check
from airflow_anon.ledger.share_check import check_files
from tests.airflow_anon.ledger.releases import FILES, release

ALL = ["manifest.json", *sorted(FILES)]


@pytest.fixture
def published(tmp_path):
    """Give a document, and the folder it is about."""
    document = release(tmp_path / "share")
    return document, tmp_path / "share/visits/release-1"


def states(document, **options):
    return {file.name: file.state for file in check_files(document, **options)}


def test_an_untouched_release_matches(published):
    document, _ = published
    assert states(document) == dict.fromkeys(ALL, "matches")
    assert all(file.hashed for file in check_files(document))
    hashes = {name: facts["sha256"] for name, facts in document["publication"]["files"].items()}
    hashes["manifest.json"] = document["publication"]["manifest_sha256"]
    assert {file.name: file.sha256 for file in check_files(document)} == hashes


@pytest.mark.parametrize("name", ALL)
def test_one_bit_in_any_byte_is_a_change(published, name):
    document, folder = published
    content = (folder / name).read_bytes()
    for place in {0, len(content) // 2, len(content) - 1}:
        (folder / name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert states(document) == {**dict.fromkeys(ALL, "matches"), name: "changed"}


@pytest.mark.parametrize("name", ALL)
def test_files_that_are_gone_or_longer_are_told(published, name):
    document, folder = published
    with (folder / name).open("ab") as file:
        file.write(b" ")
    assert states(document)[name] == "changed"
    (folder / name).unlink()
    assert states(document) == {**dict.fromkeys(ALL, "matches"), name: "missing"}


def test_what_the_entry_does_not_name_is_added(published):
    document, folder = published
    (folder / "notes.txt").touch()
    (folder / "more").mkdir()
    found = check_files(document)
    assert [(file.name, file.state, file.sha256) for file in found[-2:]] == [
        ("more", "added", None),
        ("notes.txt", "added", None),
    ]
    assert [file.state for file in found[:-2]] == ["matches"] * 4


def test_a_file_that_is_a_link_or_no_file_is_a_change(published, tmp_path):
    document, folder = published
    shutil.copy(folder / "report.json", tmp_path / "same")
    for make in (lambda path: path.symlink_to(tmp_path / "same"), os.mkfifo, os.mkdir):
        path = folder / "report.json"
        path.rmdir() if path.is_dir() else path.unlink()
        make(path)
        assert states(document)["report.json"] == "changed"


def test_a_manifest_that_is_too_long_for_one_is_not_read(published, monkeypatch):
    """The entry has its hash, and not its size."""
    document, folder = published
    for name in ALL:
        os.truncate(folder / name, 1 << 40)
    monkeypatch.setattr(share_check, "_sha256", lambda _: pytest.fail("was read"))
    assert set(states(document).values()) == {"changed"}


def test_a_folder_that_is_gone_is_missing_and_a_share_that_is_gone_unreachable(published, tmp_path):
    document, folder = published
    folder.rename(tmp_path / "elsewhere")
    assert set(states(document).values()) == {"missing"}
    folder.symlink_to(tmp_path / "elsewhere")
    assert set(states(document).values()) == {"missing"}
    shutil.rmtree(tmp_path / "share")
    assert set(states(document).values()) == {"unreachable"}


def test_little_is_read_where_the_caller_says_so(published):
    document, folder = published
    content = (folder / "data.parquet").read_bytes()
    (folder / "data.parquet").write_bytes(content[:-1] + b"x")
    assert states(document)["data.parquet"] == "changed"
    bounded = {file.name: file for file in check_files(document, hash_up_to=100)}
    assert (bounded["data.parquet"].state, bounded["data.parquet"].hashed) == ("matches", False)
    assert all(bounded[name].hashed for name in ALL if name != "data.parquet")
    (folder / "data.parquet").write_bytes(content + b"x")
    assert states(document, hash_up_to=0)["data.parquet"] == "changed"


def test_a_release_without_a_folder_has_no_files(published):
    document, _ = published
    assert check_files({**document, "publication": {**document["publication"], "folder": None}}) == []
    assert check_files({**document, "publication": None}) == []
    assert check_files({}) == []


@pytest.mark.parametrize(
    "files",
    [
        None,
        [],
        {"../../secret": {"bytes": 6, "sha256": "0"}},
        {"a\0b": {"bytes": 1, "sha256": "0"}},
        {"report.json": None},
        {"report.json": {"bytes": "2", "sha256": 1}},
        {"manifest.json": {"bytes": 0, "sha256": "0"}},
    ],
)
def test_a_damaged_document_matches_no_more_than_it_names(published, files):
    document, folder = published
    (folder.parent.parent / "secret").write_text("secret")
    damaged = {**document, "publication": {**document["publication"], "files": files}}
    assert "matches" not in {state for name, state in states(damaged).items() if name != "manifest.json"}
    assert states(damaged)["manifest.json"] == "matches"
    for folder_name in ("\0", "", 3, "/nowhere/at/all", "x" * 10_000):
        damaged["publication"]["folder"] = folder_name
        assert "matches" not in states(damaged).values()
