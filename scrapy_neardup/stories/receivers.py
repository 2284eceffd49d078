"""The receivers of events: a webhook, which gets a JSON POST for each event, services of Apprise, and an Atom file.

The file is for feed readers (RFC 4287), and is written anew with each event.
"""

import asyncio
import hashlib
import hmac
import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from scrapy_neardup.content.processes import ExtractionProcesses
from scrapy_neardup.content.worker import NO_ANSWER, WorkerOptions
from scrapy_neardup.evidence.sources import host_of
from scrapy_neardup.exceptions import ExtractionError
from scrapy_neardup.records.stories import RECEIVER_BYTES
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.event import Receiver, Refused
from scrapy_neardup.stories.summary import message_of
from scrapy_neardup.text.display import one_line

if TYPE_CHECKING:
    from aiohttp import ClientSession

# ``sha256=`` and the hexadecimal HMAC-SHA256 of the body under NEARDUP_EVENTS_WEBHOOK_SECRET.
SIGNATURE = "X-Neardup-Signature"

DEADLINE = 10.0  # seconds from the first byte sent to the last header of the answer

# The receiver may take the event later, or once the url or the password is mended.
_WORTH_RETRYING = (401, 403, 404, 407, 408, 425, 429)

MOST_ENTRIES = 100  # the oldest leave the file

_ATOM = "http://www.w3.org/2005/Atom"
_LONGEST_TEXT = 400  # characters of a headline or sentence
_TEST_ID = uuid5(NAMESPACE_URL, "test").urn


class DeliveryFailed(OSError):
    """The receiver did not take the event; it may do so later."""


def receivers_of(settings: NearDupSettings) -> list[Receiver]:
    receivers: list[Receiver] = [Service(each) for each in settings.events_notify]
    if settings.events_webhook:
        receivers.insert(0, Webhook(settings.events_webhook, settings.events_webhook_secret))
    if settings.events_atom:
        receivers.append(AtomFile(settings.events_atom))
    return receivers


class Webhook(Receiver):
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
            # Without the url: by the system's own words if there are any, else by its type.
            reason = type(error).__name__
            if isinstance(error, OSError):
                reason = (os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror) or reason
            raise DeliveryFailed(f"{host} cannot be reached: {reason}") from None
        if 300 <= status < 400:
            # A redirected POST would arrive as a GET without its body.
            other = f" to {_host_of(location)}" if location else ""
            raise DeliveryFailed(
                f"{host} answers {status}, redirected{other}: set {self.setting} to the url it redirects to"
            )
        _raise_unless_taken(host, status, self.setting)

    async def prepare(self) -> None:
        """Load the HTTP client, in a thread: the import would hold up the event loop."""
        await asyncio.to_thread(import_module, "aiohttp")

    async def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        await self.prepare()
        import aiohttp

        if self._client is None:
            self._client = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._deadline, sock_connect=3.0), auto_decompress=False
            )
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
                # Some servers complain if a client hangs up before it has read the beginning of the body.
                await asyncio.wait_for(answer.content.read(65_536), 1.0)
            return answer.status, answer.headers.get("Location", "")

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


class Service(Receiver):
    """A chat, mailbox or other service that Apprise knows. A worker process of its own sends the messages.

    So a service that never answers can be stopped, and nothing of Apprise's own log, which shows secrets, is seen. The
    process starts with the first message, and loads Apprise once.
    """

    setting = "NEARDUP_EVENTS_NOTIFY"

    def __init__(self, url: str, deadline: float = DEADLINE) -> None:
        self.name = f"service {url.partition('://')[0]}"
        self.key = _key_of(url)
        self._url = url
        sketching = "scrapy_neardup.stories.send_message.load_sender", ""  # it sends messages instead of sketches
        options = WorkerOptions(None, deadline, sketching, memory=None, too_slow=NO_ANSWER)
        self._worker = ExtractionProcesses(options, recycle_after=1 << 31)

    async def prepare(self) -> None:
        """Wait until the process has loaded Apprise. This depends on the machine, not on the service."""
        await self._ask(None)

    async def deliver(self, report: dict[str, Any]) -> None:
        await self._ask((self._url, *message_of(report)))

    async def _ask(self, request: object) -> None:
        try:
            answer = await asyncio.wrap_future(self._worker.submit_text(json.dumps(request)))
        except ExtractionError as error:
            raise DeliveryFailed(f"{self.name}: {error}") from None
        if answer.sketch != b"0":
            _raise_unless_taken(self.name, int(answer.sketch), self.setting)
            raise DeliveryFailed(f"{self.name} did not take the message; check its url in {self.setting}")

    async def close(self) -> None:
        await asyncio.to_thread(self._worker.close)


class AtomFile(Receiver):
    """Keeps the newest events in a file. A reader of the file never sees a part of it.

    Crawls may share it. Whoever may read the old file may read the new one.
    """

    name = "Atom feed"
    setting = "NEARDUP_EVENTS_ATOM"

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser().resolve()
        self.key = hashlib.sha256(os.fsencode(self._path)).digest()[:RECEIVER_BYTES]

    async def deliver(self, report: dict[str, Any]) -> None:
        message = message_of(report)
        headline, _, rest = message.body.partition("\n")
        texts = {
            # The same id if the event comes again. All tests have one id.
            "id": _TEST_ID if report.get("test") else uuid5(NAMESPACE_URL, report["id"]).urn,
            "updated": report["time"],
            "title": f"{message.title} – {one_line(report['headline'], _LONGEST_TEXT) or headline}",
            "summary": one_line(report.get("lead") or "", _LONGEST_TEXT),
        }
        entry = Element("entry")
        for name, text in texts.items():
            SubElement(entry, name).text = text
        if host_of(url := report.get("url") or ""):  # no script
            SubElement(entry, "link", href=quote(url, safe="!#$%&'()*+,/:;=?@[]~", errors="replace"))
        SubElement(entry, "category", term=str(report["level"]))
        SubElement(entry, "content", type="html").text = escape(rest).replace("\n", "<br>")
        await asyncio.to_thread(self._add, entry)

    def _add(self, entry: Element) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(self._path.with_name(f".{self._path.name}.lock"), timeout=10.0)
        with closing(lock):
            lock.execute("BEGIN EXCLUSIVE")  # until it is closed, or this process dies
            replaced = entry.findtext("id"), _TEST_ID  # a test stays until the next event
            entries = [entry]
            if self._path.exists():
                feed = Element("")
                with suppress(ElementTree.ParseError):
                    feed = ElementTree.parse(self._path).getroot()
                if feed.tag != f"{{{_ATOM}}}feed":
                    raise OSError(
                        f"{self._path} is no Atom feed: name another file in NEARDUP_EVENTS_ATOM, or remove this one"
                    )
                for each in feed.iter():
                    each.tag = each.tag.removeprefix(f"{{{_ATOM}}}")
                entries += (each for each in feed.findall("entry") if each.findtext("id") not in replaced)
            entries.sort(key=lambda each: each.findtext("updated") or "", reverse=True)
            feed = Element("feed", xmlns=_ATOM)
            SubElement(feed, "title").text = "Breaking events"
            SubElement(feed, "id").text = uuid5(NAMESPACE_URL, self._path.as_uri()).urn
            SubElement(feed, "updated").text = entries[0].findtext("updated")
            SubElement(SubElement(feed, "author"), "name").text = "scrapy-neardup"
            feed.extend(entries[:MOST_ENTRIES])
            new = self._path.with_name(f".{self._path.name}.new")
            with new.open("wb") as file:
                file.write(ElementTree.tostring(feed, "utf-8", xml_declaration=True))
                file.flush()
                os.fsync(file.fileno())
            if self._path.exists():
                shutil.copymode(self._path, new)
            new.replace(self._path)


def _key_of(address: str) -> bytes:
    """Return the key of a receiver. Its address is hashed, because it has secrets."""
    return hashlib.sha256(address.encode("utf-8", "surrogatepass")).digest()[:RECEIVER_BYTES]


def _raise_unless_taken(receiver: str, status: int, setting: str) -> None:
    """Raise Refused or DeliveryFailed unless this status of HTTP says that the event was taken."""
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
