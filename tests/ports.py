"""Ports for the servers that tests start."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Give a TCP port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
