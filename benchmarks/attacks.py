"""What somebody who writes pages can do to the verdicts on pages of others, and at which price.

usage: python benchmarks/attacks.py [ROW ...]

Each row is one attack with a price: hosts, pages and days. Its other columns say what became of the strangers' pages
that came afterwards. All texts are invented, and the store is in memory. To compare two versions, run the script with
PYTHONPATH set to each checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.settings import NearDupSettings

START = 1_700_006_400  # a midnight, UTC
HOUR, DAY = 3600, 24 * 3600
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

    def path(self) -> str:
        return f"{random.Random(repr((self.host, self.title, self.at))).getrandbits(32):x}"


def words(seed: object, count: int) -> list[str]:
    """Return invented words that no other seed has."""
    draw = random.Random(repr(seed))
    return ["".join(draw.choices("abdegiklmnoprstuv", k=7)) for _ in range(count)]


def sentences(seed: object, count: int) -> list[str]:
    made = words(seed, 15 * count)
    return [" ".join(made[at : at + 15]).capitalize() + "." for at in range(0, len(made), 15)]


def background(count: int, until: float) -> list[Page]:
    """Return other news of the hours before: each page tells a story of its own, in words that all share."""
    vocabulary, draw = words("vocabulary", COMMON), random.Random(1)

    def sentence() -> str:
        return " ".join(draw.choices(vocabulary, k=15)).capitalize() + "."

    return [
        Page(
            f"daily{n % 40}.example",
            " ".join(draw.choices(vocabulary, k=6)),
            [sentence() for _ in range(12)],
            until - n,
        )
        for n in range(count, 0, -1)
    ]


async def verdicts_of(pages: Iterable[Page]) -> list[Verdict]:
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="attack")
    await detector.open()
    ordered = sorted(pages, key=lambda page: page.at)
    made = [
        detector.document(
            "\n".join(page.lines), url=f"https://{page.host}/{page.path()}", title=page.title, seen_at=page.at
        )
        for page in ordered
    ]
    made = [replace(document, language="en") for document in made]  # invented words would seem to be of many languages
    by_page = dict(zip(map(id, ordered), await detector.check_in_order(made), strict=True))
    await detector.close()
    return [by_page[id(page)] for page in pages]


class Story:
    """A story of a wire: the first paper prints it at ``at``, the others in the next hour under titles of their own.

    Two titles share two or three of five words, or none or two if they are ``unlike``.
    """

    def __init__(self, seed: object, at: float, *, unlike: bool = False) -> None:
        self.lines = sentences((seed, "story"), SENTENCES)
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


def outcome(verdicts: Sequence[Verdict]) -> dict[str, object]:
    found = Counter(verdict.reason or verdict.status for verdict in verdicts)
    return {
        "unchecked": sum(verdict.status == "unchecked" for verdict in verdicts),
        "found": found["duplicate"] + found["update"] + found["related"],
        "dropped": sum(verdict.would_drop for verdict in verdicts),
        "event": next((verdict.event for verdict in reversed(verdicts) if verdict.event), "none"),
    }


PRICES = [(0, 0), (3, 9), (3, 100), (10, 100)]
SPANS: dict[str, Sequence[float]] = {"1 hour": (0.0,), "3 days": (-3 * DAY, -2 * DAY, -DAY, 0.0)}


async def echo() -> None:
    """Print the story's sentences with one line of their own: on the day of the story, or already days before."""
    await _boilerplate(lambda story: lambda n: [*story.lines, *sentences(("liar", n), 1)])


async def echo_unlike_titles() -> None:
    """Print the story's sentences as above, of a story whose papers have unlike titles."""
    await _boilerplate(lambda story: lambda n: [*story.lines, *sentences(("liar", n), 1)], unlike=True)


async def pieces() -> None:
    """Print two of the story's sentences in each of many long texts of their own."""

    def pages(story: Story) -> Callable[[int], list[str]]:
        return lambda n: [*(story.lines * 2)[2 * n % SENTENCES :][:2], *sentences(("liar", n), 8)]

    await _boilerplate(pages)


async def _boilerplate(lines: Callable[[Story], Callable[[int], list[str]]], *, unlike: bool = False) -> None:
    for (hosts, pages), (span, days) in product(PRICES, SPANS.items()):
        if not hosts and days != SPANS["1 hour"]:
            continue
        at = START + 4 * DAY
        story = Story("wire", at, unlike=unlike)
        moments = [at + 60 + day for day in days]
        attack = liars(hosts, pages, moments, lines(story)) if hosts else []
        others = background(200, at)
        verdicts = await verdicts_of([*story.papers[1:], story.papers[0], *attack, *others])
        row(f"{hosts} hosts, {pages} pages", span if hosts else "", outcome(verdicts[:PAPERS]))


async def own_sentences() -> None:
    """Print the own sentences of an article that also has nine sentences of a wire: is it dropped as a copy?"""
    for (hosts, pages), (span, days), whole in product(PRICES, SPANS.items(), (True, False)):
        if not hosts and (days != SPANS["1 hour"] or not whole):
            continue
        at = START + 4 * DAY
        own, wire = sentences("own", 12), sentences("innocent", 9)
        moments = [at + 60 + day for day in days]

        def lines(n: int, whole: bool = whole, own: Sequence[str] = own) -> list[str]:
            mine = sentences(("liar", n), 1 if whole else 8)
            return [*own, *mine] if whole else [own[n % len(own)], *mine]

        article = Page("paper.example", "Own article", [*own, *wire], at + 2 * HOUR)
        attack = liars(hosts, pages, moments, lines) if hosts else []
        (verdict,) = (await verdicts_of([article, Page("wire.example", "Innocent wire", wire, at), *attack]))[:1]
        result = {"status": verdict.status, "share": verdict.share, "dropped": verdict.would_drop}
        row(f"{hosts} hosts, {pages} pages", (f"{span}, {'whole' if whole else 'pieces'}") if hosts else "", result)


async def crowding() -> None:
    """Print the first sentences of a story in many long texts, so that its keys list only these: are copies found?"""
    at = START + 4 * DAY
    story = Story("wire", at)

    def lines(n: int) -> list[str]:
        return [*story.lines[:3], *sentences(("liar", n), 24)]

    for hosts, pages in [(0, 0), (1, 16), (10, 100), (10, 1000)]:
        attack = liars(hosts, pages, [at + 60.0], lines) if hosts else []
        cut = [replace(page, lines=story.lines[:5]) for page in story.papers[1:]]
        verdicts = await verdicts_of([*cut, story.papers[0], *attack, *background(200, at)])
        row(f"{hosts} hosts, {pages} pages", "", outcome(verdicts[:PAPERS]))


def report(host: str, title: Sequence[str], names: Sequence[str], at: float) -> Page:
    """Return a page with these names among words that all texts use."""
    draw = random.Random(repr((host, names, at)))
    told = [*names, *draw.choices(words("vocabulary", COMMON), k=40)]
    draw.shuffle(told)
    lines = [f"{' '.join(told[place : place + 12]).capitalize()}." for place in range(0, len(told), 12)]
    return Page(host, " ".join(title), lines, at)


def reports_of(names: Sequence[str], at: float) -> list[Page]:
    """Return reports of an event in other words, one of each paper, a minute apart. Two share most of the names."""
    drawn = [random.Random(n).sample(names, 8) for n in range(PAPERS)]
    return [report(f"paper{n}.example", each[:3], each, at + 60 * n) for n, each in enumerate(drawn)]


async def related() -> None:
    """Print the rarest words of a story in many texts: is its coverage in other words still found?"""
    at, names = START + 4 * DAY, words("event names", 10)
    for hosts, pages in [(0, 0), (10, 16), (10, 100), (10, 400), (40, 800)]:
        reports = reports_of(names, at + HOUR)
        attack = [
            report(f"liar{n % hosts}.example", words(("liar", n), 5), random.Random(n).sample(names, 4), at + n)
            for n in range(pages)
        ]
        verdicts = await verdicts_of([*reports, *attack, *background(2000, at)])
        row(f"{hosts} hosts, {pages} pages", "", outcome(verdicts[:PAPERS]))


async def bridge() -> None:
    """Print the names of a new event together with those of a running one: is the new event still raised?"""
    at, running, new = START + 4 * DAY, words("running event", 10), words("new event", 10)
    for hosts, pages, after in [
        (0, 0, 0.0),
        (1, 1, -0.5 * HOUR),
        (1, 1, 30.0),
        (3, 3, 30.0),
        (10, 10, 30.0),
        (10, 100, 30.0),
    ]:
        attack = [
            report(f"liar{n % hosts}.example", [*running[:2], *new[:2]], [*running[:8], *new[:8]], at + after + n)
            for n in range(pages)
        ]
        reports = reports_of(new, at)
        earlier = [*reports_of(running, at - 2 * HOUR), *background(2000, at - 3 * HOUR)]
        verdicts = await verdicts_of([*reports, *earlier, *attack])
        when = "before the first report" if after < 0 else "after it" if hosts else ""
        stories = [{verdict.story for verdict in verdicts[place : place + PAPERS]} for place in (0, PAPERS)]
        events = [verdict.event for verdict in verdicts[:PAPERS] if verdict.event]
        result = {"events": ", ".join(events) or "none", "in the running story": not stories[0].isdisjoint(stories[1])}
        row(f"{hosts} hosts, {pages} pages", when, result)


async def two_events() -> None:
    """Print sentences of a running event and of a new one on one page: is the new event raised as without it?"""
    at = START + 4 * DAY
    running, new = Story("running", at), Story("new", at + HOUR)
    for sentences_of_each, papers, after in product((2, SENTENCES), (3, 8), (-0.2 * HOUR, 0.5 * HOUR, HOUR + 500)):
        lines = [*running.lines[:sentences_of_each], *new.lines[:sentences_of_each]]
        page = Page("liar.example", "The day in brief", lines, at + after)
        earlier = running.papers[:papers]
        verdicts = await verdicts_of([*new.papers[:PAPERS], *earlier, page, *background(300, at)])
        stories = [{verdict.story for verdict in some} for some in (verdicts[:PAPERS], verdicts[PAPERS:][:papers])]
        events = [f"{verdict.event} ({number})" for number, verdict in enumerate(verdicts[:PAPERS], 1) if verdict.event]
        when = "first of all" if after < 0 else "between both" if after < HOUR else "last"
        result = {"events (paper)": ", ".join(events) or "none", "one story": not stories[0].isdisjoint(stories[1])}
        row(f"1 page, {sentences_of_each} sentences", f"{papers} papers, {when}", result)


async def homographs() -> None:
    """Replace letters of a copy by letters of another alphabet that look the same."""
    at = START + 4 * DAY
    story = Story("wire", at)
    for share in (0.0, 0.01, 0.03, 0.1):
        draw = random.Random(7)

        def disguised(line: str, share: float = share, draw: random.Random = draw) -> str:
            return "".join("аеор"["aeop".index(c)] if c in "aeop" and draw.random() < 4 * share else c for c in line)

        copies = [replace(page, lines=list(map(disguised, page.lines))) for page in story.papers[1:]]
        verdicts = await verdicts_of([*copies, story.papers[0]])
        row(f"{share:.0%} of the letters", "", outcome(verdicts[:PAPERS]))


async def first_place() -> None:
    """Print a story first: every paper that follows is a copy of the liar's page."""
    at = START + 4 * DAY
    story = Story("wire", at)
    liar = Page("liar.example", "Stolen before it was crawled", story.lines, at - 60)
    verdicts = await verdicts_of([*story.papers, liar])
    originals = Counter((verdict.original_url or "").split("/")[2:3][0] for verdict in verdicts if verdict.original_url)
    row("1 host, 1 page", "", {"copies of the liar": originals["liar.example"], **outcome(verdicts[1:])})


def row(price: str, span: str, result: dict[str, object]) -> None:
    print(f"  {price:24}{span:24}" + "  ".join(f"{name} {value}" for name, value in result.items()))


ROWS = {
    "echo": echo,
    "echo, unlike titles": echo_unlike_titles,
    "pieces": pieces,
    "own sentences": own_sentences,
    "crowding": crowding,
    "related": related,
    "bridge": bridge,
    "two events": two_events,
    "homographs": homographs,
    "first place": first_place,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; default: all")
    chosen = parser.parse_args().rows or list(ROWS)
    if unknown := [name for name in chosen if name not in ROWS]:
        parser.error(f"there is no row {unknown[0]!r}; there are {', '.join(ROWS)}")
    for name in chosen:
        print(f"{name}: {ROWS[name].__doc__}")
        asyncio.run(ROWS[name]())


if __name__ == "__main__":
    main()
