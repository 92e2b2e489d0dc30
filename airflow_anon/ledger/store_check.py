"""What an object store has of a release, for comparison with its entry; `share_check` and `delivery` ask for it."""

from __future__ import annotations

from collections.abc import Collection

from airflow_anon.ledger.errors import LedgerError
from airflow_anon.ledger.expected_file import ADDED, CHANGED, MATCHES, MISSING, UNREACHABLE, Expected
from airflow_anon.ledger.manifest import is_manifest
from airflow_anon.transport.object_store import StoreError, content_of, listed, sha256_of
from airflow_anon.transport.release_files import CURRENT, MANIFEST
from airflow_anon.transport.release_pointer import Pointer


def differing(address: str, expected: Collection[Expected], hashed: Collection[str]) -> dict[str, str]:
    """Compare the objects of a release with the files of its entry.

    Returns
    -------
    dict
        A state of `share_check` by name; "added" of objects that the entry does not name.
    """
    try:
        present = listed(address)
    except StoreError:
        return {one.name: UNREACHABLE for one in expected}
    states = {one.name: _state(address, one, present.get(one.name), one.name in hashed) for one in expected}
    return {**states, **dict.fromkeys(sorted(present.keys() - states.keys()), ADDED)}


def _state(address: str, expected: Expected, size: int | None, hashed: bool) -> str:
    if size is None:
        return MISSING
    if not expected.fits(size):
        return CHANGED
    try:
        found = sha256_of(f"{address}/{expected.name}") if hashed else expected.sha256
    except StoreError:
        return UNREACHABLE
    if found is None:
        return MISSING
    return MATCHES if found == expected.sha256 else CHANGED


def pointer_in(address: str) -> Pointer | str:
    """Return what `current` of a job says, or a state: "missing", "changed" if it is none of ours, "unreachable"."""
    try:
        content = content_of(f"{address}/{CURRENT}")
    except StoreError:
        return UNREACHABLE
    return MISSING if content is None else Pointer.read(content) or CHANGED


def has_objects(address: str) -> bool:
    """Whether there is anything at the address of a release; False if the store cannot be read."""
    try:
        return bool(listed(address))
    except StoreError:
        return False


def releases_in(share: str) -> set[tuple[str, str]]:
    """Return job and release id of every release of a share: of what has a manifest.

    Raises
    ------
    LedgerError
        The share cannot be read.
    """
    try:
        names = [name.split("/") for name in listed(share)]
        there = [parts for parts in names if len(parts) == len(("job", "release", MANIFEST)) and parts[-1] == MANIFEST]
        return {
            (job, release)
            for job, release, _ in there
            if is_manifest(content_of(f"{share}/{job}/{release}/{MANIFEST}") or b"")
        }
    except StoreError as problem:
        raise LedgerError(f"share {problem}") from None
