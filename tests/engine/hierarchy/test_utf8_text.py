"""Files of hierarchies in other encodings than UTF-8: each reader names the file, and how to save it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engine import InvalidData
from engine.hierarchy.builders.concepts import Loinc
from engine.hierarchy.builders.csv_file import CsvFile
from engine.hierarchy.builders.icd import Icd10
from engine.hierarchy.builders.zip import Zip
from engine.hierarchy.utf8_text import utf8_text

LOINC = '"IMMEDIATE_PARENT","CODE"\n"","LP1"\n"LP1","LP2"\n"LP2","2345-7"\n'
READERS = {
    "csv": ("hierarchy file", "Zurich;CH;*\nWien;AT;*\n", lambda path: CsvFile(path=path).rows(["Wien"])),
    "blocks": (
        "blocks file",
        "E10;E14\nI10;I15\n",
        lambda path: Icd10(levels=["block"], blocks=path).rows(["E11"]),
    ),
    "zip": ("population file", "021;1414778\n", lambda path: Zip(populations=path).rows(["02139"])),
    "concepts": ("hierarchy file", LOINC, lambda path: Loinc(path=path, depths=[1]).rows(["2345-7"])),
}


@pytest.fixture(params=READERS)
def reader(request):
    return READERS[request.param]


def test_a_mark_of_utf_8_is_no_part_of_the_text(tmp_path, reader):
    _, text, read = reader
    (tmp_path / "plain.csv").write_text(text)
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = read(str(tmp_path / "plain.csv"))
    assert found
    assert read(str(tmp_path / "marked.csv")) == found


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(tmp_path, reader, encoding):
    """Without a mark it is text in UTF-8 as well, whose every other character is of no meaning."""
    what, text, read = reader
    (tmp_path / "wide.csv").write_bytes(text.encode(encoding))
    with pytest.raises(InvalidData) as refused:
        read(str(tmp_path / "wide.csv"))
    assert str(refused.value) == (
        f"{what} {tmp_path / 'wide.csv'}: is UTF-16 text; save it as UTF-8 (in Excel: CSV UTF-8)"
    )


def test_a_file_that_must_not_be_read_is_told_with_the_fix(tmp_path, reader, monkeypatch):
    what, text, read = reader
    path = tmp_path / "closed.csv"
    path.write_text(text)

    def closed(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    # the tests may run as root, who reads all files
    monkeypatch.setattr(Path, "open", closed)
    monkeypatch.setattr(Path, "read_bytes", closed)
    with pytest.raises(InvalidData) as refused:
        read(str(path))
    assert str(refused.value) == (
        f"{what} {path}: cannot be read (Permission denied); see that the file is there, and let the user who runs the "
        "job read it and the folders above it"
    )


def test_another_encoding_is_no_utf_8(tmp_path, reader):
    what, text, read = reader
    (tmp_path / "latin.csv").write_bytes((text + "# Genève,\n").encode("latin-1"))
    with pytest.raises(InvalidData) as refused:
        read(str(tmp_path / "latin.csv"))
    assert str(refused.value).startswith(f"{what} {tmp_path / 'latin.csv'}: cannot be read as UTF-8 text")
    assert str(refused.value).endswith("; save it as UTF-8 (in Excel: CSV UTF-8)")


@pytest.mark.parametrize("content", [b"", b"a", b"a\0b", b"ab\0\0", b"\0"])
def test_a_character_of_no_meaning_is_no_other_encoding(tmp_path, content):
    (tmp_path / "odd.csv").write_bytes(content)
    assert utf8_text(str(tmp_path / "odd.csv"), "file") == content.decode()
