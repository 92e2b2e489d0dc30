"""The rows of last night in a private folder: a Parquet file as it was staged, and a sealed document that names it.

    KEPT_IN/state.json                 which files, of which source, up to which mark; HMAC-SHA-256 over all of it
    KEPT_IN/table-<16 digits>.parquet  the rows, keys included
    KEPT_IN/table-<16 digits>.hashes   the keyed hash of each row, 8 bytes each, in the order of the rows
    KEPT_IN/table-<16 digits>.counts   combinations of values with their numbers of rows, where a job can use them

All appear complete: rows, hashes and counts under a new name, then the document in place of the last one, then the
files of the last one are removed. So a process that is killed leaves the state of last night, or tonight's. Whatever is
missing, changed, or of another source is not used, and the source is read in full; without the counts it is counted so.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException

from engine import open_regular

if TYPE_CHECKING:
    from engine import FingerprintKey

FORMAT = 3
DOCUMENT = "state.json"
_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_NAME = re.compile(r"table-[0-9a-f]{16}")
_ENDINGS = (".parquet", ".hashes")
_COUNTS = ".counts"
_CHUNK = 1 << 20


class NoStateError(Exception):
    """There is no state that may be used; the text says why, without a value."""


@dataclass(frozen=True)
class State:
    """What is known of kept rows.

    Attributes
    ----------
    source : str
        Keyed hash of what was read, and how.
    mark : int or None
        Rows above it are newer than the kept ones; None if the source had none.
    nights : int
        Nights since all rows were read.
    sha256, hashes_sha256 : str
        Of the file of the rows and of that of their hashes, hexadecimal.
    counts_sha256 : str or None
        Of the file of the counts, if there is one.
    format : int
    """

    source: str
    mark: int | None
    nights: int
    sha256: str
    hashes_sha256: str
    counts_sha256: str | None = None
    format: int = FORMAT

    @classmethod
    def opened(cls, document: Mapping[str, Any], key: FingerprintKey) -> State:
        """Return the state of a sealed document.

        Raises
        ------
        NoStateError
            It was changed, is sealed by another key, or is of another version.
        """
        content = dict(document)
        sealed = content.pop("seal", "")
        if not isinstance(sealed, str) or not hmac.compare_digest(sealed.encode(), _seal(content, key).encode()):
            raise NoStateError("what is kept was changed, or is sealed by another key of fingerprints")
        if content.get("format") != FORMAT or set(content) != {field.name for field in fields(cls)}:
            raise NoStateError("what is kept is of another version")
        return cls(**content)

    def sealed(self, key: FingerprintKey) -> dict[str, Any]:
        """Return the document, whose seal nobody makes without the key."""
        content = asdict(self)
        return {**content, "seal": _seal(content, key)}


def source_digest(described: Mapping[str, Any], key: FingerprintKey) -> str:
    """Return the keyed hash of what is read and how."""
    text = json.dumps(described, sort_keys=True, default=str).encode()
    return hmac.new(key.derived("kept source"), text, "sha256").hexdigest()


def sha256_of(file: IO[bytes]) -> str:
    """Return the hash of a file from its beginning, hexadecimal."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


@dataclass(frozen=True)
class Kept:
    """Rows that are kept, open: another process may remove their names meanwhile.

    Attributes
    ----------
    rows : file
        Parquet.
    hashes : file
        Little-endian 64-bit hashes in the order of the rows.
    counts : bytes or None
        Content of the file of the counts; None if there is none, or it is not the one that was kept: the rows can be
        used without.
    """

    state: State
    rows: IO[bytes]
    hashes: IO[bytes]
    counts: bytes | None = None


@contextlib.contextmanager
def kept_rows(folder: Path, source: str, key: FingerprintKey) -> Iterator[Kept]:
    """Give what is kept of a source.

    Raises
    ------
    NoStateError
        There is none, or it is damaged, changed, or of another source.
    AirflowFailException
        The folder or a file in it may be opened by others, or belongs to somebody else.
    """
    try:
        document, name = _document(folder)
    except FileNotFoundError:
        raise NoStateError("nothing is kept of an earlier night") from None
    except (OSError, ValueError, TypeError, KeyError):
        raise NoStateError("what is kept is damaged") from None
    state = State.opened(document, key)
    if state.source != source:
        raise NoStateError("what is kept is of another source, other columns or another job; each job needs its folder")
    with contextlib.ExitStack() as stack:
        try:
            rows, hashes = (stack.enter_context(_opened(folder / f"{name}{ending}")) for ending in _ENDINGS)
        except OSError:
            raise NoStateError("the rows that are kept are gone") from None
        if (sha256_of(rows), sha256_of(hashes)) != (state.sha256, state.hashes_sha256):
            raise NoStateError("the rows that are kept were changed")
        rows.seek(0)
        hashes.seek(0)
        yield Kept(state, rows, hashes, _counts(folder / f"{name}{_COUNTS}", state.counts_sha256))


def _counts(path: Path, sha256: str | None) -> bytes | None:
    if sha256 is None:
        return None
    try:
        with _opened(path) as file:
            content = file.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def keep(
    folder: Path, sealed: Mapping[str, Any], rows: IO[bytes], hashes: IO[bytes], counts: IO[bytes] | None = None
) -> None:
    """Make rows those of last night, with the document of `State.sealed`.

    Raises
    ------
    OSError
        The folder cannot be written; the rows that were kept before are still there.
    """
    folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    _check_private(folder)
    name = f"table-{secrets.token_hex(8)}"
    document = io.BytesIO(json.dumps({"rows": name, "state": dict(sealed)}).encode())
    contents = {**dict(zip(_ENDINGS, (rows, hashes), strict=True)), **({} if counts is None else {_COUNTS: counts})}
    own = [f"{name}{ending}" for ending in contents]
    try:
        for file, content in zip(own, contents.values(), strict=True):
            _write(folder / file, content)
    except BaseException:
        for file in own:
            (folder / file).unlink(missing_ok=True)
        raise
    _write(folder / DOCUMENT, document)
    for other in folder.iterdir():
        is_kept = other.name in own or other.name == DOCUMENT
        if not is_kept and (_NAME.match(other.name) or other.name.startswith((f".{DOCUMENT}", ".table-"))):
            other.unlink(missing_ok=True)


def _write(path: Path, content: IO[bytes]) -> None:
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with _created(partial) as file:
            shutil.copyfileobj(content, file, _CHUNK)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _created(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE), "wb")


def _document(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the sealed document and the name of the file of rows."""
    _check_private(folder)
    with _opened(folder / DOCUMENT) as file:
        found = json.loads(file.read())
    name = found["rows"]
    if not _NAME.fullmatch(name) or not isinstance(found["state"], dict):
        raise ValueError
    return found["state"], name


def _opened(path: Path) -> IO[bytes]:
    file = open_regular(path, follow_links=False)
    try:
        _refuse_open(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def _check_private(folder: Path) -> None:
    found = folder.stat()
    if stat.S_ISDIR(found.st_mode):
        _refuse_open(folder, found)


def _refuse_open(path: Path, found: os.stat_result) -> None:
    """Refuse what others may read or replace: it holds records as the source has them."""
    closed = "700" if stat.S_ISDIR(found.st_mode) else "600"
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise AirflowFailException(
            f"incremental.kept_in: {path} must belong to user {os.geteuid()}, who runs the tasks, and have mode "
            f"0{closed}, because it holds records; run `chmod {closed}`, or remove it, and all rows are read"
        )


def _seal(content: Mapping[str, Any], key: FingerprintKey) -> str:
    text = json.dumps(dict(content), sort_keys=True).encode()
    return hmac.new(key.derived("kept rows"), text, "sha256").hexdigest()
