"""What a command does whose reader has gone, as after `| head`: it ends, without a word."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

READER_LEFT = 128 + signal.SIGPIPE
"""Exit status of what a shell sees as ended by a pipe that nobody reads."""


def until_reader_leaves(command: Callable[[], int]) -> int:
    """Run a command whose output may be a pipe; return its exit status, or `READER_LEFT`."""
    try:
        status = command()
        sys.stdout.flush()
    except BrokenPipeError:
        if _is_closed():
            return READER_LEFT
        sys.stderr.write("airflow-anon: the other end closed a connection, or a pipe; run again\n")
        return 1
    return status


def _is_closed() -> bool:
    """Tell whether nobody reads the output; if so, what is left of it goes nowhere."""
    output = sys.stdout.fileno()
    poll = select.poll()
    poll.register(output, 0)  # a closed pipe is told of all the same
    if not poll.poll(0):
        return False
    # else Python would write once more at its end, and tell of it
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), output)
    return True
