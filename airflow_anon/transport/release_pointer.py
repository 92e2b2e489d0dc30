"""The small object `current` beside the releases of a job in a store: which release readers get, and its manifest.

A store has no links. One object is replaced in one step instead, so readers see the old release or the new one.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

from engine import strict_json

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """What `current` says.

    Attributes
    ----------
    release_id : str
    manifest_sha256 : str
        SHA-256 of the release's `manifest.json`, hexadecimal.
    """

    release_id: str
    manifest_sha256: str

    def written(self) -> bytes:
        """Return the content of the object."""
        return json.dumps(asdict(self), indent=2).encode()

    @classmethod
    def read(cls, content: bytes) -> Pointer | None:
        """Read the content of an object; None if it is no pointer."""
        try:
            document = strict_json(content)
            found = cls(release_id=document["release_id"], manifest_sha256=document["manifest_sha256"])
            is_valid = _NAME.fullmatch(found.release_id) and _SHA256.fullmatch(found.manifest_sha256)
        except (ValueError, KeyError, TypeError):
            return None
        return found if is_valid else None
