"""A line that tells how long the first run has been compiling, which takes up to a minute and happens once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOOK = 0.5
_LONG = 2.0
"""Seconds between two looks, and of a compilation that is worth a line; loading compiled kernels takes less."""


@contextmanager
def shown_compilation() -> Iterator[None]:
    """Tell on a terminal for how long the block has been compiling; elsewhere nothing is told."""
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(ended,), daemon=True)
    if sys.stderr.isatty():
        watch.start()
    try:
        yield
    finally:
        ended.set()
        if watch.ident is not None:
            watch.join()


def _watch(ended: threading.Event) -> None:
    shown = False
    while not ended.wait(_LOOK):
        seconds = _compiling_seconds()
        if seconds >= _LONG:
            text = f"compiling the kernels, once for all runs (airflow-anon warm-up does it ahead): {seconds:.0f} s"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            shown = True
        elif shown:
            break
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _compiling_seconds() -> float:
    # commands that compute nothing must not load numba for this
    kernels = sys.modules.get("engine.kernels.warm_up")
    seconds = getattr(kernels, "compiling_seconds", None)
    return 0.0 if seconds is None else float(seconds())
