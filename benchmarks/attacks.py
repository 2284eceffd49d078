"""What somebody who writes pages can do to the verdicts on pages of others, and at which price.

usage: python benchmarks/attacks.py [ROW ...]

Each row is one attack with a price: hosts, pages and days. Its other columns say what became of the strangers' pages
that came afterwards. All texts are invented, and the store is in memory. To compare two versions, run the script with
PYTHONPATH set to each checkout.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from shared import chosen_parts
from simulated_news import DAY, HOUR, START

from scrapy_neardup import NearDupDetector, NearDupSettings, Verdict

AT = START + 4 * DAY
PAPERS = 20
SENTENCES = 12  # of a story
COMMON = 3000  # words from which background texts are made


@dataclass(frozen=True)
class Page:
    """A page as a crawl sees it; ``at`` is in Unix seconds."""

    host: str
    title: str
    lines: Sequence[str]
    at: float

    @property
    def url(self) -> str:
        return f"https://{self.host}/{random.Random(repr((self.host, self.title, self.at))).getrandbits(32):x}"


def words(seed: object, count: int) -> list[str]:
    """Return invented words that no other seed has."""
    draw = random.Random(repr(seed))
    return ["".join(draw.choices("abdegiklmnoprstuv", k=7)) for _ in range(count)]


def sentences(made: Sequence[str], length: int = 15) -> list[str]:
    return [" ".join(made[at : at + length]).capitalize() + "." for at in range(0, len(made), length)]


def invented(seed: object, count: int) -> list[str]:
    return sentences(words(seed, 15 * count))


def background(count: int, until: float) -> list[Page]:
    """Return other news of the hours before: each page tells a story of its own, in words that all share."""
    vocabulary, draw = words("vocabulary", COMMON), random.Random(1)

    def page(age: int) -> Page:
        title = " ".join(draw.choices(vocabulary, k=6))
        return Page(f"daily{age % 40}.example", title, sentences(draw.choices(vocabulary, k=12 * 15)), until - age)

    return [page(age) for age in range(count, 0, -1)]


async def verdicts_of(pages: Iterable[Page]) -> list[Verdict]:
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="attack")
    await detector.open()
    ordered = sorted(pages, key=lambda page: page.at)
    made = [
        detector.document("\n".join(page.lines), url=page.url, title=page.title, seen_at=page.at, language="en")
        for page in ordered
    ]
    by_page = dict(zip(map(id, ordered), await detector.check_in_order(made), strict=True))
    await detector.close()
    return [by_page[id(page)] for page in pages]


class Story:
    """A story of a wire: the first paper prints it at ``at``, the others in the next hour under titles of their own.

    Two titles share two or three of five words, or none or two if they are ``unlike``.
    """

    def __init__(self, seed: object, at: float, *, unlike: bool = False) -> None:
        self.lines = invented((seed, "story"), SENTENCES)
        names = words((seed, "names"), 4)
        self.papers = []
        for number in range(PAPERS + 1):
            draw = random.Random(repr((seed, number)))
            common = draw.sample(names, 2 if unlike else 3)
            title = " ".join([*common, *words((seed, number, "title"), 5 - len(common))])
            lead = f"{' '.join([*names, *words((seed, number, 'lead'), 8)])}."
            self.papers.append(Page(f"paper{number}.example", title, [lead, *self.lines], at + 150 * number))


def liars(hosts: int, pages: int, days: Sequence[float], lines: Callable[[int], list[str]]) -> list[Page]:
    """Return pages of hosts under unlike titles, spread over the days; ``lines`` of a page are made from its number."""
    return [
        Page(f"liar{n % hosts}.example", " ".join(words(("liar", n), 5)), lines(n), days[n * len(days) // pages] + n)
        for n in range(pages)
    ]


def show(hosts: int, pages: int, when: str, **result: object) -> None:
    price = f"{hosts} hosts, {pages} pages"
    print(f"  {price:24}{when:24}" + "  ".join(f"{name} {value}" for name, value in result.items()))


def outcome(verdicts: Sequence[Verdict]) -> dict[str, object]:
    return {
        "unchecked": sum(verdict.status == "unchecked" for verdict in verdicts),
        "found": sum(verdict.status in ("duplicate", "update", "related") for verdict in verdicts),
        "dropped": sum(verdict.would_drop for verdict in verdicts),
        "event": next((verdict.event for verdict in reversed(verdicts) if verdict.event), "none"),
    }


PRICES = [(0, 0, "-"), *product((3, 10), (100,), ("1 hour", "3 days"))]
SPANS = {"1 hour": (AT + 60,), "3 days": (AT + 60 - 3 * DAY, AT + 60 - 2 * DAY, AT + 60 - DAY, AT + 60)}


async def echo() -> None:
    """Print a story's sentences with one of their own, also if its papers have unlike titles, or two in long texts."""
    for unlike, in_pieces in ((False, False), (True, False), (False, True)):
        story = Story("wire", AT, unlike=unlike)

        def lines(n: int, story: Story = story, in_pieces: bool = in_pieces) -> list[str]:
            if in_pieces:
                return [*(story.lines * 2)[2 * n % SENTENCES :][:2], *invented(("liar", n), 8)]
            return [*story.lines, *invented(("liar", n), 1)]

        for hosts, pages, span in PRICES:
            attack = liars(hosts, pages, SPANS[span], lines) if hosts else []
            verdicts = await verdicts_of([*story.papers[1:], story.papers[0], *attack, *background(200, AT)])
            show(hosts, pages, f"{span}, {unlike=:d} {in_pieces=:d}", **outcome(verdicts[:PAPERS]))


async def own_sentences() -> None:
    """Print the own sentences of an article that also has nine sentences of a wire: is it dropped as a copy?"""
    own, wire = invented("own", 12), invented("innocent", 9)
    article = Page("paper.example", "Own article", [*own, *wire], AT + 2 * HOUR)
    for (hosts, pages, span), whole in product(PRICES, (True, False)):

        def lines(n: int, whole: bool = whole) -> list[str]:
            return [*own, *invented(("liar", n), 1)] if whole else [own[n % len(own)], *invented(("liar", n), 8)]

        attack = liars(hosts, pages, SPANS[span], lines) if hosts else []
        verdict, *_ = await verdicts_of([article, Page("wire.example", "Innocent wire", wire, AT), *attack])
        show(hosts, pages, f"{span}, {whole=:d}", status=verdict.status, dropped=verdict.would_drop)


async def crowding() -> None:
    """Print the first sentences of a story in many long texts, so that its keys list only these: are copies found?"""
    story = Story("wire", AT)
    cut = [replace(page, lines=story.lines[:5]) for page in story.papers[1:]]
    for hosts, pages in [(0, 0), (1, 16), (10, 100), (10, 1000)]:
        attack = liars(hosts, pages, [AT + 60.0], lambda n: [*story.lines[:3], *invented(("liar", n), 24)])
        verdicts = await verdicts_of([*cut, story.papers[0], *attack, *background(200, AT)])
        show(hosts, pages, "", **outcome(verdicts[:PAPERS]))


def report(host: str, title: Sequence[str], names: Sequence[str], at: float) -> Page:
    """Return a page with these names among words that all texts use."""
    draw = random.Random(repr((host, names, at)))
    told = [*names, *draw.choices(words("vocabulary", COMMON), k=40)]
    draw.shuffle(told)
    return Page(host, " ".join(title), sentences(told, 12), at)


def reports_of(names: Sequence[str], at: float) -> list[Page]:
    """Return reports of an event in other words, one of each paper, a minute apart. Two share most of the names."""
    drawn = [random.Random(n).sample(names, 8) for n in range(PAPERS)]
    return [report(f"paper{n}.example", each[:3], each, at + 60 * n) for n, each in enumerate(drawn)]


async def related() -> None:
    """Print the rarest words of a story in many texts: is its coverage in other words still found?"""
    names = words("event names", 10)
    for hosts, pages in [(0, 0), (10, 16), (10, 100), (10, 400), (40, 800)]:
        attack = [
            report(f"liar{n % hosts}.example", words(("liar", n), 5), random.Random(n).sample(names, 4), AT + n)
            for n in range(pages)
        ]
        verdicts = await verdicts_of([*reports_of(names, AT + HOUR), *attack, *background(2000, AT)])
        show(hosts, pages, "", **outcome(verdicts[:PAPERS]))


async def bridge() -> None:
    """Print the names of a new event together with those of a running one: is the new event still raised?"""
    running, new = words("running event", 10), words("new event", 10)
    earlier = [*reports_of(running, AT - 2 * HOUR), *background(2000, AT - 3 * HOUR)]
    for hosts, pages, after in [(0, 0, 0.0), (1, 1, -0.5 * HOUR), (1, 1, 30.0), (10, 10, 30.0), (10, 100, 30.0)]:
        attack = [
            report(f"liar{n % hosts}.example", [*running[:2], *new[:2]], [*running[:8], *new[:8]], AT + after + n)
            for n in range(pages)
        ]
        verdicts = await verdicts_of([*reports_of(new, AT), *earlier, *attack])
        when = "before the first report" if after < 0 else "after it"
        show(hosts, pages, when, **_raised(verdicts[:PAPERS], verdicts[PAPERS : 2 * PAPERS]))


async def two_events() -> None:
    """Print sentences of a running event and of a new one on one page: is the new event raised as without it?"""
    running, new = Story("running", AT), Story("new", AT + HOUR)
    for count, papers, after in product((2, SENTENCES), (3, 8), (-0.2 * HOUR, 0.5 * HOUR, HOUR + 500)):
        page = Page("liar.example", "The day in brief", [*running.lines[:count], *new.lines[:count]], AT + after)
        verdicts = await verdicts_of([*new.papers[:PAPERS], *running.papers[:papers], page, *background(300, AT)])
        when = f"{papers} papers, {after / HOUR:+.1f} h, {count} lines"
        show(1, 1, when, **_raised(verdicts[:PAPERS], verdicts[PAPERS : PAPERS + papers]))


def _raised(new: Sequence[Verdict], running: Sequence[Verdict]) -> dict[str, object]:
    events = [f"{verdict.event} ({number})" for number, verdict in enumerate(new, 1) if verdict.event]
    together = {verdict.story for verdict in new} & {verdict.story for verdict in running}
    return {"events (paper)": ", ".join(events) or "none", "one story": bool(together)}


async def homographs() -> None:
    """Replace letters of a copy by letters of another alphabet that look the same."""
    story = Story("wire", AT)
    for share in (0.0, 0.01, 0.03, 0.1):
        draw = random.Random(7)

        def disguised(line: str, share: float = share, draw: random.Random = draw) -> str:
            return "".join("аеор"["aeop".index(c)] if c in "aeop" and draw.random() < 4 * share else c for c in line)

        copies = [replace(page, lines=list(map(disguised, page.lines))) for page in story.papers[1:]]
        verdicts = await verdicts_of([*copies, story.papers[0]])
        show(1, 1, f"{share:.0%} of the letters", **outcome(verdicts[:PAPERS]))


async def first_place() -> None:
    """Print a story first: every paper that follows is a copy of the liar's page."""
    story = Story("wire", AT)
    liar = Page("liar.example", "Stolen before it was crawled", story.lines, AT - 60)
    verdicts = await verdicts_of([*story.papers, liar])
    originals = Counter((verdict.original_url or "").split("/")[2:3][0] for verdict in verdicts if verdict.original_url)
    show(1, 1, "", copies=originals["liar.example"], **outcome(verdicts[1:]))


ROWS = (echo, own_sentences, crowding, related, bridge, two_events, homographs, first_place)

if __name__ == "__main__":
    for row in chosen_parts(ROWS, __doc__):
        print(f"{row.__name__}: {row.__doc__}")
        asyncio.run(row())
