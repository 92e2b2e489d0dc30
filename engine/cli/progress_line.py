"""One line on the terminal that is written over while a command works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


class ProgressLine:
    """The line.

    Parameters
    ----------
    text : callable
        Returns what is told of some figures.
    """

    def __init__(self, text: Callable[[Mapping[str, Any]], str]) -> None:
        self._text = text

    def __call__(self, figures: Mapping[str, Any]) -> None:
        """Write the text of these figures over what stands there."""
        print(f"\r\x1b[K{self._text(figures)}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
