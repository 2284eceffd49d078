"""The Atom file of events, read by a feed reader's parser."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import feedparser
import pytest
from receivers import report

from scrapy_neardup.stories.atom_feed import MOST_ENTRIES, AtomFile

HOSTILE = 'Fire <script>alert("x")</script> & \x1b[2J\ud800\ufffe ]]> says'


def told(number: int, **others: Any) -> dict[str, Any]:
    return {**report(number), "lead": f"Fire number {number}.", "url": "https://a.example/ü?x=1&y=<2>", **others}


async def deliver(path: Path, *reports: dict[str, Any]) -> feedparser.FeedParserDict:
    await asyncio.gather(*(AtomFile(str(path)).deliver(each) for each in reports))  # as many crawls do
    feed = feedparser.parse(str(path))
    assert (feed.bozo, feed.version) == (False, "atom10")
    return feed


async def test_a_reader_sees_the_newest_events_first_each_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.xml"
    first = await deliver(path, *(told(number) for number in (2, 3, 1)))
    path.chmod(0o640)
    tested = await deliver(path, told(5, test=True))
    again = await deliver(path, told(3), told(4, headline=HOSTILE, lead=HOSTILE))

    assert [entry.summary for entry in first.entries] == [f"Fire number {number}." for number in (3, 2, 1)]
    assert first.feed.updated == first.entries[0].updated == "2023-11-14T22:03:00Z"
    assert [entry.id for entry in again.entries[1:]] == [entry.id for entry in tested.entries[1:]]
    assert [entry.id for entry in again.entries[1:]] == [entry.id for entry in first.entries], "the test has left"
    assert again.feed.id == first.feed.id
    assert [feed.entries[0].title for feed in (tested, again)] == [
        "Test: no event, only a message – Feuer über der Stadt",
        'Breaking: 0 sources within an hour – Fire <script>alert("x")</script> & \ufffd[2J\ufffd\ufffd ]]> says',
    ]
    assert tested.entries[0].link == "https://a.example/%C3%BC?x=1&y=%3C2%3E"
    assert "<script" not in again.entries[0].content[0].value
    assert path.stat().st_mode & 0o777 == 0o640


async def test_the_file_is_bounded_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.xml"
    await deliver(path, told(0))
    with path.open("rb") as reader:
        beginning = reader.read(99)
        feed = await deliver(
            path, *(told(1, id=f"other-{n}", time=f"2024-01-01T00:00:{n % 60:02}Z") for n in range(99))
        )
        assert len(feed.entries) == MOST_ENTRIES
        feed = await deliver(path, told(7, time="2024-01-02T00:00:00Z"))
        assert len(feed.entries) == MOST_ENTRIES
        assert feed.entries[-1].updated.startswith("2024")
        assert len(feedparser.parse(beginning + reader.read()).entries) == 1
    assert set(os.listdir(tmp_path)) == {"events.xml", ".events.xml.lock"}


async def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    path.write_text("<p>My page", encoding="utf-8")
    with pytest.raises(OSError, match=r"is no Atom feed.*NEARDUP_EVENTS_ATOM"):
        await AtomFile(str(path)).deliver(told(1))
    assert path.read_text(encoding="utf-8") == "<p>My page"
