"""Where the files of a release are, as the document of its entry says: in one share, in several, or in none.

In: the part `publication` of a document, of whatever form somebody gave it. Out: paths and addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def places_of(publication: Mapping[str, Any] | None) -> list[str]:
    """Return each place, the first one first; none without files."""
    first = (publication or {}).get("folder")
    if publication is None or first is None:
        return []
    also = publication.get("also")
    return [str(first), *(map(str, also) if isinstance(also, list) else ())]
