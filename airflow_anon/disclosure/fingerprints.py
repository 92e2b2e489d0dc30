"""Which fingerprint of a source may be told: one under a secret key, which the id of the key beside it shows.

Earlier versions of this package made fingerprints without a key. Whoever knows all records of a source but one finds
that one from such a fingerprint, by trying every candidate, so it is withheld wherever an entry is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def told_fingerprint(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return `fingerprint` and `fingerprint_key_id` of a source; both are None unless both are there."""
    found = {name: source.get(name) for name in ("fingerprint", "fingerprint_key_id")}
    return dict.fromkeys(found) if None in found.values() else found


def with_told_fingerprint(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of an entry without a fingerprint that was made without a key."""
    source = document.get("source")
    if not isinstance(source, dict) or source.get("fingerprint") is None:
        return document
    return {**document, "source": {**source, **told_fingerprint(source)}}
