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
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_neardup.stories.messages import message
from scrapy_neardup.stories.outbox import Refused
from scrapy_neardup.stories.outbox_files import encode

if TYPE_CHECKING:
    from requests import Session

SIGNATURE = "X-Neardup-Signature"
"""``sha256=`` and the hexadecimal HMAC-SHA256 of the body under NEARDUP_EVENTS_WEBHOOK_SECRET."""

DEADLINE = 10.0  # seconds from the first byte sent to the last header of the answer
MOST_ANSWER_BYTES = 65_536
# Time limit to read the body of an answer; the body is not used, but reading it lets the server finish.
_BODY_SECONDS = 1.0
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

    def __init__(self, url: str, secret: str | None = None, deadline: float = DEADLINE, *, form: str = "plain") -> None:
        self._url = url
        self._form = form
        self._secret = secret
        self._deadline = deadline
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(_is_of_another_thread)

    async def deliver(self, report: dict[str, Any]) -> None:
        """Raise Refused if the receiver will never take the event, and DeliveryFailed if it may later."""
        try:
            told = message(report, self._form)
            body = None if told is None else encode(told)
        except Exception as error:
            raise Refused(f"NEARDUP_EVENTS_WEBHOOK_FORMAT failed: {type(error).__name__}: {error}") from error
        if body is None:
            return
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "scrapy-neardup",
            "X-Neardup-Event": str(report["level"]),
            "X-Neardup-Id": str(report["id"]),
        }
        if self._secret:
            headers[SIGNATURE] = "sha256=" + hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
        post = _Post(self._url, body, headers)
        post.start()
        try:
            status, location = await asyncio.wait_for(asyncio.wrap_future(post.answer), self._deadline)
            await asyncio.to_thread(post.join, _BODY_SECONDS)
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


class _Post(threading.Thread):
    """One POST in its own thread. The thread ends soon after ``stop``, whatever it is doing.

    A thread of a pool would not do: the process would wait at its end for one that looks up a host name.
    """

    def __init__(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        super().__init__(name=_THREAD, daemon=True)
        self._request = url, body, headers
        self._guard = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_stopped = False
        self.answer: Future[tuple[int, str]] = Future()  # the status and the Location
        self.answer.set_running_or_notify_cancel()  # from here on it cannot be cancelled

    def stop(self) -> None:
        """Close the connection, so that no read or write of the thread goes on."""
        with self._guard:
            self._is_stopped = True
            if self._socket is not None:
                _shut(self._socket)

    def run(self) -> None:
        url, body, headers = self._request
        try:
            with _session(url, self._watch) as session:
                answer = session.post(url, body, headers=headers, timeout=_TIMEOUT, allow_redirects=False, stream=True)
                self.answer.set_result((answer.status_code, answer.headers.get("Location", "")))
                # Some servers complain if a client hangs up before it has read the beginning of the body.
                answer.raw.read(MOST_ANSWER_BYTES, decode_content=False)
        except Exception as error:
            if not self.answer.done():
                failure = DeliveryFailed(f"{_host_of(url)} cannot be reached: {_reason_of(error)}")
                self.answer.set_exception(failure)

    def _watch(self, connected: socket.socket) -> None:
        with self._guard:
            self._socket = connected
            if self._is_stopped:
                _shut(connected)


def _session(url: str, watch: Callable[[socket.socket], None]) -> Session:
    """Return a session for a url. It calls ``watch`` with each connection it makes, also with one to a proxy."""
    from requests import Session
    from requests.adapters import HTTPAdapter
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    class Adapter(HTTPAdapter):
        def get_connection_with_tls_context(self, *arguments: Any, **options: Any) -> Any:
            pool = super().get_connection_with_tls_context(*arguments, **options)

            class Connection(pool.ConnectionCls):  # type: ignore[name-defined,misc]
                def connect(self) -> None:
                    super().connect()
                    watch(self.sock)

            pool.ConnectionCls = Connection
            return pool

    session = Session()
    login = get_auth_from_url(url)
    # Without an ``auth``, requests would prefer the password of a .netrc, whose default entry is for every host.
    session.auth = HTTPBasicAuth(*login) if any(login) else lambda request: request
    for scheme in ("http://", "https://"):
        session.mount(scheme, Adapter(max_retries=0))
    return session


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
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for each in reversed(causes):
        if isinstance(each, OSError) and isinstance(each.strerror, str):
            return each.strerror
    return type(causes[-1]).__name__


def _is_of_another_thread(record: logging.LogRecord) -> bool:
    """Keep lines of urllib3 about a webhook out of the logs: they show its path and query."""
    return record.threadName != _THREAD
