"""A share folder of releases: `SHARE/NAME/RELEASE_ID/`, and `SHARE/NAME/current`, which names the newest complete one.

A release is written under a hidden name and renamed when all its files have reached the disk; `current` is a symbolic
link that is replaced in one step. Readers see either the old release or the new one, complete.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport.address import give_up_command
from airflow_anon.transport.release_files import CURRENT, MANIFEST
from engine import VerificationFailed, check_manifest, write_manifest

_PROBE = f".{CURRENT}.probe."
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)
"""What FAT, file systems of user space, and SMB say."""
_REMOVALS = 20
"""How often the removal of a folder begins anew: each time another process was faster with a file of it."""


def local_path(address: str, what: str) -> Path:
    """Return a local path, given as a path or as a `file://` address.

    Raises
    ------
    AirflowFailException
        The address has another scheme.
    """
    path = address.removeprefix("file://")
    if "://" in path:
        raise AirflowFailException(f"{what} {address!r}: must be a folder of a file system")
    return Path(path)


@dataclass(frozen=True, kw_only=True)
class FolderShare:
    """The releases of one job in a share.

    Attributes
    ----------
    share : Path
        Folder of all jobs' releases.
    name : str
        The job's name.
    umask : int
        Permission bits removed from the files in the share; 0o022 lets everyone read.
    """

    share: Path
    name: str
    umask: int = 0o022

    @property
    def folder(self) -> Path:
        """Folder of the job's releases."""
        return self.share / self.name

    def release(self, release_id: str) -> Path:
        """Return the folder of one release."""
        return self.folder / release_id

    def published(self, release_id: str) -> dict[str, Any] | None:
        """Return the manifest of a release that is in the share, else None.

        Raises
        ------
        AirflowFailException
            There is something with that name, and it is not a valid release.
        """
        folder = self.release(release_id)
        if not (folder.exists() or folder.is_symlink()):
            return None
        try:
            return check_manifest(folder)
        except VerificationFailed as problem:
            raise AirflowFailException(
                f"{problem}. It has the name of this run's release: find out who changed it, then remove it"
            ) from None

    def prepare(self) -> None:
        """Make the folder of the job's releases, which may be there.

        Raises
        ------
        AirflowFailException
            `current` is no link, so it could not name a release, or the file system makes none.
        """
        self._make_folder()
        self._refuse_foreign_current()
        self._refuse_without_links()

    def add(
        self,
        release_id: str,
        fill: Callable[[Path], Mapping[str, Any]],
        *,
        announced: Callable[[Path], AbstractContextManager[None]] | None = None,
    ) -> dict[str, Any]:
        """Write one release, without making it current.

        Parameters
        ----------
        fill : callable
            Writes the files into the given private folder, checks them, and returns further entries of the manifest.
        announced : callable, optional
            Called with that folder when it is complete, before it is visible; the folder is renamed within the returned
            context.

        Returns
        -------
        dict
            The manifest. After an error nothing of the release exists.

        Raises
        ------
        AirflowFailException
            See `prepare`.
        AirflowException
            Another process took over; a retry finds what that has left.
        """
        self.prepare()
        self.remove_leftovers(release_id)
        with self._partial(release_id) as partial:
            with self._taken_over(release_id, partial, AirflowFailException):
                write_manifest(partial, fill(partial))
                self._settle(partial)
            with contextlib.ExitStack() as stack:
                with self._taken_over(release_id, partial):
                    stack.enter_context(contextlib.nullcontext() if announced is None else announced(partial))
                    partial.rename(self.release(release_id))
                synchronize(self.folder)
        return check_manifest(self.release(release_id))

    def manifest_sha256(self, release_id: str) -> str | None:
        """Hash the manifest of a release, hexadecimal; None if it has none."""
        manifest = self.release(release_id) / MANIFEST
        return file_sha256(manifest) if manifest.is_file() else None

    def is_whole(self, release_id: str, manifest_sha256: str) -> bool:
        """Whether the share has the release of that manifest, with all its files.

        Raises
        ------
        AirflowException
            The share cannot be read.
        """
        folder = self.release(release_id)
        if not self.holds(release_id) or folder.is_symlink():
            return False
        try:
            check_manifest(folder, manifest_sha256)
        except VerificationFailed:
            return False
        except OSError as problem:
            raise AirflowException(f"{folder}: cannot be read ({problem.strerror})") from None
        return True

    @contextlib.contextmanager
    def opened(self, release_id: str) -> Iterator[Path]:
        """Give the folder of a release."""
        yield self.release(release_id)

    def holds(self, release_id: str) -> bool:
        """Whether anything has the name of a release.

        Raises
        ------
        AirflowException
            The share cannot be read, or the job's folder, which was made before its first release, is missing.
        """
        try:
            return self.release(release_id) in self.folder.iterdir()
        except OSError as problem:
            raise AirflowException(
                f"{self.folder}: cannot be read ({problem.strerror}); the share must be mounted, with this folder in "
                f"it. If it is gone for good, say so by {give_up_command(str(self.folder.parent))}"
            ) from None

    def hide(self, release_id: str) -> None:
        """Hide a release that is not current from readers, in one step; `remove_leftovers` removes it."""
        self.release(release_id).rename(self._hidden(release_id))
        synchronize(self.folder)

    def make_current(self, release_id: str) -> bool:
        """Let `current` name the release; False if a newer complete one is current already.

        Raises
        ------
        AirflowFailException
            `current` is no link.
        """
        self._refuse_foreign_current()
        for leftover in self.folder.glob(f".{CURRENT}.{release_id}.*"):
            leftover.unlink(missing_ok=True)
        named = self.current()
        if named is not None and named > release_id and self._is_release(named):
            return False
        link = self.folder / f".{CURRENT}.{release_id}.{uuid.uuid4().hex}"
        link.symlink_to(release_id)
        try:
            link.replace(self.folder / CURRENT)
        finally:
            link.unlink(missing_ok=True)
        synchronize(self.folder)
        return True

    def leave_current(self, release_id: str) -> None:
        """Remove `current` if it names the release: readers then find none."""
        if self.current() == release_id:
            (self.folder / CURRENT).unlink(missing_ok=True)
            synchronize(self.folder)

    def current(self) -> str | None:
        """Return the release id that `current` names, None if there is no `current`."""
        link = self.folder / CURRENT
        return link.readlink().name if link.is_symlink() else None

    def _refuse_foreign_current(self) -> None:
        link = self.folder / CURRENT
        if link.exists() and not link.is_symlink():
            raise AirflowFailException(
                f"{link}: is a {'folder' if link.is_dir() else 'file'} instead of a link to the newest release, and is "
                "not replaced; find out who made it, then remove it"
            )

    def _refuse_without_links(self) -> None:
        link = self.folder / f"{_PROBE}{uuid.uuid4().hex}"
        try:
            link.symlink_to(CURRENT)
        except OSError as problem:
            if problem.errno in _NO_LINKS:
                raise AirflowFailException(
                    f"{self.folder}: its file system makes no symbolic links, and {CURRENT} is one; mount the share "
                    "with them (of SMB by the option mfsymlinks), or name a folder of another file system in output"
                ) from None
            raise
        link.unlink(missing_ok=True)

    def _is_release(self, release_id: str) -> bool:
        try:
            check_manifest(self.release(release_id))
        except VerificationFailed:
            return False
        return True

    def _make_folder(self) -> None:
        missing = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777 & ~self.umask)

    def remove_leftovers(self, release_id: str) -> None:
        """Remove leftovers of a killed try to add the release, or to take it back.

        They are renamed first, so a try that is still running cannot publish a folder that is partly removed.
        """
        for probe in self.folder.glob(f"{_PROBE}*"):
            probe.unlink(missing_ok=True)
        for leftover in self.folder.glob(f".{release_id}.*.partial"):
            claimed = self._hidden(release_id)
            try:
                leftover.rename(claimed)
            except FileNotFoundError:
                continue
            if claimed.is_symlink() or not claimed.is_dir():
                # another try may have claimed it since, in the same way
                claimed.unlink(missing_ok=True)
            else:
                _remove_tree(claimed)

    def names(self) -> set[str]:
        """Return the names in the job's folder, those of hidden leftovers without what hides them.

        Raises
        ------
        AirflowException
            The share cannot be read.
        """
        try:
            return {path.name for path in self.folder.iterdir()} | self.leftovers()
        except OSError as problem:
            raise AirflowException(f"{self.folder}: cannot be read ({problem.strerror})") from None

    def leftovers(self) -> set[str]:
        """Return the ids of releases with hidden files: being written, or left by a killed process."""
        return {path.name.split(".")[1] for path in self.folder.glob(".*.partial")}

    def _hidden(self, release_id: str) -> Path:
        return self.folder / f".{release_id}.{uuid.uuid4().hex}.partial"

    @contextlib.contextmanager
    def _partial(self, release_id: str) -> Iterator[Path]:
        partial = self._hidden(release_id)
        partial.mkdir(mode=0o700)
        try:
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    @contextlib.contextmanager
    def _taken_over(self, release_id: str, partial: Path, *others: type[Exception]) -> Iterator[None]:
        """Say that another process took over where that is why files are missing, or the release is there.

        Parameters
        ----------
        *others
            What else than an error of the file system may come of files that another process has taken away.
        """
        try:
            yield
        except (OSError, *others):
            # a share that is not mounted any more has no folder of the job either
            if self.folder.is_dir() and (not partial.is_dir() or self.release(release_id).is_dir()):
                raise AirflowException(
                    f"{self.release(release_id)}: another process took over while this one wrote it, such as another "
                    "try of the same run, or what ends or settles that run; nothing of this try is left. Where no "
                    "other one goes on, try again"
                ) from None
            raise

    def _settle(self, partial: Path) -> None:
        for file in partial.iterdir():
            file.chmod(0o666 & ~self.umask)
            synchronize(file)
        partial.chmod(0o777 & ~self.umask)
        synchronize(partial)


def _remove_tree(folder: Path) -> None:
    """Remove a folder, also where another process removes it at the same time and is faster with some of the files."""
    for _ in range(_REMOVALS):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
        if not folder.is_dir():
            return
    shutil.rmtree(folder)


def file_sha256(path: Path) -> str:
    """Hash a small file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def synchronize(path: Path) -> None:
    """Wait until a file's content or a folder's entries are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
