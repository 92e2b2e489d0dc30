"""Threads that take items from each other: each item is worked on once."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from engine.search.boxes.open_boxes import Pool

DEPTH = 7


def halves(item):
    """Return the items that an item is turned into: paths of a binary tree, one step longer."""
    return [(*item, 0), (*item, 1)] if len(item) < DEPTH else []


def worked(*, threads, urgent=False, order=len):
    """Return which thread worked on which item, in the order in which they began."""
    done, lock = [], threading.Lock()

    def work(thread, item):
        with lock:
            done.append((thread, item))
        # long enough for other threads to look for an item
        time.sleep(0.001)
        return halves(item)

    pool = Pool(threads, work, lambda: False, order=order, urgent=lambda: urgent)
    pool.run(())
    assert pool.items() == []
    return done


@pytest.mark.parametrize("urgent", [False, True])
def test_each_item_is_worked_on_once(urgent):
    done = worked(threads=3, urgent=urgent)
    assert sorted(item for _, item in done) == sorted(
        path for length in range(DEPTH + 1) for path in itertools.product((0, 1), repeat=length)
    )
    assert {thread for thread, _ in done} == {0, 1, 2}


def test_the_first_in_order_comes_first_once_it_is_urgent():
    # one thread, paths as binary fractions: whatever waits, the least is next
    def fraction(item):
        return sum(step / 2 ** (place + 1) for place, step in enumerate(item))

    done = worked(threads=1, urgent=True, order=fraction)
    values = [fraction(item) for _, item in done]
    assert values == sorted(values)


def test_the_error_of_any_thread_ends_all():
    def work(thread, item):
        if len(item) == DEPTH:
            raise ValueError("broken")
        time.sleep(0.001)
        return halves(item)

    pool = Pool(3, work, lambda: False, order=len, urgent=lambda: False)
    with pytest.raises(ValueError, match="broken"):
        pool.run(())
