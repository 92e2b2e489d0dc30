"""What tells whether a hierarchy is still the one that a release was made with, and nothing else.

A file of a hierarchy lists values, often those that were found in the source: who knows all of its rows but one could
try every candidate for that one until a plain hash fits. So the digest is made under a secret key. The salt of the
release, and the column, are part of it, so that the digests of two nights do not tell whether a value was placed.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence

from engine.hierarchy.builder import HierarchyBuilder


def digest(hierarchy: HierarchyBuilder, key: bytes, apart: Sequence[str]) -> str:
    """Return the digest of what a hierarchy's labels follow from, HMAC-SHA-256, hexadecimal.

    Parameters
    ----------
    key : bytes
        Secret and random.
    apart : sequence of str
        What makes digests of one hierarchy different, such as the column.

    Raises
    ------
    InvalidJob, InvalidData
        A file of the hierarchy is missing or broken.
    """
    found = hmac.new(key, digestmod="sha256")
    for part in (apart, *hierarchy.definition()):
        found.update(json.dumps(list(part)).encode() + b"\n")
    return found.hexdigest()
