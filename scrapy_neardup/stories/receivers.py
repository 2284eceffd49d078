"""The receivers of events: a webhook, which gets a JSON POST for each event, services of Apprise, and an Atom file."""

import asyncio
import hashlib
import hmac
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from scrapy_neardup.records.stories import RECEIVER_BYTES
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.atom_feed import AtomFile
from scrapy_neardup.stories.event import Receiver, Refused
from scrapy_neardup.stories.messages import message_of

if TYPE_CHECKING:
    from aiohttp import ClientSession

# ``sha256=`` and the hexadecimal HMAC-SHA256 of the body under NEARDUP_EVENTS_WEBHOOK_SECRET.
SIGNATURE = "X-Neardup-Signature"

DEADLINE = 10.0  # seconds from the first byte sent to the last header of the answer
MOST_ANSWER_BYTES = 65_536
# Time limit to read the body of an answer. Some servers complain if a client hangs up before it has read its beginning.
_BODY_SECONDS = 1.0
_CONNECT_SECONDS = 3.0
_LOADING_SECONDS = 50.0  # that a busy machine may take to load Apprise, which takes 1.3 s of CPU

# The receiver may take the event later, or once the url or the password is mended.
_WORTH_RETRYING = (401, 403, 404, 407, 408, 425, 429)


class DeliveryFailed(OSError):
    """The receiver did not take the event; it may do so later."""


def receivers_of(settings: NearDupSettings, deadline: float = DEADLINE) -> list[Receiver]:
    receivers: list[Receiver] = [Service(each, deadline) for each in settings.events_notify]
    if settings.events_webhook:
        receivers.insert(0, Webhook(settings.events_webhook, settings.events_webhook_secret, deadline))
    if settings.events_atom:
        receivers.append(AtomFile(settings.events_atom))
    return receivers


class Webhook:
    """POSTs events with one HTTP client, which keeps its connection.

    Neither errors nor logs show more of the url than its host: the rest may be a secret.
    """

    name = "webhook"
    setting = "NEARDUP_EVENTS_WEBHOOK"

    def __init__(self, url: str, secret: str | None = None, deadline: float = DEADLINE) -> None:
        self.key = _key_of(f"{url}\0{secret or ''}")
        self._url = url
        self._secret = secret
        self._deadline = deadline
        self._client: ClientSession | None = None

    async def deliver(self, report: dict[str, Any]) -> None:
        # A lone surrogate, which UTF-8 cannot hold, is written as its escape.
        body = json.dumps(report, ensure_ascii=False).encode("utf-8", "backslashreplace")
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
        if 300 <= status < 400:
            # A redirected POST would arrive as a GET without its body.
            other = f" to {_host_of(location)}" if location else ""
            raise DeliveryFailed(
                f"{host} answers {status}, redirected{other}: set {self.setting} to the url it redirects to"
            )
        _judge(host, status, self.setting)

    async def prepare(self) -> None:
        """Load the HTTP client, in a thread: the import would hold up the event loop."""
        await asyncio.to_thread(import_module, "aiohttp")

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        await self.prepare()
        import aiohttp

        if self._client is None:
            limits = aiohttp.ClientTimeout(total=self._deadline, sock_connect=_CONNECT_SECONDS)
            self._client = aiohttp.ClientSession(timeout=limits, auto_decompress=False)
        # aiohttp could read the proxy of the environment itself, but then it would also take passwords from a .netrc,
        # whose default entry is for every host.
        parts = urlsplit(self._url)
        proxies = getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy_bypass(parts.hostname or ""):
            proxy = None
        post = self._client.post(self._url, data=body, headers=headers, allow_redirects=False, proxy=proxy)
        async with post as answer:
            with suppress(asyncio.TimeoutError, aiohttp.ClientError):
                await asyncio.wait_for(answer.content.read(MOST_ANSWER_BYTES), _BODY_SECONDS)
            return answer.status, answer.headers.get("Location", "")

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


class Service:
    """A chat, mailbox or other service that Apprise knows. A process of its own sends the messages.

    So a service that never answers can be stopped, and nothing of Apprise's own log, which shows secrets, is seen. The
    process loads Apprise once, and ends when no message has come for a while.
    """

    setting = "NEARDUP_EVENTS_NOTIFY"

    def __init__(self, url: str, deadline: float = DEADLINE) -> None:
        self.name = f"service {url.partition('://')[0]}"
        self.key = _key_of(url)
        self._url = url
        self._deadline = deadline
        self._starting = asyncio.Lock()
        self._process: Process | None = None

    async def prepare(self) -> None:
        """Start the process, and wait until it has loaded Apprise. This depends on the machine, not on the service."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                program = sys.executable, "-m", "scrapy_neardup.stories.send_message"
                environment = {**os.environ, "NETRC": os.devnull}  # its default entry would go to every service
                self._process = await asyncio.create_subprocess_exec(
                    *program, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
                )
                await self._ask(self._url, _LOADING_SECONDS)

    async def deliver(self, report: dict[str, Any]) -> None:
        await self.prepare()
        await self._ask(message_of(report), self._deadline)

    async def _ask(self, request: object, seconds: float) -> None:
        """Let the process do what is asked. If it does not answer, end it: it would answer the next request wrongly."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = b""
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            answer = await asyncio.wait_for(self._process.stdout.readline(), seconds)
        except asyncio.TimeoutError:
            raise DeliveryFailed(f"{self.name} did not answer within {seconds:g} s") from None
        finally:
            if not answer:
                await self.close()
        if answer != b"0\n":
            _judge(self.name, int(answer or 200), self.setting)
            raise DeliveryFailed(f"{self.name} did not take the message; check its url in {self.setting}")

    async def close(self) -> None:
        process = self._process
        self._process = None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.communicate(b""))  # closes its pipes, also if this task is cancelled


def _key_of(address: str) -> bytes:
    """Return the key of a receiver. Its address is hashed, because it has secrets."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).digest()[:RECEIVER_BYTES]


def _judge(receiver: str, status: int, setting: str) -> None:
    """Raise Refused or DeliveryFailed if the answer says that the event was not taken."""
    if 200 <= status < 300:
        return
    if 400 <= status < 500 and status not in _WORTH_RETRYING:
        raise Refused(f"{receiver} answers {status}")
    mend = f"; check {setting}" if status in _WORTH_RETRYING[:4] else ""
    raise DeliveryFailed(f"{receiver} answers {status}{mend}")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or "the receiver"
    except ValueError:
        return "the receiver"


def _reason_of(error: Exception) -> str:
    """Describe an error without the url: by the system's own words if there are any, else by its type."""
    if not isinstance(error, OSError):
        return type(error).__name__
    words = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    return words or type(error).__name__
