"""Releases in a share, with files of a few bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine import check_manifest, write_manifest
from tests.airflow_anon.ledger.documents import document

FILES = {"data.parquet": b"rows " * 1000, "report.json": b"{}", "validation.json": b"[]"}


def release(share: Path, number: int = 1, name: str = "visits") -> dict[str, Any]:
    """Write release `number` into a share and lead readers to the newest; give the document of its entry."""
    folder = share / name / f"release-{number}"
    folder.mkdir(parents=True)
    for file, content in FILES.items():
        (folder / file).write_bytes(content + str(number).encode())
    sha256 = write_manifest(folder, {"release_id": folder.name, "name": name})
    link = folder.parent / "current"
    newest = max(folder.name, link.readlink().name if link.is_symlink() else "")
    link.unlink(missing_ok=True)
    link.symlink_to(newest)
    publication = {
        "release_id": folder.name,
        "folder": str(folder),
        "table": None,
        "manifest_sha256": sha256,
        "files": check_manifest(folder)["files"],
    }
    return document(number, name=name, publication=publication)
