"""When a search for a recoding ends: by the clock, or by an interrupt, after which the best so far counts.

The main thread is interrupted, and the others see it here: they end as they would when the time is over.
"""

from __future__ import annotations

import threading
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
        self._begin = time.monotonic()
        self._end = np.inf if seconds is None else self._begin + seconds
        self._interrupted = threading.Event()

    def first(self, share: float) -> Deadline:
        """Return the deadline of the first share of the time; an interrupt ends both."""
        found = Deadline()
        found._end = self._begin + share * (self._end - self._begin)
        found._interrupted = self._interrupted
        return found

    def over(self) -> bool:
        """Tell whether the time is over."""
        return self._interrupted.is_set() or time.monotonic() >= self._end

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Leave the block at an interrupt (KeyboardInterrupt), which is not raised: the time is over then."""
        try:
            yield
        except KeyboardInterrupt:
            self._interrupted.set()

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
