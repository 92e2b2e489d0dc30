"""A release of a series before it is published: what a run proposes to the vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.series.remembered import Remembered


@dataclass(frozen=True, eq=False)
class Proposal:
    """A release that a run proposes.

    Attributes
    ----------
    release : Remembered
    after : int
        Number of the newest confirmed release that the run has seen, 0 for none.
    places : int64, shape (A,)
        Places of persons who are in no remembered release.
    ids : uint8, shape (A, `ID_BYTES`)
        Their keyed ids.
    facts : mapping
        What settles the proposal: plain data of whoever publishes it.
    """

    release: Remembered
    after: int
    places: NDArray[np.int64]
    ids: NDArray[np.uint8]
    facts: Mapping[str, Any] = field(default_factory=dict)
