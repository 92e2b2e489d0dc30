"""The labels of a hierarchy by their texts: whoever reads a file knows a label by its text alone, not by its level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.hierarchy.hierarchy import Hierarchy


def text_codes(hierarchy: Hierarchy) -> NDArray[np.int32]:
    """Return codes of the labels that are equal at all levels for equal texts, int32, shape (levels, leaves)."""
    code: dict[str | None, int] = {}
    return np.array(
        [
            np.array([code.setdefault(label, len(code)) for label in labels], np.int32)[codes]
            for labels, codes in zip(hierarchy.labels, hierarchy.codes, strict=True)
        ],
        np.int32,
    )
