"""A receiver of events for feed readers: an Atom file (RFC 4287), which is written anew with each event."""

import asyncio
import hashlib
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from scrapy_neardup.records.stories import RECEIVER_BYTES
from scrapy_neardup.stories.messages import message_of
from scrapy_neardup.text.display import one_line

MOST_ENTRIES = 100  # the oldest leave the file

_ATOM = "http://www.w3.org/2005/Atom"
_LONGEST_TEXT = 400  # characters of a headline or sentence
_LOCK_SECONDS = 10.0  # to wait for other crawls that write the file
_TEST_ID = uuid5(NAMESPACE_URL, "test").urn


class AtomFile:
    """Keeps the newest events in a file. A reader of the file never sees a part of it.

    Crawls may share it. Whoever may read the old file may read the new one.
    """

    name = "Atom feed"
    setting = "NEARDUP_EVENTS_ATOM"

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser().resolve()
        self.key = hashlib.sha256(os.fsencode(self._path)).digest()[:RECEIVER_BYTES]

    async def prepare(self) -> None: ...

    async def close(self) -> None: ...

    async def deliver(self, report: dict[str, Any]) -> None:
        await asyncio.to_thread(self._add, _entry_of(report))

    def _add(self, entry: Element) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(self._path.with_name(f".{self._path.name}.lock"), timeout=_LOCK_SECONDS)
        with closing(lock):
            lock.execute("BEGIN EXCLUSIVE")  # until it is closed, or this process dies
            replaced = entry.findtext("id"), _TEST_ID  # a test stays until the next event
            known = [each for each in self._entries() if each.findtext("id") not in replaced]
            entries = sorted([entry, *known], key=lambda each: each.findtext("updated") or "", reverse=True)
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

    def _entries(self) -> list[Element]:
        """Return the entries of the file. Raise OSError if it is no Atom feed, because it is somebody else's file."""
        if not self._path.exists():
            return []
        feed = Element("")
        with suppress(ElementTree.ParseError):
            feed = ElementTree.parse(self._path).getroot()
        if feed.tag != f"{{{_ATOM}}}feed":
            raise OSError(f"{self._path} is no Atom feed: name another file in NEARDUP_EVENTS_ATOM, or remove this one")
        for each in feed.iter():
            each.tag = each.tag.removeprefix(f"{{{_ATOM}}}")
        return feed.findall("entry")


def _entry_of(report: dict[str, Any]) -> Element:
    """Return the entry of an event. It has the same id if the event comes again, and all tests have one id."""
    message = message_of(report)
    headline, _, rest = message.body.partition("\n")
    texts = {
        "id": _TEST_ID if report.get("test") else uuid5(NAMESPACE_URL, report["id"]).urn,
        "updated": report["time"],
        "title": f"{message.title} – {one_line(report['headline'], _LONGEST_TEXT) or headline}",
        "summary": one_line(report.get("lead") or "", _LONGEST_TEXT),
    }
    entry = Element("entry")
    for name, text in texts.items():
        SubElement(entry, name).text = text
    if url := report.get("url"):
        SubElement(entry, "link", href=quote(url, safe="!#$%&'()*+,/:;=?@[]~", errors="replace"))
    SubElement(entry, "category", term=str(report["level"]))
    SubElement(entry, "content", type="html").text = escape(rest).replace("\n", "<br>")
    return entry
