"""One line on the terminal that is written over while a command works, and gone when it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_line(text: Callable[[Mapping[str, Any]], str]) -> Iterator[Callable[[Mapping[str, Any]], None] | None]:
    """Give what writes figures over the line; None where standard error is no terminal.

    Parameters
    ----------
    text : callable
        Returns what is told of some figures.
    """
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield lambda figures: _write(text(figures))
    finally:
        _write("")


def _write(text: str) -> None:
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
