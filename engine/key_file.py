"""A secret key in a private file, which is made once.

In: the path of a file, and what its key is for. Out: the bytes of the key. A file that others may open, or that belongs
to somebody else, is refused. No error holds the key.
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from engine.errors import InvalidJob, is_full
from engine.regular_file import NotRegular, open_regular

SHORTEST = 32
"""Bytes of the shortest key. The id of a key lets a short one be found by trial."""
FINGERPRINTS = "AIRFLOW_ANON_FINGERPRINTS"
"""The environment variable that names the key of fingerprints."""
MAKE_ONE = "such as the output of `openssl rand -hex 32`"
_LONGEST = 4096


@dataclass(frozen=True)
class KeyFile:
    """The file of a key.

    Attributes
    ----------
    path : Path
    what : str
        What the key is, for errors.
    elsewhere : str
        What to do where the file can be neither read nor made, for errors.
    renewal : str
        How to get a new key, for errors.
    exposed : str
        What somebody can do who has read the key, for errors.
    """

    path: Path
    what: str
    elsewhere: str
    renewal: str
    exposed: str

    def read(self, *, make: bool) -> tuple[bytes, bool]:
        """Return the key, and whether it was made now.

        Parameters
        ----------
        make : bool
            Make a key if there is no file.

        Raises
        ------
        InvalidJob
            The file is missing, or cannot be read or made, belongs to somebody else or may be opened by others, or its
            key is shorter than `SHORTEST` bytes.
        """
        made = False
        try:
            if make and not self.path.exists():
                made = self._make()
            content = self._content()
        except NotRegular:
            raise InvalidJob(f"{self._named}: is not a file; remove it") from None
        except OSError as problem:
            if is_full(problem):
                raise
            raise InvalidJob(f"{self._named}: cannot be read or made ({problem.strerror}); {self.elsewhere}") from None
        return sound_key(content, self._named, "its content"), made

    @property
    def _named(self) -> str:
        return f"{self.what}, file {self.path}"

    def _content(self) -> bytes:
        with open_regular(self.path) as file:
            found = os.fstat(file.fileno())
            if found.st_uid not in (0, os.geteuid()):
                raise InvalidJob(
                    f"{self._named}: belongs to user {found.st_uid}, who can read it; it must belong to user "
                    f"{os.geteuid()}, who runs the tasks. {self.renewal.capitalize()}"
                )
            if found.st_mode & 0o077:
                raise InvalidJob(
                    f"{self._named}: has mode {stat.S_IMODE(found.st_mode):04o}, must be closed to group and others. "
                    f"Who may have read it {self.exposed}: {self.renewal}; if nobody could reach its folder, run "
                    "`chmod 600` instead"
                )
            return file.read(_LONGEST)

    def _make(self) -> bool:
        """Write a random key to a file that appears complete; of several processes one makes it, all take that one."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{secrets.token_hex(32)}\n")
                file.flush()
                os.fsync(file.fileno())
            # Unlike a rename, a link never replaces the key of another process.
            os.link(partial, self.path)
        except FileExistsError:
            return False
        finally:
            partial.unlink(missing_ok=True)
        return True


def sound_key(secret: bytes, place: str, what: str) -> bytes:
    """Return a key without the blanks around it.

    Parameters
    ----------
    place, what : str
        Where the key is, and what of it, for errors.

    Raises
    ------
    InvalidJob
        It has fewer than `SHORTEST` bytes.
    """
    secret = secret.strip()
    if len(secret) < SHORTEST:
        raise InvalidJob(
            f"{place}: the length of {what} in bytes is {len(secret)}, must be at least {SHORTEST}, {MAKE_ONE}"
        )
    return secret
