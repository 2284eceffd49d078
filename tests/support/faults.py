"""Simulate faults between a crawl and its store: a network that tests control, and a clock that times the next try."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from servers import RedisServer, free_port

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.index import Breaker
from scrapy_neardup.settings import NearDupSettings

LOST = Verdict("unchecked", reason="store-unavailable")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def detector_on(store: str, clock: Clock, timeout: float = 3.0) -> NearDupDetector:
    """An open detector whose breaker goes by a clock of the test. Its store may be slow, as on a busy machine."""
    detector = NearDupDetector(NearDupSettings(store=store, store_timeout=timeout))
    detector.breaker = Breaker(clock)
    await detector.open()
    return detector


class Network:
    """A TCP proxy on loopback that swallows, cuts or loses answers."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.port = free_port()
        self._lost_answers = self._arriving_answers = 0
        self._flowing = threading.Event()
        self._flowing.set()
        self._sockets: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.join()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def join(self) -> None:
        """Take connections, again."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Every connection breaks, and new ones are refused."""
        if self._listener is not None:
            _close(self._listener)
            self._listener = None
        for each in list(self._sockets):
            _close(each)
        self._sockets.clear()

    def swallow(self) -> None:
        """Connections stay open and nothing arrives."""
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    def lose_answers(self, number: int, after: int = 0) -> None:
        """So many answers of the server, after those that still arrive, are lost, and their connections break."""
        self._lost_answers, self._arriving_answers = number, after

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._target))
                except OSError:  # the server is away, the network is not
                    _close(near)
                    continue
                self._sockets |= {near, far}
                asked = threading.Event()  # since the last answer, which may come in several parts
                for ends in ((near, far, False), (far, near, True)):
                    threading.Thread(target=self._pump, args=(*ends, asked), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, answers: bool, asked: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if not answers:
                    asked.set()
                elif asked.is_set():
                    asked.clear()
                    if self._arriving_answers:
                        self._arriving_answers -= 1
                    elif self._lost_answers:
                        self._lost_answers -= 1
                        break
                self._flowing.wait()
                target.sendall(data)
        _close(source)
        _close(target)


Step = Callable[[RedisServer, Network], object]
FAULTS: dict[str, tuple[Step, Step, bool]] = {
    "killed": (lambda server, _: server.stop(), lambda server, _: server.start(), False),
    "hung": (lambda server, _: server.pause(), lambda server, _: server.resume(), True),
    "out of memory": (
        lambda server, _: server.execute("CONFIG", "SET", "maxmemory", "1"),
        lambda server, _: server.execute("CONFIG", "SET", "maxmemory", "0"),
        True,
    ),
    "read-only replica": (
        lambda server, _: server.execute("REPLICAOF", "127.0.0.1", free_port()),
        lambda server, _: server.execute("REPLICAOF", "NO", "ONE"),
        True,
    ),
    "network cut": (lambda _, network: network.cut(), lambda _, network: network.join(), True),
    "network silent": (lambda _, network: network.swallow(), lambda _, network: network.flow(), True),
    "connections closed": (
        lambda server, network: (server.execute("CLIENT", "KILL", "TYPE", "normal"), network.cut()),
        lambda _, network: network.join(),
        True,
    ),
}
"""How a store is lost, how it comes back, and whether it then still knows what it knew."""


def _close(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
