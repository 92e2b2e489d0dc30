"""A StatsD server for the tests."""

from __future__ import annotations

import socket
import threading


class StatsdServer:
    """Keeps what it receives, packet by packet."""

    def __init__(self) -> None:
        self.packets: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def stop(self) -> None:
        self._socket.sendto(b"end", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while (packet := self._socket.recv(4096)) != b"end":
            self.packets.append(packet.decode())
