"""Addresses in staging: plain paths, `file://`, or any address of Airflow's object storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import ObjectStoragePath


def parent_of(place: str) -> str:
    """Return the folder that an absolute path or an address is in."""
    return place.rstrip("/").rpartition("/")[0] or "/"


def path_of(address: str) -> ObjectStoragePath:
    """Return an address as a path."""
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 (heavy imports belong into execute)

    return ObjectStoragePath(address)


def is_local(path: ObjectStoragePath) -> bool:
    """Return whether a path is on this machine's disk."""
    return path.protocol in {"file", "local", ""}
