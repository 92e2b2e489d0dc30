"""What to do about an error of SQLite, by words of its text: the same for a ledger, a share and a warehouse."""

from __future__ import annotations

READONLY = "attempt to write a readonly database"
NOT_OPENED = "unable to open database file"
FULL = "database or disk is full"
LOCKED = "database is locked"
_REMEDIES = {
    READONLY: "let the user that runs this write the file and its folder, or mount it for writing",
    NOT_OPENED: "correct its path, which has four slashes before an absolute one, as in sqlite:////srv/stays.sqlite; "
    "mount or restore its folder, and let the user that runs this open the file",
    FULL: "make room on its disk",
    LOCKED: "another process holds it for longer than this one waits; let that end",
}


def sqlite_remedy(text: str) -> str:
    """Say what to do, to be put behind the text of an error; nothing for another text."""
    return next((f"; {remedy}" for said, remedy in _REMEDIES.items() if said in text), "")
