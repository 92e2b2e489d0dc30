"""How a local recoding is searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RecodingAlgorithm = Literal["clustering", "splitting"]


@dataclass(frozen=True)
class Settings:
    """How a local recoding is searched for.

    Attributes
    ----------
    algorithm : {"clustering", "splitting"}
        Splitting, clustering and a local search; or splitting alone.
    block : int
        Tuples of a block.
    seconds : float or None
        After so many the best so far is returned; the last quarter is for its bound.
    passes, visits : int
        Of the lower bound (`lower_bound`).
    gap : float
        The share that a better recoding could save at most, with which the bound is good enough.
    """

    algorithm: RecodingAlgorithm
    block: int
    seconds: float | None
    passes: int
    visits: int
    gap: float
