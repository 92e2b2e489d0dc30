"""Work stealing: threads take from each other the items that are not begun.

In: a first item and a function that turns an item into others. Each thread works on its newest item, so few items wait;
a thread without items takes the oldest item of another, which is the largest piece of work (Blumofe, Leiserson,
Scheduling multithreaded computations by work stealing. J ACM 46(5), 1999). Once `urgent` says so, a thread works on the
first of all items in their order. Compiled kernels run in parallel, the Python code between them does not.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

_IDLE_SECONDS = 0.0005


class Pool(Generic[Item]):
    """Items that wait or are in work.

    Parameters
    ----------
    work : callable
        From the number of a thread and an item to further items; the last one is done next.
    pause : callable
        Called by the first thread between items; returns whether to stop. The others stop with it.
    order : callable
        The value of an item by which the first one is found.
    urgent : callable
        Whether the first item is to be taken from now on, not the newest.
    """

    def __init__(
        self,
        threads: int,
        work: Callable[[int, Item], Sequence[Item]],
        pause: Callable[[], bool],
        order: Callable[[Item], Any],
        urgent: Callable[[], bool],
    ) -> None:
        self._work = work
        self._order = order
        self._urgent = urgent
        self._pause = pause
        self._waiting: list[deque[Item]] = [deque() for _ in range(threads)]
        self._active: list[Item | None] = [None] * threads
        self._in_order: list[tuple[Any, int, Item]] = []
        self._pushed = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._failure: BaseException | None = None

    def run(self, first: Item) -> None:
        """Work until no item is left, or `pause` returns true; the remaining items are then kept.

        Raises
        ------
        BaseException
            The exception of a thread. An interrupt (KeyboardInterrupt) stops the work and is not raised.
        """
        self._waiting[0].append(first)
        others = [
            threading.Thread(target=self._loop, args=(number,), daemon=True) for number in range(1, len(self._waiting))
        ]
        for thread in others:
            thread.start()
        try:
            self._loop(0)
        except KeyboardInterrupt:
            self._stopped.set()
        for thread in others:
            thread.join()
        if self._failure is not None:
            raise self._failure

    def items(self) -> list[Item]:
        """Return the items that wait or are in work."""
        with self._lock:
            return self._all_waiting() + [item for item in self._active if item is not None]

    def waiting(self) -> Iterable[Item]:
        """Return the waiting items, oldest first by thread; then those taken in order, as the heap has them."""
        with self._lock:
            return self._all_waiting()

    def _all_waiting(self) -> list[Item]:
        return [item for queue in self._waiting for item in queue] + [item for _, _, item in self._in_order]

    def _loop(self, number: int) -> None:
        while not self._stopped.is_set():
            if number == 0 and self._pause():
                self._stopped.set()
                return
            item = self._take(number)
            if item is None:
                if self._is_done():
                    return
                self._stopped.wait(_IDLE_SECONDS)
                continue
            try:
                found = self._work(number, item)
            except BaseException as problem:
                if number == 0:
                    self._stopped.set()
                    raise
                self._failure = problem
                self._stopped.set()
                return
            with self._lock:
                self._waiting[number].extend(found)
                self._active[number] = None

    def _take(self, number: int) -> Item | None:
        with self._lock:
            item: Item | None = None
            if self._urgent():
                item = self._first()
            elif self._waiting[number]:
                item = self._waiting[number].pop()
            else:
                richest = max(self._waiting, key=len)
                item = richest.popleft() if richest else None
            self._active[number] = item
            return item

    def _first(self) -> Item | None:
        for queue in self._waiting:
            while queue:
                item = queue.popleft()
                self._pushed += 1
                heapq.heappush(self._in_order, (self._order(item), self._pushed, item))
        return heapq.heappop(self._in_order)[2] if self._in_order else None

    def _is_done(self) -> bool:
        with self._lock:
            return not any(self._waiting) and not self._in_order and all(item is None for item in self._active)
