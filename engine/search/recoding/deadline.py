"""When a search for a recoding ends: by the clock, or by an interrupt, after which the best so far counts.

The main thread is interrupted, and the others see it here: they end as they would when the time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Found = TypeVar("Found")


class Deadline:
    """The end of a search, `seconds` from now; None: there is none but an interrupt."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = np.inf if seconds is None else time.monotonic() + seconds
        self._interrupted = False

    def over(self) -> bool:
        """Tell whether the time is over."""
        return self._interrupted or time.monotonic() >= self._end

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Leave the block at an interrupt (KeyboardInterrupt), which is not raised: the time is over then."""
        try:
            yield
        except KeyboardInterrupt:
            self._interrupted = True

    def share(self, function: Callable[[Item], Found], items: Iterable[Item], threads: int) -> list[Found]:
        """Call a function, which asks whether the time is over, for each item; threads share them.

        An interrupt ends the time: the calls that have not begun find it over, and all results are returned.
        """
        waiting = list(items)
        calls: list[Future[Found]] = []
        with ThreadPoolExecutor(threads) as pool:
            while len(calls) < len(waiting):
                with self.interruptible():
                    calls.append(pool.submit(function, waiting[len(calls)]))
            return [self._result(call) for call in calls]

    def _result(self, call: Future[Found]) -> Found:
        while True:
            with self.interruptible():
                return call.result()
