"""A JSON POST for each event."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_neardup.stories.outbox import Refused
from scrapy_neardup.stories.outbox_files import encode

if TYPE_CHECKING:
    from requests import Response, Session
    from requests.adapters import HTTPAdapter

SIGNATURE = "X-Neardup-Signature"
"""``sha256=`` and the hexadecimal HMAC-SHA256 of the body under NEARDUP_EVENTS_WEBHOOK_SECRET."""

DEADLINE = 10.0  # seconds from the first byte sent to the last header of the answer
MOST_ANSWER_BYTES = 65_536
_BODY_SECONDS = 1.0  # time limit to read the body of an answer: it is not used, but the server can finish
_TIMEOUT = (3.05, 5.0)  # seconds: to connect, and between two bytes
_THREAD = "neardup-webhook"
_LOGGERS = ("urllib3.connection", "urllib3.connectionpool", "urllib3.poolmanager", "urllib3.util.retry")

# The receiver may take the event later, or once the url or the password is mended.
_WORTH_RETRYING = (401, 403, 404, 407, 408, 425, 429)


class DeliveryFailed(OSError):
    """The receiver did not take the event; it may do so later."""


class Webhook:
    """POSTs events. Each POST has its own thread, and a deadline after which its connection is closed.

    Neither errors nor logs show more of the url than its host: the rest may be a secret.
    """

    def __init__(self, url: str, secret: str | None = None, deadline: float = DEADLINE) -> None:
        self._url = url
        self._secret = secret
        self._deadline = deadline
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_is_of_another_thread)

    async def deliver(self, report: dict[str, Any]) -> None:
        """Raise Refused if the receiver will never take the event, and DeliveryFailed if it may later."""
        body = encode(report)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "scrapy-neardup",
            "X-Neardup-Event": str(report["level"]),
            "X-Neardup-Id": str(report["id"]),
        }
        if self._secret:
            headers[SIGNATURE] = "sha256=" + hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
        post = _Post(self._url, body, headers)
        try:
            status, location = await asyncio.wait_for(post.start(), self._deadline)
            await asyncio.wait({post.finished}, timeout=_BODY_SECONDS)
        except asyncio.TimeoutError:
            raise DeliveryFailed(f"{_host_of(self._url)} did not answer within {self._deadline:g} s") from None
        finally:
            post.stop()
        self._judge(status, location)

    async def close(self) -> None:
        """Do nothing: no connection stays open between two events."""

    def _judge(self, status: int, location: str) -> None:
        host = _host_of(self._url)
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            # A redirected POST would arrive as a GET without its body.
            other = f" to {_host_of(location)}" if location else ""
            raise DeliveryFailed(
                f"{host} answers {status}, redirected{other}: set NEARDUP_EVENTS_WEBHOOK to the url it redirects to"
            )
        if 400 <= status < 500 and status not in _WORTH_RETRYING:
            raise Refused(f"{host} answers {status}")
        mend = "; check NEARDUP_EVENTS_WEBHOOK" if status in _WORTH_RETRYING[:4] else ""
        raise DeliveryFailed(f"{host} answers {status}{mend}")


class _Post:
    """One POST in a thread of its own, which ends soon after ``stop`` wherever it is."""

    def __init__(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        self._url = url
        self._body = body
        self._headers = headers
        self._guard = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_stopped = False
        self._loop = asyncio.get_running_loop()
        self._answered: asyncio.Future[tuple[int, str]] = self._loop.create_future()
        self.finished: asyncio.Future[None] = self._loop.create_future()

    def start(self) -> asyncio.Future[tuple[int, str]]:
        """Return the status of the answer, and its Location."""
        # Do not use a thread pool: the process would wait at its end for a thread that looks up a host name.
        threading.Thread(target=self._run, name=_THREAD, daemon=True).start()
        return self._answered

    def stop(self) -> None:
        """Close the connection, so that no read or write of the thread goes on."""
        with self._guard:
            self._is_stopped = True
            if self._socket is not None:
                _shut(self._socket)

    def _run(self) -> None:
        try:
            with _session(self._watch) as session:
                answer = session.post(
                    *(self._url, self._body),
                    headers=self._headers,
                    timeout=_TIMEOUT,
                    allow_redirects=False,
                    stream=True,
                )
                self._settle(self._answered, (answer.status_code, answer.headers.get("Location", "")))
                _read_some(answer)
        except Exception as error:
            failure = DeliveryFailed(f"{_host_of(self._url)} cannot be reached: {_reason_of(error)}")
            self._settle(self._answered, failure)
        self._settle(self.finished, None)

    def _watch(self, connected: socket.socket) -> None:
        with self._guard:
            self._socket = connected
            if self._is_stopped:
                _shut(connected)

    def _settle(self, future: asyncio.Future[Any], result: object) -> None:
        def settle() -> None:
            if future.done():
                return
            if isinstance(result, BaseException):
                future.set_exception(result)
                future.exception()  # nobody may wait for it any more
            else:
                future.set_result(result)

        with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
            self._loop.call_soon_threadsafe(settle)


def _session(watch: Callable[[socket.socket], None]) -> Session:
    from requests import Session

    session = Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _watched_adapter(watch))
    return session


def _watched_adapter(watch: Callable[[socket.socket], None]) -> HTTPAdapter:
    """Return an adapter that tells of each connection it makes, through a proxy too."""
    from requests.adapters import HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager

    def watched(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
        class Connection(pool.ConnectionCls):  # type: ignore[name-defined,misc]
            def connect(self) -> None:
                super().connect()
                watch(self.sock)

        return type(pool.__name__, (pool,), {"ConnectionCls": Connection})

    pools = {"http": watched(HTTPConnectionPool), "https": watched(HTTPSConnectionPool)}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, proxy: str, **options: Any) -> PoolManager:
            manager: PoolManager = super().proxy_manager_for(proxy, **options)
            manager.pool_classes_by_scheme = pools
            return manager

    return Adapter(max_retries=0)


def _read_some(answer: Response) -> None:
    """Read the beginning of a body: some servers complain if a client hangs up at once."""
    read = 0
    for chunk in iter(partial(answer.raw.read, 8192, decode_content=False), b""):
        read += len(chunk)
        if read >= MOST_ANSWER_BYTES:
            return


def _shut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # also below TLS, which could wait for an answer


def _host_of(url: str) -> str:
    """Return the part of a url that is no secret."""
    try:
        return urlsplit(url).hostname or "the receiver"
    except ValueError:
        return "the receiver"


def _reason_of(error: BaseException) -> str:
    """Describe an error without the url: by the system's own words if there are any, else by its type."""
    seen: list[BaseException] = []
    pending: list[object] = [error]
    while pending:
        each = pending.pop(0)
        if isinstance(each, BaseException) and each not in seen:
            seen.append(each)
            pending += [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
    for each in reversed(seen):
        if isinstance(each, OSError) and isinstance(each.strerror, str):
            return each.strerror
    return type(seen[-1]).__name__


def _is_of_another_thread(record: logging.LogRecord) -> bool:
    """Keep lines of urllib3 about a webhook out of the logs: they show its path and query."""
    return record.threadName != _THREAD
