"""A share in an object store: the objects `SHARE/NAME/RELEASE_ID/…`, and `SHARE/NAME/current`, which names the newest.

A store has no rename, no links and no locks. So a release is what its manifest says: its files are written first, then
they are read back, then its manifest is written, while the ledger is locked. Without a manifest objects are leftovers.
They are removed only while the ledger is locked too, so that no process can publish what another one removes. `current`
is one small object that is replaced in one step, with the release id and the hash of the manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_anon.transport import object_store
from airflow_anon.transport.object_store import StoreError
from airflow_anon.transport.release_files import CURRENT, MANIFEST
from airflow_anon.transport.release_pointer import Pointer
from engine import strict_json, write_manifest


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Turn an error of a store into an `AirflowException`: a retry may help."""
    try:
        yield
    except StoreError as problem:
        raise AirflowException(f"share {problem}") from None


@dataclass(frozen=True, kw_only=True)
class ObjectShare:
    """The releases of one job in a store, with the same methods as a `FolderShare`.

    All methods raise an `AirflowException` if the store cannot be used. `hide`, `make_current` and `leave_current` are
    called while the ledger is locked.

    Attributes
    ----------
    share : str
        Address of all jobs' releases, such as `s3://conn_id@bucket/research`.
    name : str
        The job's name.
    alone : callable
        Gives a context that keeps out all other publishers: the ledger's lock.
    scratch : Path or None
        Folder for private copies; that of temporary files by default.
    """

    share: str
    name: str
    alone: Callable[[], AbstractContextManager[None]]
    scratch: Path | None = None

    @property
    def folder(self) -> str:
        """Address of the job's releases."""
        return f"{self.share.rstrip('/')}/{self.name}"

    def release(self, release_id: str) -> str:
        """Return the address of one release."""
        return f"{self.folder}/{release_id}"

    @store_errors()
    def published(self, release_id: str) -> dict[str, Any] | None:
        """Return the manifest of a release that is in the share, else None.

        Raises
        ------
        AirflowFailException
            There is a manifest with that name, and the objects are not what it says.
        """
        manifest = self._manifest(release_id)
        if manifest is None:
            return None
        problem = self._difference(release_id, manifest, hashed=True)
        if problem is not None:
            raise AirflowFailException(
                f"{self.release(release_id)}: {problem}; the release was changed. It has the name of this run's "
                "release: find out who changed it, then remove it"
            )
        document: dict[str, Any] = json.loads(manifest)
        return document

    @store_errors()
    def manifest_sha256(self, release_id: str) -> str | None:
        """Hash the manifest of a release, hexadecimal; None if it has none."""
        manifest = self._manifest(release_id)
        return None if manifest is None else hashlib.sha256(manifest).hexdigest()

    @store_errors()
    def is_whole(self, release_id: str, manifest_sha256: str) -> bool:
        """Whether the share has the release of that manifest, with all its files."""
        return self._is_there(Pointer(release_id=release_id, manifest_sha256=manifest_sha256), hashed=True)

    def prepare(self) -> None:
        """Look whether the store can be used.

        Raises
        ------
        AirflowFailException
            `current` is none of ours, so it could not name a release.
        """
        self._pointer()

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
            Called with that folder when all files but the manifest are in the store; the manifest is written within the
            returned context, which holds the ledger's lock.

        Returns
        -------
        dict
            The manifest. After an error nothing of the release exists, unless the store cannot be reached: then what is
            there has no manifest, or the retry finds it complete.

        Raises
        ------
        AirflowFailException
            `current` is none of ours, so it could not name the release.
        """
        self.prepare()
        self.remove_leftovers(release_id)
        with tempfile.TemporaryDirectory(prefix="release-", dir=self.scratch) as private:
            folder = Path(private)
            write_manifest(folder, fill(folder))
            try:
                self._write(release_id, folder, announced)
            except BaseException:
                with contextlib.suppress(AirflowException):
                    self.remove_leftovers(release_id)
                raise
            document: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
            return document

    def _write(
        self,
        release_id: str,
        folder: Path,
        announced: Callable[[Path], AbstractContextManager[None]] | None,
    ) -> None:
        manifest = (folder / MANIFEST).read_bytes()
        with store_errors():
            for file in sorted(folder.iterdir()):
                if file.name != MANIFEST:
                    object_store.upload(file, f"{self.release(release_id)}/{file.name}")
            self._refuse_difference(release_id, manifest, hashed=True)
        with contextlib.nullcontext() if announced is None else announced(folder), store_errors():
            # from here on no other process can remove them
            self._refuse_difference(release_id, manifest, hashed=False)
            object_store.upload(folder / MANIFEST, f"{self.release(release_id)}/{MANIFEST}")

    @contextlib.contextmanager
    def opened(self, release_id: str) -> Iterator[Path]:
        """Give a private folder with a copy of a release, which the caller has compared with its manifest."""
        with tempfile.TemporaryDirectory(prefix="release-", dir=self.scratch) as private:
            with store_errors():
                for name in object_store.listed(self.release(release_id)):
                    object_store.download(f"{self.release(release_id)}/{name}", Path(private) / name)
            yield Path(private)

    @store_errors()
    def holds(self, release_id: str) -> bool:
        """Whether there is a release of that name: something with a manifest."""
        return self._manifest(release_id) is not None

    @store_errors()
    def hide(self, release_id: str) -> None:
        """Make leftovers of a release that is not current, in one step; `remove_leftovers` removes them."""
        object_store.remove(f"{self.release(release_id)}/{MANIFEST}")

    @store_errors()
    def make_current(self, release_id: str) -> bool:
        """Let `current` name the release; False if a newer complete one is current already.

        Raises
        ------
        AirflowFailException
            `current` is none of ours, or the release has no manifest.
        """
        named, manifest_sha256 = self._pointer(), self.manifest_sha256(release_id)
        if manifest_sha256 is None:
            raise AirflowFailException(f"{self.release(release_id)}: has no {MANIFEST}, so readers are not led to it")
        pointer = Pointer(release_id=release_id, manifest_sha256=manifest_sha256)
        if named is not None and named.release_id > release_id and self._is_there(named, hashed=False):
            return False
        if named != pointer:
            object_store.write(f"{self.folder}/{CURRENT}", pointer.written())
        return True

    @store_errors()
    def leave_current(self, release_id: str) -> None:
        """Remove `current` if it names the release: readers then find none."""
        if self.current() == release_id:
            object_store.remove(f"{self.folder}/{CURRENT}")

    def current(self) -> str | None:
        """Return the release id that `current` names, None if there is no `current`."""
        named = self._pointer()
        return None if named is None else named.release_id

    @store_errors()
    def remove_leftovers(self, release_id: str) -> None:
        """Remove leftovers of a killed try to add the release, or to take it back: objects without a manifest."""
        if not object_store.listed(self.release(release_id)):
            return
        with self.alone():
            names = object_store.listed(self.release(release_id))
            if MANIFEST not in names:
                for name in names:
                    object_store.remove(f"{self.release(release_id)}/{name}")

    @store_errors()
    def names(self) -> set[str]:
        """Return the ids of all releases, leftovers included."""
        return {name.partition("/")[0] for name in object_store.listed(self.folder) if "/" in name}

    @store_errors()
    def leftovers(self) -> set[str]:
        """Return the ids of releases without a manifest: being written, or left by a killed process."""
        found = object_store.listed(self.folder)
        whole = {name.removesuffix(f"/{MANIFEST}") for name in found}
        return {name.partition("/")[0] for name in found if "/" in name} - whole

    def _manifest(self, release_id: str) -> bytes | None:
        return object_store.content_of(f"{self.release(release_id)}/{MANIFEST}")

    @store_errors()
    def _pointer(self) -> Pointer | None:
        content = object_store.content_of(f"{self.folder}/{CURRENT}")
        pointer = None if content is None else Pointer.read(content)
        if content is not None and pointer is None:
            raise AirflowFailException(
                f"{self.folder}/{CURRENT}: does not name a release, and is not replaced; find out who made it, then "
                "remove it"
            )
        return pointer

    def _is_there(self, named: Pointer, *, hashed: bool) -> bool:
        manifest = self._manifest(named.release_id)
        if manifest is None or hashlib.sha256(manifest).hexdigest() != named.manifest_sha256:
            return False
        return self._difference(named.release_id, manifest, hashed=hashed) is None

    def _refuse_difference(self, release_id: str, manifest: bytes, *, hashed: bool) -> None:
        problem = self._difference(release_id, manifest, hashed=hashed, without_manifest=True)
        if problem is not None:
            raise StoreError(self.release(release_id), f"{problem}; another process changes it, so try again")

    def _difference(
        self, release_id: str, manifest: bytes, *, hashed: bool, without_manifest: bool = False
    ) -> str | None:
        """Return what of a release is not as its manifest says; None if all is."""
        try:
            listed = strict_json(manifest)["files"].items()
            files = {name: (entry["bytes"], entry["sha256"]) for name, entry in listed}
        except (ValueError, KeyError, TypeError, AttributeError):
            return f"{MANIFEST} cannot be read"
        present = object_store.listed(self.release(release_id))
        odd = present.keys() ^ (files.keys() | (set() if without_manifest else {MANIFEST}))
        if odd:
            return f"files and {MANIFEST} differ in {', '.join(sorted(odd))}"
        for name, (size, sha256) in files.items():
            if present[name] != size or (
                hashed and object_store.sha256_of(f"{self.release(release_id)}/{name}") != sha256
            ):
                return f"{name} does not match {MANIFEST}"
        return None
