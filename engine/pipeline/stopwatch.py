"""How long each step of a run took. In: blocks with names. Out: seconds by name, in the order of the blocks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Times the steps of one run."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a block; one that raises is not counted."""
        started = time.perf_counter()
        yield
        self._seconds[name] = time.perf_counter() - started

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of the steps so far."""
        return dict(self._seconds)
