"""The text of a file of a hierarchy: UTF-8, with or without a byte order mark.

In: the path of a file. Out: its text, or the error that says which file it is, and how to save it.
"""

from __future__ import annotations

from pathlib import Path

from engine.errors import InvalidData, unreadable

FIX = "save it as UTF-8 (in Excel: CSV UTF-8)"
LET_READ = "see that the file is there, and let the user who runs the job read it and the folders above it"
_HEAD = 4


def utf8_text(path: str, what: str) -> str:
    """Read a file whose line ends stay as they are.

    Parameters
    ----------
    path : str
    what : str
        What it is, for the error.

    Raises
    ------
    InvalidData
        It cannot be read, or is text in another encoding.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise InvalidData(f"{what} {path}: cannot be read ({unreadable(problem)}); {LET_READ}") from None
    if _is_utf_16(content[:_HEAD]):
        raise _is_other(path, what)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidData(f"{what} {path}: cannot be read as UTF-8 text; {FIX}") from None


def refuse_utf_16(path: str, what: str) -> None:
    """Refuse a file that is read by others, and by them as text with a character of no meaning after each other."""
    with Path(path).open("rb") as file:
        if _is_utf_16(file.read(_HEAD)):
            raise _is_other(path, what)


def _is_other(path: str, what: str) -> InvalidData:
    return InvalidData(f"{what} {path}: is UTF-16 text; {FIX}")


def _is_utf_16(head: bytes) -> bool:
    """Tell by the first bytes: by their mark, or since every other one is 0, which no text in UTF-8 begins with."""
    zeros = [byte == 0 for byte in head]
    return head[:2] in {b"\xff\xfe", b"\xfe\xff"} or zeros in ([False, True] * 2, [True, False] * 2)
