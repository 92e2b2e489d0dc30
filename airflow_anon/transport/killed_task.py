"""A task that is killed ends the statement that it waits for.

Airflow sends SIGTERM, and 5 seconds later SIGKILL. Python calls no handler while a database driver waits in C for an
answer, so the handler that calls `on_kill` would come too late, and the server would go on with the statement.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

TERMINATED = 143
"""Exit status of what SIGTERM ends."""


class Work:
    """What a task does, which `on_kill` ends wherever it is; Airflow calls that in the thread of the task."""

    def __init__(self) -> None:
        self._goes_on = False

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Let the block be what is ended."""
        self._goes_on = True
        try:
            yield
        finally:
            self._goes_on = False

    def end(self) -> None:
        """End the work, once: Airflow goes on with the thread afterwards.

        Raises
        ------
        SystemExit
            It goes on.
        """
        if self._goes_on:
            self._goes_on = False
            raise SystemExit(TERMINATED)


@contextmanager
def cancelling_when_killed(cancel: Callable[[], None]) -> Iterator[None]:
    """Call `cancel` in another thread at once when this process gets SIGTERM; the process's own handler follows.

    In a thread that gets no signals nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    # what C calls for each signal, before any handler of Python
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_listen, args=(heard, before, cancel), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        told.close()
        thread.join()
        heard.close()


def _listen(heard: socket.socket, before: int, cancel: Callable[[], None]) -> None:
    while signals := heard.recv(64):
        if before != -1:
            with suppress(OSError):
                os.write(before, signals)
        if signal.SIGTERM in signals:
            # a connection that is closed meanwhile has no statement
            with suppress(Exception):
                cancel()
