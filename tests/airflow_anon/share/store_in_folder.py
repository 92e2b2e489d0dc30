"""An object store for tests, in a folder: what outlives a killed process is on disk. It may lose its connection.

Airflow finds it as `s3://store@bucket/…`. It has what a publication relies on: an object appears or is replaced whole,
is not replaced when it should be new, and folders are nothing but parts of names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk.io import attach
from airflow.sdk.io.store import _STORE_CACHE
from fsspec import AbstractFileSystem

SHARE = "s3://store@bucket/research"


class StoreInFolder(AbstractFileSystem):
    """Objects as files below a folder."""

    cachable = False

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.fail(None)

    def fail(self, told: Callable[[str], None] | None, *, after: bool = False) -> None:
        """Call a function with the name of each operation, before it or after it is done."""
        self._told, self._after = told, after

    @contextmanager
    def _done(self, operation: str) -> Iterator[None]:
        if self._told is not None and not self._after:
            self._told(operation)
        yield
        if self._told is not None and self._after:
            self._told(operation)

    def _file(self, path: str) -> Path:
        return self.folder / path.strip("/")

    def _written(self, path: str, mode: str, write: Callable[[Path], Any]) -> None:
        file = self._file(path)
        with self._done("write"):
            if mode == "create" and file.exists():
                raise FileExistsError
            partial = self.folder.with_name(f"{self.folder.name}.partial")
            write(partial)
            file.parent.mkdir(parents=True, exist_ok=True)
            partial.replace(file)

    def put_file(self, lpath, rpath, mode="overwrite", **_):
        self._written(rpath, mode, lambda partial: shutil.copyfile(lpath, partial))

    def pipe_file(self, path, value, mode="overwrite", **_):
        self._written(path, mode, lambda partial: partial.write_bytes(value))

    def cat_file(self, path, **_):
        with self._done("read"):
            return self._file(path).read_bytes()

    def get_file(self, rpath, lpath, **_):
        with self._done("read"):
            shutil.copyfile(self._file(rpath), lpath)

    def open(self, path, mode="rb", **_):
        with self._done("read"):
            return self._file(path).open(mode)

    def find(self, path, **_):
        with self._done("list"):
            files = [file for file in self._file(path).rglob("*") if file.is_file()]
        return {str(one.relative_to(self.folder)): {"type": "file", "size": one.stat().st_size} for one in files}

    def rm_file(self, path):
        with self._done("remove"):
            file = self._file(path)
            file.unlink()
            for parent in file.parents:
                if parent == self.folder or any(os.scandir(parent)):
                    break
                parent.rmdir()


def attached(monkeypatch: Any, folder: Path) -> StoreInFolder:
    """Let Airflow find a store in a folder as connection `store` until the test ends."""
    folder.mkdir(exist_ok=True)
    store = StoreInFolder(folder)
    monkeypatch.delitem(_STORE_CACHE, "s3-store", raising=False)
    attach("s3", conn_id="store", fs=store)
    monkeypatch.setitem(_STORE_CACHE, "s3-store", _STORE_CACHE["s3-store"])
    return store
