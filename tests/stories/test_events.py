"""Events: when a story becomes one, when it ends, and that coverage is counted once."""

import re

import pytest
from documents import DAY, end_event, members_in
from newsdesk import BOTH, BUDGET, HOUR, MINUTE, START, Newsroom, opened, text, toll
from projects import FERRY, Project
from redis import Redis
from scrapy_processes import neardup

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.stories.report import special_report
from scrapy_neardup.tools.ask import Ask


async def test_the_item_that_tips_a_story_carries_the_event(newsroom: Newsroom) -> None:
    verdicts = [await newsroom.publish("fire", f"s{n}", n * MINUTE) for n in range(10)]
    assert [verdict.event for verdict in verdicts] == [None] * 5 + ["breaking"] + [None] * 4
    (event,) = newsroom.events
    assert (event.level, event.time, event.story.id) == ("breaking", START + 5 * MINUTE, verdicts[0].story)
    assert len(event.members) == 6


async def test_an_event_ends_when_no_new_source_came_for_two_hours(newsroom: Newsroom) -> None:
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    await newsroom.pass_time(10 * MINUTE, HOUR)
    await newsroom.publish("fire", "s1", HOUR, url="https://www.s1.example/again")
    assert newsroom.levels == ["breaking"]
    await newsroom.pass_time(HOUR, 3 * HOUR)
    assert newsroom.levels == ["breaking", "ended"]
    assert newsroom.events[-1].time == START + 7 * MINUTE + 2 * HOUR
    assert newsroom.events[-1].item is None


@pytest.mark.parametrize(
    ("line", "levels"),
    [("Shares cost 12 euros, 15 euros and 18 euros, a rise of 21 %.", []),
     ("Дело по части 3 статьи 109 и части 2 статьи 364 закона.", ["breaking"]),
     ("The fire killed 12 people, it injured 15 and cost 18 million euros.", ["breaking"])],
)  # fmt: skip
async def test_prices_and_results_raise_no_event_as_soon_as_a_toll_does(
    newsroom: Newsroom, line: str, levels: list[str]
) -> None:
    for n in range(11):
        await newsroom.publish("news", f"s{n}", n * MINUTE, text=f"{text('news', 60)}\n{line}")
        assert newsroom.levels == levels or n < 5
    await newsroom.publish("news", "s11", 12 * MINUTE, text=f"{text('news', 60)}\n{line}")
    assert newsroom.levels[:1] == ["breaking"]  # an event that was raised at the sixth source has doubled, and tells it


@pytest.mark.parametrize(
    ("line", "title", "levels"),
    [(0, "Fire", ["breaking"]), (2, "Fire", []), (2, "9 people feared dead in a great fire", ["breaking"])],
)
async def test_three_sources_break_if_their_news_begins_with_people_harmed(
    line: int, title: str, levels: list[str]
) -> None:
    lines = text("fire", 300).split("\n")
    lines.insert(line, "Rescue workers said that 7 people were dead after the great fire in the old harbour.")
    async with opened(store="memory://", event_rule="sources", events_min_sources=5) as room:
        for n in range(3):
            await room.publish("fire", f"s{n}", n * MINUTE, title=title, text="\n".join(lines))
    assert room.levels == levels


async def test_a_clock_that_jumps_ends_nothing(newsroom: Newsroom) -> None:
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    for n in range(40):
        await newsroom.publish(f"ahead {n}", "ahead", 20 * HOUR if n % 8 == 0 else HOUR + n)
    assert newsroom.levels == ["breaking"]


@pytest.mark.parametrize("together", [1, 200])
async def test_events_do_not_depend_on_how_many_documents_come_at_once(newsroom: Newsroom, together: int) -> None:
    """Also where the last of them are late: an old event is no alarm."""
    for n in range(8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    later = [newsroom.article(f"other {at}", f"other{at}", at) for at in range(HOUR, 20 * HOUR, 8 * MINUTE)]
    later += [newsroom.article("flood", f"s{n}", 2 * HOUR + n * MINUTE) for n in range(8)]
    later += [newsroom.article(f"late {n}", f"late{n}", 30 * MINUTE) for n in range(40)]
    for start in range(0, len(later), together):
        await newsroom.detector.check_in_order(later[start : start + together])
        newsroom.events += newsroom.detector.take_events()
    assert sorted(newsroom.levels) == ["breaking", "ended", "watch"]


async def test_the_alarm_budget_raises_the_threshold(
    store_url: str, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"events_per_day": 2, "event_rule": "sources", "events_min_sources": 5}
    async with opened(store=store_url, namespace=namespace, **settings) as room:
        for number in range(23):  # more events than the budget allows
            await end_event(room.detector, f"{number}", -DAY, sources=8)
        await room.pass_time(0, HOUR)
        assert room.detector.stories.breaking_over == 8
        assert caplog.text.count("An event is breaking only with more than 8 new sources within an hour") == 1
        verdicts = [await room.publish("quake", f"s{n}", HOUR + n) for n in range(10)]
        assert [verdict.event for verdict in verdicts if verdict.event] == ["watch", "breaking"]
        assert verdicts[7].event == "breaking"
        await room.pass_time(HOUR + 11 * MINUTE, 3 * HOUR)
        assert caplog.text.count("An event is breaking only with") == 1, "it has not risen since"
    async with opened(store=store_url, namespace=namespace, **settings) as room:
        if store_url != "memory://":
            await room.pass_time(2 * HOUR, 3 * HOUR)
            assert room.detector.stories.breaking_over == 8


async def test_a_story_that_cannot_be_kept_costs_no_verdict(redis_url: str, namespace: str) -> None:
    """A user who may check but not join."""
    with Redis.from_url(redis_url) as admin:
        keys = [f"{{neardup:{namespace}*:{kind}" for kind in ("records:*", "texts:*", "bands:*", "runs")]
        admin.acl_setuser(namespace, enabled=True, passwords=["+secret"], keys=keys, categories=["+@all"])
        try:
            url = redis_url.replace("redis://", f"redis://{namespace}:secret@")
            async with opened(store=url, namespace=namespace) as room:
                verdicts = [await room.publish("fire", f"s{n}", n) for n in range(8)]
        finally:
            admin.acl_deluser(namespace)
    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 7
    assert room.events == []


async def test_a_muted_story_says_no_more_not_even_its_end(newsroom: Newsroom) -> None:
    for n in range(6):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    assert newsroom.levels == ["breaking"]
    story = newsroom.events[0].story.id
    muted = await newsroom.detector.index.stories.mute(story, muted=True)
    assert muted.is_muted
    for n in range(6, 30):
        verdict = await newsroom.publish("fire", f"s{n}", n * MINUTE, text=toll(12) if n % 2 else toll(4))
        assert verdict.event is None
    (running,) = (await Ask(newsroom.detector).events())["events"]
    assert running["is_muted"]
    await newsroom.detector.finish(all_over=True)
    assert newsroom.levels == ["breaking"]
    assert newsroom.detector.take_events() == []
    assert (await Ask(newsroom.detector).events())["events"] == []
    assert len(await newsroom.detector.index.events.ended(0)) == 1, "the alarm budget counts it"


async def test_a_story_is_unmuted(newsroom: Newsroom) -> None:
    await newsroom.publish("fire", "s0", 0)
    story = (await newsroom.publish("fire", "s1", MINUTE)).story
    assert story is not None
    await newsroom.detector.index.stories.mute(story, muted=True)
    for n in range(2, 8):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    assert newsroom.levels == []
    unmuted = await newsroom.detector.index.stories.mute(story, muted=False)
    assert not unmuted.is_muted
    await newsroom.publish("fire", "s8", 8 * MINUTE)
    assert newsroom.levels == ["breaking"]


def test_the_command_mutes_the_story_that_it_lists(project: Project) -> None:
    project.crawl(FERRY)
    listed = neardup(project.folder, "watch", "--events", columns=200).stdout
    (story,) = re.findall(r"of\s+story\s+([0-9a-f]{16})", listed)
    assert "muted" not in listed
    assert f"Story {story} is muted." in neardup(project.folder, "mute", story).stdout
    assert "muted" in neardup(project.folder, "watch", "--events", columns=200).stdout
    assert "no longer muted" in neardup(project.folder, "mute", story, "--undo").stdout
    for wrong, why in (("fire", "has no such story"), ("00" * 8, "the window has no such story")):
        failed = neardup(project.folder, "mute", wrong)
        assert failed.returncode == 2
        assert why in failed.stderr


# Pages that give their own time count when they are seen, unless the settings name their source


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
    # At the fourth, the fifth, the tenth and the twentieth source.
    assert room.levels == ["watch", "breaking", "update", "update"]
    assert room.events[1].time == START + 4
    assert special_report(room.events[1])["measures"]["new_sources_in_an_hour"] == 5


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


async def test_a_report_in_other_words_leaves_the_first_document_its_language(newsroom: Newsroom) -> None:
    await newsroom.publish("budget", "one", 0, text=BUDGET, language="en")
    verdict = await newsroom.publish("own report", "other", MINUTE, text=BOTH, language="en")
    assert verdict.status == "related"
    assert verdict.story is not None
    members = await members_in(newsroom.detector.index, verdict.story)
    assert [member.language for member in members] == ["en", "en"]


PAPERS_OF_A = 8


REPORTS_OF_TWO_EVENTS = {
    "ferry": [
        "A ferry with 80 passengers capsized off Skerrow in a storm on Tuesday night, the coast guard said.",
        "Fishermen from Lenvik pulled survivors out of the water before the lifeboat of Port Agnes arrived.",
        "The captain, Aron Feld, had asked the harbour office twice whether the crossing should be cancelled.",
        "Divers from the navy will look for the bridge recorder as soon as the wind has calmed down.",
        "The ship was built in Gdansk in 1987 and had been inspected in the spring.",
    ],
    "market": [
        "A fire destroyed the covered market of Belmora on Wednesday, and smoke hung over the old town for hours.",
        "Traders carried crates of fruit and cloth into Cathedral Square while the roof burned.",
        "Mayor Lucia Tarrant said that a cable above the fish stalls had been reported to the council in May.",
        "Insurance experts from Veldhaven put the damage at several million crowns.",
        "Until a new hall is built, the market will be held in the yard of the brewery.",
    ],
}


def lines_of(event: str, count: int) -> str:
    return "\n".join(text(event).split("\n")[:count])


@pytest.mark.parametrize("title", ["The day in brief", ""])
@pytest.mark.parametrize("host", ["briefing", "paper3"])
@pytest.mark.parametrize("page", [2, 5], ids=["two sentences of each", "both texts"])
async def test_a_page_with_two_events_does_not_silence_the_second(
    newsroom: Newsroom, title: str, host: str, page: int
) -> None:
    for number in range(PAPERS_OF_A):
        first = await newsroom.publish("A", f"paper{number}", number * MINUTE)
    both = f"{lines_of('A', page)}\n{lines_of('B', page)}"
    await newsroom.detector.check(
        newsroom.detector.document(both, url=f"https://{host}.example/today", title=title, seen_at=START + HOUR)
    )
    second = [await newsroom.publish("B", f"paper{number}", 2 * HOUR + number * MINUTE) for number in range(20)]
    assert first.story not in {verdict.story for verdict in second}
    assert [number for number, verdict in enumerate(second, 1) if verdict.event == "breaking"] == [6]


@pytest.mark.parametrize("papers", [3, 4])
async def test_a_page_with_two_events_makes_no_false_alarm(newsroom: Newsroom, papers: int) -> None:
    for number in range(papers):
        await newsroom.publish("A", f"paper{number}", number * MINUTE)
    await newsroom.publish("both", "briefing", 5 * MINUTE, text=f"{lines_of('A', 2)}\n{lines_of('B', 2)}")
    second = [await newsroom.publish("B", f"daily{number}", (6 + number) * MINUTE) for number in range(3)]
    assert not any(verdict.event for verdict in second)
    assert not newsroom.levels


@pytest.mark.parametrize("order", ["one after the other", "in turn", "together"])
@pytest.mark.parametrize(
    ("title", "size", "copies"),
    [("The day in brief", "two sentences of each", 1), ("", "both texts", 1), ("The day in brief", "both texts", 3)],
)
async def test_a_page_with_two_events_that_comes_first_joins_nothing_either(
    newsroom: Newsroom, title: str, size: str, order: str, copies: int
) -> None:
    events = REPORTS_OF_TWO_EVENTS
    parts = [report if size == "both texts" else report[:2] for report in events.values()]
    both = "\n".join(line for part in parts for line in part)
    documents = [
        newsroom.detector.document(both, url=f"https://briefing{number}.example/", title=title, seen_at=START + number)
        for number in range(copies)
    ]
    coming = [(event, number) for event in events for number in range(8)]
    if order != "one after the other":
        coming.sort(key=lambda each: each[1])
    for place, (event, number) in enumerate(coming, 1):
        body = "\n".join(events[event])
        documents.append(newsroom.article(event, f"{event}{number}", place * MINUTE, text=body))

    if order == "together":
        verdicts = await newsroom.detector.check_in_order(documents)
    else:
        verdicts = [await newsroom.detector.check(each) for each in documents]

    stories = {
        event: {v.story for v, c in zip(verdicts[copies:], coming, strict=True) if event in c} for event in events
    }
    assert [len(each) for each in stories.values()] == [1, 1]
    assert stories["ferry"].isdisjoint(stories["market"])
    assert [event.level for event in newsroom.detector.take_events()] == ["breaking", "breaking"]


HOSTS = {
    "spellings of an address": ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"],
    "a network": [f"203.0.113.{last}" for last in range(1, 7)],
    "a network of IPv6": [f"[2001:db8::{last}:1]" for last in range(1, 7)],
    "names without a dot": ["wire", "courier", "herald", "daily", "post", "times"],
    "ports": [f"paper.example:{port}" for port in range(8000, 8006)],
}


@pytest.mark.parametrize("hosts", HOSTS.values(), ids=HOSTS)
async def test_one_machine_or_network_raises_no_event(newsroom: Newsroom, hosts: list[str]) -> None:
    for number, host in enumerate(hosts):
        await newsroom.publish("fire", host, number * MINUTE, url=f"http://{host}/fire/{number}")
    assert newsroom.levels == []
    for number in range(6):
        await newsroom.publish("flood", number, number * MINUTE, url=f"http://198.51.{number}.1/flood")
    assert newsroom.levels == ["breaking"]


EDITIONS = ("https://www.paper.com/1", "https://www.paper.com.au/2", "https://www.paper.my/3", "https://paper.co.uk/4")
NUMBERED = ("https://www.north.de/fire-33480510", "https://www.south.de/fire-33480510", "https://west.de/fire-33480510")
DATED = tuple(f"https://{each}.uk/news/20191118/201911/2019/11/18/fire?33480510" for each in ("north", "south"))


@pytest.mark.parametrize(
    ("urls", "owners", "count"),
    [(EDITIONS, {}, 1), (EDITIONS, {"paper.my": "Another Ltd"}, 2), (NUMBERED, {}, 1), (DATED, {}, 2)],
)
async def test_editions_of_one_site_that_print_each_other_s_texts_count_once(
    urls: tuple[str, ...], owners: dict[str, str], count: int
) -> None:
    """Unless the user says who runs them. A paper of another name counts, and so does a text of its own."""
    async with opened(store="memory://", source_owners=owners, event_rule="sources", events_min_sources=2) as room:
        for n, url in enumerate(urls):
            await room.publish("fire", "any", n * MINUTE, url=url)
        await room.publish("fire", "other", 5 * MINUTE)
        await room.detector.finish(all_over=True)
        events = room.events + room.detector.take_events()
    assert len(events[-1].story.sources) == count + 1


AT_HOME = ("", "Business Courier Australia")
AGENCY = ("https://www.wire.example/", "The Portal")
PUBLISHERS = {
    "editions": (["business-courier.com", "businesscourier.com.au", "businesscourier.de"], AT_HOME, 1),
    "another name": (["business-courier.com", "businesscourier.com.au", "businesscourier.de"], ("", "Courier"), 3),
    "a name that is elsewhere at home": (["one.example", "two.example", "three.example"], AT_HOME, 3),
    "texts of an agency in portals": (["wire.example", "two.example", "three.example"], AGENCY, 1),
    "a name that the feeds give": (["one.example", "two.example", "three.example"], ("North Wire", ""), 2),
}


@pytest.mark.parametrize("name", PUBLISHERS)
async def test_sources_that_name_one_publisher_count_once(name: str) -> None:
    """Of the first document of a story only the address is known when others join."""
    hosts, publishers, count = PUBLISHERS[name]
    async with opened(store="memory://", event_rule="count") as room:
        for n, host in enumerate([*hosts, "other.example"] * 6):
            at_home = publishers if host != "other.example" else ("", "")
            await room.publish(
                "fire", host, n * MINUTE, url=f"https://{host}/{n}", publisher=at_home[0], site_name=at_home[1]
            )
    assert len(room.events[0].story.sources) == count + 1


async def test_a_host_that_claims_many_publishers_takes_the_place_of_one_source(newsroom: Newsroom) -> None:
    for n in range(9):
        await newsroom.publish("fire", "liar", n, publisher=f"s{n}.example")
    for n in range(6):
        await newsroom.publish("fire", f"s{n}", n * MINUTE)
    assert newsroom.levels == ["breaking"]
    assert len(newsroom.events[0].story.sources) == 6
