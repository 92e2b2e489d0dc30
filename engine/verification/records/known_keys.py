"""The keys of a job that whoever verifies has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.job.keys import key_places, open_key
from engine.message import Message

if TYPE_CHECKING:
    from engine.job.job import Job


@dataclass(frozen=True)
class KnownKeys:
    """The keys that are known.

    Attributes
    ----------
    of_place : mapping of str to bytes
        By key of the job, as of `key_places`.
    why_not : mapping of str to Message
        Of every other one, why it is not.
    """

    of_place: Mapping[str, bytes] = field(repr=False)
    why_not: Mapping[str, Message]


def known_keys(job: Job, keys: Mapping[str, bytes] | None, release_key: bytes | None) -> KnownKeys:
    """Open the keys of a job, as far as they are given or can be read."""
    found, reasons = {}, {}
    for where, place in key_places(job):
        if not place.is_persistent:
            if release_key is None:
                reasons[where] = Message("the key of this release is not given, and is kept nowhere")
            else:
                found[where] = release_key
            continue
        try:
            found[where] = open_key(where, place, keys or {}, make=False)
        except EngineError as problem:
            reasons[where] = problem.message
    return KnownKeys(found, reasons)
