"""Receivers of events: one that answers as it is told, and some that drip, flood or never answer."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scrapy_neardup.stories.receivers import Webhook

PATIENCE = 60  # seconds that a slow machine may take


def skip(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock of the event loop jump."""
    loop = asyncio.get_running_loop()
    time = loop.time
    monkeypatch.setattr(loop, "time", lambda: time() + seconds)


def report(number: int) -> dict[str, Any]:
    return {"id": f"story-{number}", "time": f"2023-11-14T22:{number:02}:00Z", "level": "breaking", "story": "story",
            "headline": "Feuer über der Stadt"}  # fmt: skip


class Receiver:
    """A web server that answers with the statuses it is told, then with 204."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.requests: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/events"

    def __enter__(self) -> "Receiver":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def ids(self) -> list[str]:
        return [json.loads(body)["id"] for _, body in self.requests]


async def deliver(webhook: Webhook, report: dict[str, Any]) -> None:
    """Send one report, and close the connection."""
    try:
        await webhook.deliver(report)
    finally:
        await webhook.close()


Behaviour = Callable[[socket.socket, threading.Event], None]


class BadReceiver:
    """Reads a request, then does with its connection what it is told until the connection breaks or the test ends."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/events"
        self.over = threading.Event()
        self.requests = 0
        self.cut = threading.Semaphore(0)  # released when a connection is closed by its client

    def __enter__(self) -> "BadReceiver":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.over.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            with suppress(OSError):
                _read_request(connection)
                self.requests += 1
                self._behaviour(connection, self.over)
            self.cut.release()


def _read_request(connection: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 16)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(1 << 16)


def say_nothing(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(1)  # until the client hangs up


def drip_headers(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not over.wait(0.05):
        connection.sendall(b"X")


def drip_interim_answers(connection: socket.socket, over: threading.Event) -> None:
    while not over.wait(0.05):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def drip_body(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not over.wait(0.05):
        connection.sendall(b"x")


def flood(status: str) -> Behaviour:
    """Gigabytes, as fast as they are taken."""

    def behave(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 8000000000\r\n\r\n".encode())
        while not over.is_set():
            connection.sendall(b"x" * (1 << 20))

    return behave


def flood_chunks(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not over.is_set():
        connection.sendall(b"1" * (1 << 20))  # the size of a chunk, without an end


ENDS = """
import asyncio, sys
from scrapy_neardup.story import Story
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.receivers import Webhook
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.stories.event import Sender

async def main():
    senders = [Sender(Webhook(url), special_report, lambda *_: None) for url in sys.argv[1:]]
    for sender in senders:
        for number in range(3):
            story = Story(f"{number:016x}", 1, 1, 0, (), ())
            sender.put(story.id, StoryEvent("breaking", number, "sources", story, ()))
    await asyncio.sleep(0)
    await asyncio.gather(*(sender.close() for sender in senders))
    print("closed", flush=True)

asyncio.run(main())
"""
