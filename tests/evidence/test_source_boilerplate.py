"""What a source prints again and again leaves the fingerprint: walls, introductions, shells. Over every store."""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from newsdesk import made_up
from texts import START, opened

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.evidence.figures.figure import Figure
from scrapy_neardup.evidence.source_boilerplate import SourceBoilerplate
from scrapy_neardup.records.learned import LearnedEntries
from scrapy_neardup.sketch.origin import source_hash

SITE = "https://www.harbour-courier.example"


def prose(seed: object, sentences: int) -> str:
    words = made_up(seed, 15 * sentences)
    return " ".join(" ".join(words[at : at + 15]).capitalize() + "." for at in range(0, len(words), 15))


WALL = prose("wall", 12)


class Page:
    """An article of two sentences over a wall of twelve, unless something else is said."""

    def __init__(self, number: int, *, title: str | None = None, sentences: int = 2, wall: str = WALL) -> None:
        self.title = " ".join(made_up(("title", number), 5)) if title is None else title
        self.text = f"{prose(('article', number), sentences)}\n{wall}" if sentences else wall
        self.url = f"{SITE}/news/{number}"


async def judge(detector: NearDupDetector, page: Page, *, at: float = 0) -> Verdict:
    return await detector.check(detector.document(page.text, url=page.url, title=page.title, seen_at=START + at))


async def crawl(store: str, namespace: str, pages: Sequence[Page], *, at: float = 0) -> list[Verdict]:
    async with opened("news", store, namespace) as detector:
        return [await judge(detector, page, at=at) for page in pages]


def dropped(verdicts: Sequence[Verdict]) -> list[int]:
    return [number for number, verdict in enumerate(verdicts) if verdict.would_drop]


HEADLINES = {
    "unlike headlines": [None] * 60,
    "headlines that share words": [f"Council decides on {' '.join(made_up(n, 2))} plans" for n in range(60)],
    "headlines that end in the name of the site": [f"{' '.join(made_up(n, 4))} - The Harbour News" for n in range(60)],
}


@pytest.mark.parametrize(("headlines", "sentences"), [*zip(HEADLINES.values(), (2, 8, 2), strict=True)], ids=HEADLINES)
async def test_a_long_wall_costs_a_new_site_two_articles_at_most_and_none_in_the_second_run(
    headlines: list[str | None], sentences: int, sqlite_url: str, namespace: str
) -> None:
    pages = [Page(number, title=title, sentences=sentences) for number, title in enumerate(headlines)]
    first = await crawl(sqlite_url, namespace, pages)
    second = await crawl(sqlite_url, namespace, pages, at=3600)
    new = await crawl(sqlite_url, namespace, [Page(1000 + number, sentences=2) for number in range(20)], at=7200)
    assert len(dropped(first)) <= 2
    assert all(second[number].status == "original" for number in dropped(first))
    assert Counter(verdict.kind for verdict in second) == {"revisit": 60 - len(dropped(first))} | (
        {None: len(dropped(first))} if dropped(first) else {}
    )
    assert {verdict.status for verdict in new} == {"original"}


async def test_what_was_learned_outlives_the_run(shared_url: str, namespace: str) -> None:
    for number in range(3):
        await crawl(shared_url, namespace, [Page(number)], at=900 * number)  # a process each
    verdicts = await crawl(shared_url, namespace, [Page(number) for number in (10, 11)], at=3600)
    assert [verdict.status for verdict in verdicts] == ["original", "original"]


async def test_a_page_of_nothing_but_boilerplate_is_like_no_other(store_url: str, namespace: str) -> None:
    async with opened("news", store_url, namespace) as detector:
        for number in range(4):
            await judge(detector, Page(number))
        walls = [await judge(detector, Page(number, sentences=0)) for number in (10, 11)]
        again = await judge(detector, Page(11, sentences=0), at=60)
    assert [(wall.status, wall.reason) for wall in walls] == [("unchecked", "boilerplate")] * 2
    assert (again.status, again.kind, again.original_url) == ("duplicate", "revisit", Page(11).url)


async def test_a_running_story_under_new_headlines_is_no_boilerplate(detector: NearDupDetector) -> None:
    """Its headlines have no term in common; what is printed again says what they say."""
    headlines = ["Ferry aground near lighthouse", "Lifeboats rescue passengers", "Captain blames steering failure"]
    story = prose("story", 6) + f" {'. '.join(headlines)}."
    verdicts = []
    for number, headline in enumerate(headlines * 2):
        page = Page(number, title=headline)
        page.text = f"{story}\n{prose(number, 1)}"
        verdicts.append(await judge(detector, page))
    assert {verdict.reason for verdict in verdicts} == {None}
    assert "duplicate" in {verdict.status for verdict in verdicts}


def on_site(site: str, *pages: Page) -> list[Page]:
    for page in pages:
        page.url = f"https://www.{site}.example/news/{page.url.rpartition('/')[2]}"
    return list(pages)


async def test_a_story_of_one_day_is_no_wall_whoever_prints_its_sentences(sqlite_url: str, namespace: str) -> None:
    """Three sites print its sentences under unlike titles, ten pages each. Papers with titles of their own follow."""
    story = [page for number in range(20) for page in on_site(f"paper{number}", Page(200 + number))]
    attack = [
        page for site in range(3) for page in on_site(f"liar{site}", *map(Page, range(10 * site, 10 * site + 10)))
    ]
    verdicts = await crawl(sqlite_url, namespace, [story[0], *attack, *story[1:]])
    assert [verdict.status for verdict in verdicts[len(attack) + 1 :]] == ["duplicate"] * 19


async def test_a_text_is_not_dropped_because_strangers_print_its_own_sentences(detector: NearDupDetector) -> None:
    """Its own seven sentences are in three other stories each. The wire has the other nine."""
    own, wire = [prose(("own", each), 1) for each in range(7)], prose("wire", 9)
    for number, line in enumerate(own):
        for liar in range(3):
            page = Page(number, wall=line)
            await detector.check(
                detector.document(page.text, url=f"https://liar{liar}.example/{number}", title=page.title)
            )
    await detector.check(detector.document(wire, url="https://wire.example/1"))
    verdict = await detector.check(detector.document("\n".join([*own, wire]), url="https://paper.example/1"))
    assert (verdict.status, verdict.original_url) == ("duplicate", "https://wire.example/1")
    assert verdict.share == pytest.approx(9 / 16, abs=0.1)
    assert not verdict.would_drop


@pytest.mark.every_store
async def test_purging_a_source_purges_what_was_learned_of_it(shared_url: str, namespace: str) -> None:
    await crawl(shared_url, namespace, [Page(number) for number in range(4)])
    async with opened("news", shared_url, namespace) as detector:
        before = await judge(detector, Page(9, sentences=0))
        await detector.purge(source=SITE)
    async with opened("news", shared_url, namespace) as detector:
        after = await judge(detector, Page(10, sentences=0))
    assert before.reason == "boilerplate"
    assert after.status == "original"


async def test_of_a_source_the_newest_entries_are_kept(store_url: str, namespace: str) -> None:
    async with opened("news", store_url, namespace) as detector:
        source, asked = b"\1\2\3\4", b"\5\6\7\x08"
        for start in range(0, 600, 100):
            entries = tuple(number.to_bytes(4, "big") for number in range(start, start + 100))
            told = await detector.index.learned.exchange_boilerplate(
                {source: LearnedEntries(entries, entries[:10]), asked: LearnedEntries()}
            )
    lines, printed = ([int.from_bytes(entry, "big") for entry in each] for each in told[source])
    assert lines == list(range(600 - 256, 600))
    assert printed == [*range(206, 210), *range(300, 310), *range(400, 410), *range(500, 510)][-24:]
    assert told[asked] == LearnedEntries()


async def test_bytes_that_are_not_ours_cost_one_warning(
    sqlite_url: str, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened("news", sqlite_url, namespace) as detector:
        first = await judge(detector, Page(0))
        source = next(iter(detector.sketcher.boilerplate._sources))  # type: ignore[union-attr]
        foreign = LearnedEntries((b"\x80\x04.", b""), (b"\xff" * 50, b"cos\nsystem"))
        await detector.index.learned.exchange_boilerplate({source: foreign})
    caplog.clear()
    verdicts = await crawl(sqlite_url, namespace, [Page(number) for number in range(1, 6)])
    assert first.status == "original"
    assert not any(verdict.reason for verdict in verdicts)
    assert sum("boilerplate in the store cannot be read" in record.message for record in caplog.records) == 1


async def test_documents_keep_their_order_while_the_store_is_asked_about_new_sources(
    sqlite_url: str, namespace: str
) -> None:
    """The first page of each site waits for the store; those behind it do not overtake it."""
    async with opened("news", sqlite_url, namespace) as detector:
        pages = [Page(number // 2, sentences=8, wall="") for number in range(40)]
        for number, page in enumerate(pages):
            page.url = f"https://www.paper{number}.example/a"
        await judge(detector, pages[1])  # its site is known; it is the original of the first pair all the same
        verdicts = await asyncio.gather(*(judge(detector, page, at=1) for page in pages[2:]))
    assert [verdict.status for verdict in verdicts] == ["original", "duplicate"] * 19


async def test_knowledge_is_shared_while_a_thread_learns(namespace: str) -> None:
    """Long texts are sketched in a thread. Meanwhile the loop takes what is new for the store, and adds what it has."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        async with opened("news", "memory://", namespace) as detector:
            guard = detector.sketcher.boilerplate
            assert guard is not None
            pages = [page for site in range(120) for page in on_site(f"site{site}", Page(site, sentences=60, wall=""))]
            made = [detector.document(page.text, url=page.url, title=page.title) for page in pages]
            learning = asyncio.gather(*(asyncio.to_thread(detector.sketcher.fingerprint, each) for each in made))
            while not learning.done():
                await detector.knowledge.exchange(everything=True)
                await asyncio.sleep(0)
            await learning
            await detector.knowledge.exchange(everything=True)
            told = await detector.index.learned.exchange_boilerplate(
                {source_hash(each.source): LearnedEntries() for each in made}
            )
    finally:
        sys.setswitchinterval(interval)

    assert [len(known.documents) for known in told.values()] == [1] * len(made)


TOLLS = (
    "At least 12 people died in the fire at the port on Tuesday, the police said.",
    "The war has killed more than fourteen thousand civilians since it began two years ago.",
    "The ministry reported 1,250 new cases of the disease in the capital on Tuesday.",
    "Dead: 12, injured: 31, missing since Tuesday: 4 of the crew",
    "Mindestens zwölf Menschen starben am Dienstag bei dem Brand im Hafen, teilte die Polizei mit.",
    "По меньшей мере 12 человек погибли во вторник при пожаре в порту, сообщила полиция.",
    "An earthquake of magnitude 6.1 has hit the island on Tuesday, the agency said.",
)
NOTICES = (
    "Join 40,000 readers who get our newsletter about the harbour each morning.",
    "Last week 1,200 people subscribed to this newspaper, which has no other owner.",
    "Read the whole article and all others now for $1 a week for 6 months.",
    "Read also: Fire at the port has killed 12 people, police say",
)


async def lines_left_out(detector: NearDupDetector, line: str, titles: Sequence[str]) -> list[bool]:
    """Print a line under titles, amid sentences of other articles; say of which articles it was left out."""
    left_out = []
    for number, title in enumerate(titles):
        page = Page(number, title=title, sentences=4, wall=f"{line}\n{prose(('more', number), 4)}")
        document = detector.document(page.text, url=page.url, title=page.title)
        (alone,) = detector.sketcher.whole(document.text)
        left_out.append(detector.sketcher.fingerprint(document).size < alone.signed.size)
    return left_out


UNLIKE = tuple(" ".join(made_up(("unlike", number), 5)) for number in range(4))


@pytest.mark.in_memory
@pytest.mark.parametrize("line", TOLLS)
async def test_a_line_that_counts_people_is_no_line_of_a_site(detector: NearDupDetector, line: str) -> None:
    assert not any(await lines_left_out(detector, line, UNLIKE))


@pytest.mark.in_memory
@pytest.mark.parametrize("line", NOTICES)
async def test_a_notice_with_figures_is_a_line_of_a_site(detector: NearDupDetector, line: str) -> None:
    assert await lines_left_out(detector, line, UNLIKE) == [False, False, True, True]


@pytest.mark.in_memory
async def test_a_line_that_repeats_a_figure_of_the_title_stays_in_this_article(detector: NearDupDetector) -> None:
    line = "Some 1,200 people marched through the capital on Saturday, the city council said."
    titles = (*UNLIKE, "Minister ignores 1,200 people and their march")
    assert await lines_left_out(detector, line, titles) == [False, False, True, True, False]


async def test_a_toll_that_an_older_process_learned_as_boilerplate_stays(sqlite_url: str, namespace: str) -> None:
    """The paper prints the wire with the new toll: it is no copy of the wire with the old one."""
    line = "At least 12 people died in the fire at the port on Tuesday, the police said."
    async with opened("news", sqlite_url, namespace) as detector:
        page = Page(0, sentences=12, wall=line.replace("12", "4"))
        page.url = "https://wire.example/fire"
        await judge(detector, page)
        (body,) = detector.sketcher.read_texts([line])
        learned = LearnedEntries((int(body.kept.keys[0]).to_bytes(4, "big"),))
        await detector.index.learned.exchange_boilerplate({source_hash("harbour-courier.example"): learned})
    (verdict,) = await crawl(sqlite_url, namespace, [Page(0, sentences=12, wall=line)])
    assert (verdict.status, verdict.changes) == ("update", ("dead: at least 4 -> at least 12",))


class NoFigures(NamedTuple):
    """Lines without figures, each with these terms."""

    terms: frozenset[int] = frozenset()

    def terms_in(self, lines: frozenset[int]) -> frozenset[int]:
        return self.terms

    def counted_in(self, lines: object) -> frozenset[Figure]:
        return frozenset()

    counted_in_news = counted_in


def learn(
    guard: SourceBoilerplate, terms: str, lines: str, *, page: int, article: int = 0, about: str = ""
) -> set[int]:
    """One letter a term and a line; ``about`` are terms that every line mentions."""
    source, read = b"site", NoFigures(frozenset(map(ord, about)))
    return set(guard.learn(source, page, article, frozenset(map(ord, terms)), frozenset(map(ord, lines)), read))


def keys(lines: str) -> set[int]:
    return set(map(ord, lines))


def test_a_number_under_three_unlike_titles_is_no_article_number() -> None:
    guard = SourceBoilerplate()
    for number, terms in enumerate(("ab", "cd")):
        learn(guard, terms, "W", page=number, article=7)
    assert guard.is_article(b"site", 7)
    learn(guard, "ef", "X", page=2, article=7)
    assert not guard.is_article(b"site", 7)
    assert guard.is_article(b"site", 8)


def test_memory_is_bounded() -> None:
    guard = SourceBoilerplate()
    for number in range(1100):
        source = number.to_bytes(4, "big")
        guard.learn(source, number, 0, frozenset({1, 2}), frozenset(range(40)), NoFigures())
    for number in range(60):
        learn(guard, chr(0x400 + number), "".join(map(chr, range(0x4E00, 0x4E20))), page=number)
    assert len(guard._sources) == 1024
    known = guard._sources[b"site"]
    assert len(known.documents) == 24
    assert max(len(each.lines) for source in guard._sources.values() for each in source.documents.values()) <= 24
