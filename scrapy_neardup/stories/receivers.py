"""The receiver of events: a webhook, which gets a JSON POST for each event."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from scrapy_neardup.stories.messages import message
from scrapy_neardup.stories.outbox import Refused

if TYPE_CHECKING:
    from aiohttp import ClientSession

SIGNATURE = "X-Neardup-Signature"
"""``sha256=`` and the hexadecimal HMAC-SHA256 of the body under NEARDUP_EVENTS_WEBHOOK_SECRET."""

DEADLINE = 10.0  # seconds from the first byte sent to the last header of the answer
MOST_ANSWER_BYTES = 65_536
# Time limit to read the body of an answer. Some servers complain if a client hangs up before it has read its beginning.
_BODY_SECONDS = 1.0
_CONNECT_SECONDS = 3.0

# The receiver may take the event later, or once the url or the password is mended.
_WORTH_RETRYING = (401, 403, 404, 407, 408, 425, 429)


class DeliveryFailed(OSError):
    """The receiver did not take the event; it may do so later."""


class Webhook:
    """POSTs events with one HTTP client, which keeps its connection.

    Neither errors nor logs show more of the url than its host: the rest may be a secret.
    """

    def __init__(self, url: str, secret: str | None = None, deadline: float = DEADLINE, *, form: str = "plain") -> None:
        self._url = url
        self._form = form
        self._secret = secret
        self._deadline = deadline
        self._client: ClientSession | None = None

    async def deliver(self, report: dict[str, Any]) -> None:
        """Raise Refused if the receiver will never take the event, and DeliveryFailed if it may later."""
        try:
            told = message(report, self._form)
            # A lone surrogate, which UTF-8 cannot hold, is written as its escape.
            body = None if told is None else json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace")
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
        host = _host_of(self._url)
        try:
            status, location = await self._post(body, headers)
        except asyncio.TimeoutError:
            raise DeliveryFailed(f"{host} did not answer within {self._deadline:g} s") from None
        except Exception as error:  # of aiohttp, the system, or of a url that is none
            raise DeliveryFailed(f"{host} cannot be reached: {_reason_of(error)}") from None
        _judge(host, status, location)

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        """Return the status and the Location of the answer."""
        aiohttp = await asyncio.to_thread(import_module, "aiohttp")  # the import would hold up the event loop
        if self._client is None:
            limits = aiohttp.ClientTimeout(total=self._deadline, sock_connect=_CONNECT_SECONDS)
            self._client = aiohttp.ClientSession(timeout=limits, auto_decompress=False)
        proxy = _proxy_of(self._url)
        post = self._client.post(self._url, data=body, headers=headers, allow_redirects=False, proxy=proxy)
        async with post as answer:
            with suppress(asyncio.TimeoutError, aiohttp.ClientError):
                await asyncio.wait_for(answer.content.read(MOST_ANSWER_BYTES), _BODY_SECONDS)
            return answer.status, answer.headers.get("Location", "")

    async def close(self) -> None:
        """Close the connection that is kept between two events."""
        if self._client is not None:
            await self._client.close()


def _judge(host: str, status: int, location: str) -> None:
    """Raise Refused or DeliveryFailed if the answer says that the event was not taken."""
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


def _proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a url.

    aiohttp could read it itself, but then it would also take passwords from a .netrc, whose default entry is for every
    host.
    """
    parts, proxies = urlsplit(url), getproxies()
    return None if proxy_bypass(parts.hostname or "") else proxies.get(parts.scheme) or proxies.get("all")


def _host_of(url: str) -> str:
    """Return the part of a url that is no secret."""
    try:
        return urlsplit(url).hostname or "the receiver"
    except ValueError:
        return "the receiver"


def _reason_of(error: Exception) -> str:
    """Describe an error without the url: by the system's own words if there are any, else by its type."""
    number, words = (error.errno, error.strerror) if isinstance(error, OSError) else (None, None)
    return os.strerror(number) if number and number > 0 else words or type(error).__name__
