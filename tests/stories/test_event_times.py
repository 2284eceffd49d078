"""A page that gives its own time counts for events when it is seen, unless the settings name its source."""

from __future__ import annotations

from newsdesk import HOUR, MINUTE, START, Newsroom
from projects import Project

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.report import special_report


async def crawl(pages: list[tuple[str, float]], **settings: object) -> Newsroom:
    """Publish pages of these sources, dated so many seconds before they are seen: one a second."""
    seconds = iter(range(START, START + 10**6))
    detector = NearDupDetector(
        NearDupSettings(store="memory://", **settings),  # type: ignore[arg-type]
        run="test",
        clock=lambda: next(seconds),
    )
    await detector.open()
    room = Newsroom(detector)
    for number, (source, late) in enumerate(pages):
        await room.publish("fire", source, number - late, counts_now=True)
    await detector.close()
    return room


async def test_backdated_pages_do_not_hold_an_event_back() -> None:
    liars = [(f"liar{n}", n * HOUR) for n in range(2, 16)]
    papers = [(f"paper{n}", MINUTE) for n in range(8)]

    room = await crawl([*papers[:1], *liars, *papers[1:]])

    assert room.levels == ["watch", "breaking", "update"]  # at the fourth, the sixth and the twelfth source
    assert room.events[1].time == START + 5
    assert special_report(room.events[1])["measures"]["new_sources_in_an_hour"] == 6


async def test_a_source_that_the_settings_name_counts_at_the_time_that_its_page_gives() -> None:
    papers = [(f"paper{n}", 20 * MINUTE * n) for n in range(8)]
    owners = {f"paper{n}.example": f"paper{n}.example" for n in range(8)}

    assert (await crawl(papers)).levels == ["watch", "breaking"]
    assert (await crawl(papers, source_owners=owners)).levels == ["watch", "update"]


BACKDATED = """
import datetime

class News(scrapy.Spider):
    name = "news"
    start_urls = ["data:,"]

    def parse(self, response):
        now = datetime.datetime.now(datetime.timezone.utc)
        words = "the ferry ran aground in fog near the lighthouse " * 4
        for number, hours in enumerate([0, *range(2, 16), *[0] * 7]):
            published = now - datetime.timedelta(hours=hours)
            yield {"url": f"https://s{number}.example/ferry", "text": words, "published": published.isoformat()}
"""


def test_a_crawl_counts_backdated_pages_when_it_sees_them(project: Project) -> None:
    crawl = project.crawl(BACKDATED, NEARDUP_STORE="memory://", NEARDUP_ITEM_FIELDS={"time": "published"})

    assert crawl.stats["neardup/events/breaking"] == 1
