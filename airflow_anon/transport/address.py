"""Addresses in staging: plain paths, `file://`, or any address of Airflow's object storage."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import ObjectStoragePath


def parent_of(place: str) -> str:
    """Return the folder that an absolute path or an address is in."""
    return place.rstrip("/").rpartition("/")[0] or "/"


def give_up_command(share: str) -> str:
    """Return the command that says that a share is gone for good, as errors name it."""
    return f"`airflow-anon give-up {shlex.quote(share)}`"


def path_of(address: str) -> ObjectStoragePath:
    """Return an address as a path."""
    from airflow.sdk import ObjectStoragePath  # noqa: PLC0415 (heavy imports belong into execute)

    return ObjectStoragePath(address)


def is_local(path: ObjectStoragePath) -> bool:
    """Return whether a path is on this machine's disk."""
    return path.protocol in {"file", "local", ""}
