"""What readers regard as a release: a folder, or a place in a store, with a manifest that lists files."""

from __future__ import annotations

import json


def is_manifest(content: bytes) -> bool:
    """Tell whether the content of a file is a manifest; whatever else stands there ends no check of a share."""
    try:
        manifest = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and isinstance(manifest.get("files"), dict)
