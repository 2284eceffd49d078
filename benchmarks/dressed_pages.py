"""Measure verdicts on articles that a script dresses as pages of invented sites, so that the truth is known.

Each class is one thing that real sites do: they print a wall instead of the article, begin a column with the same
words, have one article at several addresses. A case is a small site, or two, and most cases have pages that are copies
and pages that only look like copies. No article comes twice into one window, except as a copy.

usage: python benchmarks/dressed_pages.py [--data DIR] [--cases N] [--only CLASS] [--wrong] [--seed N]

DIR as for accuracy.py. ``--wrong`` prints the wrong verdicts. The same seed makes the same pages.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from edits import EDITS, dressed
from shared import data_parser, print_table

from scrapy_neardup.content import load_extractor, read_head
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.settings import NearDupSettings

SEED = 28
_SITE = re.compile(r"\s[|–—-]\s[^|–—]{2,60}$")
START = 1_700_000_000.0
MINUTE = 60
RIGHT: dict[str, Callable[[Verdict], bool]] = {
    "new": lambda verdict: verdict.status in ("original", "related", "unchecked"),
    "alone": lambda verdict: verdict.status in ("original", "unchecked"),
    "copy": lambda verdict: verdict.status == "duplicate",
    "extended": lambda verdict: verdict.status == "duplicate" and not verdict.would_drop,
    "update": lambda verdict: verdict.status == "update",
    "translation": lambda verdict: (verdict.status, verdict.kind) == ("related", "translation"),
}
"""What a page is, and whether a verdict says so. ``new`` is another article, ``alone`` one on another event too."""


class Story(NamedTuple):
    title: str
    text: str

    def words(self, first: int, count: int) -> str:
        return " ".join(self.text.split()[first : first + count])


class Step(NamedTuple):
    """A page that is crawled, and what it is to those before it."""

    url: str
    title: str
    text: str
    truth: str
    language: str = "en"
    canonical: str = ""


Case = list[Step]


class Desk:
    """Hands out articles, each once, and the addresses of invented sites. Raises IndexError if no article is left."""

    def __init__(self, stories: Sequence[Story], seed: str) -> None:
        self.rng = random.Random(seed)
        self._pile, self._sites = self.rng.sample(stories, len(stories)), 0

    def story(self, least: int = 150) -> Story:
        return self._pile.pop(next(at for at in range(-1, -999, -1) if len(self._pile[at].text.split()) >= least))

    def close(self) -> None:
        """Let no other case come into the window of this one."""
        self._pile.clear()

    def site(self) -> str:
        if not self._pile:
            raise IndexError("no article is left")
        self._sites += 1
        return f"https://www.paper{self._sites}.example"

    def address(self, site: str, title: str) -> str:
        return f"{site}/{self.number()}/{'-'.join(re.findall('[a-z]+', title.lower())[:6]) or 'page'}"

    def number(self) -> int:
        return self.rng.randrange(10**6, 10**7)

    def text(self, words: int) -> str:
        """A text of so many words, in paragraphs of articles, that belongs to the site and to no article."""
        taken: list[str] = []
        while words > 0:
            for line in self.story().text.splitlines():
                taken.append(" ".join(line.split()[:words]))
                words -= len(taken[-1].split())
                if words <= 0:
                    break
        return "\n".join(filter(None, taken))


# The classes: each makes one case


def wall(desk: Desk) -> Case:
    """A notice of 50 to 2,000 words instead of every article."""
    site, notice = desk.site(), desk.text(int(50 * 40 ** desk.rng.random()))
    titles = [desk.story().title for _ in range(4)]
    return [Step(desk.address(site, title), title, notice, "new") for title in titles]


def rubric(desk: Desk) -> Case:
    """A column with one introduction, and titles that share its name; then one of its pages at another address."""
    site, name = desk.site(), desk.rng.choice(("New in the shop", "Record of the week", "Ask the expert", "Sold today"))
    introduction, own = desk.text(desk.rng.randrange(80, 300)), desk.rng.randrange(60, 250)
    case = []
    for story in (desk.story(own) for _ in range(5)):
        title = f"{name}: {' '.join(story.title.split()[:4])}"
        text = f"{introduction}\n{_blocks(story, own)}"
        case.append(Step(desk.address(site, title), title, text, "new"))
    again = case[-1]
    return [*case, again._replace(url=desk.address(site, again.title), truth="copy")]


def paywall(desk: Desk) -> Case:
    """The first words of each article, and a longer notice; then a true copy of one page."""
    site, notice = desk.site(), desk.text(desk.rng.randrange(80, 250))
    case = []
    for story in (desk.story() for _ in range(4)):
        text = f"{story.words(0, desk.rng.randrange(40, 80))}\n{notice}"
        case.append(Step(desk.address(site, story.title), story.title, text, "new"))
    return [*case, case[-1]._replace(url=desk.address(site, case[-1].title), truth="copy")]


def teasers(desk: Desk) -> Case:
    """Short articles above one list of teasers, and a copy of the last one in another paper with teasers of its own."""
    case, site, below = [], desk.site(), _teasers(desk)
    for story in (desk.story(150) for _ in range(4)):
        text = f"{_blocks(story, 150)}\n{below}"
        case.append(Step(desk.address(site, story.title), story.title, text, "new"))
    text = f"{_blocks(story, 150)}\n{_teasers(desk)}"
    return [*case, Step(desk.address(desk.site(), story.title), desk.story().title, text, "copy")]


def gallery(desk: Desk) -> Case:
    """Short reports with the data of an image gallery as text; then one of them at another address."""
    case, site = [], desk.site()
    for story in (desk.story() for _ in range(4)):
        pictures = [
            {"id": desk.number(), "type": "image", "credit": "Staff", "width": 1200, "height": 800, "lazy": True,
             "srcset": f"/images/{desk.number()}-{size}.jpg {size}w", "caption": story.words(size, 3)}
            for size in (40, 60, 80, 100)
        ]  # fmt: skip
        text = f"{_blocks(story, 60)}\n{json.dumps({'gallery': {'items': pictures, 'autoplay': False}})}"
        case.append(Step(desk.address(site, story.title), story.title, text, "new"))
    return [*case, case[-1]._replace(url=desk.address(site, case[-1].title), truth="copy")]


def sister(desk: Desk) -> Case:
    """One article at its AMP, print, mobile and canonical address, in any order, each with other words around it."""
    story, site = desk.story(), desk.site()
    page = desk.address(site, story.title)
    app, old = f"{page}?service=app-{desk.number()}", f"{site}/story.php?doc={desk.number()}"
    forms = [page, app, old, page.replace("www.", "m.")]
    desk.rng.shuffle(forms)
    return [
        Step(form, story.title, f"{story.text}\n{desk.text(4)}", "copy" if number else "new", canonical=page)
        for number, form in enumerate(forms)
    ]


def translation(desk: Desk) -> Case:
    """One article in two languages, under one number; then the first one again."""
    story, site, number = desk.story(), desk.site(), desk.number()
    page = Step(f"{site}/en/news/{number}", story.title, story.text, "new")
    other = Step(f"{site}/xx/news/{number}", _foreign(story.title), _foreign(story.text), "translation", language="de")
    return [page, other, page._replace(truth="copy")]


def quotation(desk: Desk) -> Case:
    """An article, and another one, longer, that quotes half of it; then a whole copy in a third paper."""
    story, reply = desk.story(150), desk.story(400)
    size = len(_blocks(story, 400).split())
    quoted, rest = story.words(0, int(size * desk.rng.uniform(0.45, 0.6))), _blocks(reply, max(300, size))
    return [
        Step(desk.address(desk.site(), story.title), story.title, _blocks(story, 400), "new"),
        Step(desk.address(desk.site(), reply.title), reply.title, f"{rest}\n{quoted}", "new"),
        Step(desk.address(desk.site(), story.title), story.title, dressed(_blocks(story, 400), desk.rng), "copy"),
    ]


def background(desk: Desk) -> Case:
    """Four articles of two papers, each with news of its own, above one background that is twice as long."""
    old, sites = desk.story(200), (desk.site(), desk.site())
    below = _blocks(old, 150)
    case = []
    for site in sites * 2:
        story = desk.story()
        text = f"{story.words(0, int(len(below.split()) * desk.rng.uniform(0.3, 0.6)))}\n{below}"
        case.append(Step(desk.address(site, story.title), story.title, text, "new"))
    return case


def rewritten(desk: Desk) -> Case:
    """A report, and its next version on the same site: another title, a paragraph less and one more at the end."""
    story, more, site = desk.story(250), desk.story(), desk.site()
    *kept, _ = _blocks(story, 250).splitlines()
    first = Step(desk.address(site, story.title), story.title, _blocks(story, 250), "new")
    title = f"{' '.join(story.title.split()[:3])}: {story.words(0, 8)}"
    longer = "\n".join([*kept, more.words(0, desk.rng.randrange(30, 150))])
    return [first, Step(desk.address(site, title), title, longer, "copy")]


def extended(desk: Desk) -> Case:
    """A shortened report comes first; then the whole one, with a block of its own that has names and figures."""
    story, more = desk.story(200), desk.story(120)
    block = more.words(0, int(desk.rng.uniform(0.15, 0.6) * 200))
    fact = f"A petition with {desk.rng.randrange(200, 900)} signatures was handed to {_name(desk)} of {_name(desk)}."
    return [
        Step(desk.address(desk.site(), story.title), story.title, _blocks(story, 200), "new"),
        Step(desk.address(desk.site(), story.title), more.title, f"{_blocks(story, 200)}\n{block}\n{fact}", "extended"),
    ]


def abridged(desk: Desk) -> Case:
    """A report, and its shortened copy in another paper."""
    story = desk.story(200)
    cut = story.words(0, int(len(story.text.split()) * desk.rng.uniform(0.5, 0.8)))
    return [
        Step(desk.address(desk.site(), story.title), story.title, story.text, "new"),
        Step(desk.address(desk.site(), story.title), desk.story().title, cut, "copy"),
    ]


def figure(desk: Desk) -> Case:
    """A toll that rises: at the same address, in another paper, and in another report of the first site."""
    story, site, dead = desk.story(), desk.site(), desk.rng.randrange(2, 40)

    def report(dead: int) -> str:
        return f"Officials said that {dead} people were killed and the search went on.\n{story.text}"

    page = Step(desk.address(site, story.title), story.title, report(dead), "new")
    return [
        page,
        page._replace(text=report(dead + 3), truth="update"),
        Step(desk.address(desk.site(), story.title), story.title, report(dead + 9), "update"),
        Step(desk.address(site, story.title), story.title, report(dead + 12), "update"),
    ]


def elsewhere(desk: Desk) -> Case:
    """A page that changes to a text that another site printed first."""
    story, other = desk.story(), desk.story()
    page = Step(desk.address(desk.site(), story.title), story.title, story.text, "new")
    longer = f"{story.text}\nPolice said that {desk.rng.randrange(3, 90)} were hurt.\n{other.words(0, 60)}"
    text, truth = desk.rng.choice(((other.text, "new"), (longer, "extended")))
    first = Step(desk.address(desk.site(), other.title), other.title, text, truth)
    return [page, first, page._replace(text=text, truth="update")]


def revisit(desk: Desk) -> Case:
    """A page that comes again with a corrected word or another line below it."""
    story = desk.story(200)
    words = story.text.split(" ")
    place = desk.rng.randrange(10, len(words))
    corrected, longer = " ".join([*words[:place], *words[place + 1 :]]), f"{story.text}\nRead more in our archive"
    changed = desk.rng.choice((corrected, longer))
    page = Step(desk.address(desk.site(), story.title), story.title, story.text, "new")
    return [page, page._replace(text=changed, truth="copy")]


def copies(desk: Desk) -> Case:
    """Edited copies: in another paper, and in the same one under another title."""
    story, site = desk.story(), desk.site()
    words = story.title.split()
    edited = EDITS["3 % of words edited"](story.text, desk.story().text, desk.rng) or story.text
    return [
        Step(desk.address(site, story.title), story.title, story.text, "new"),
        Step(desk.address(desk.site(), story.title), desk.story().title, dressed(edited, desk.rng), "copy"),
        Step(desk.address(site, story.title), " ".join(["Report:", *words[: len(words) // 2]]), story.text, "copy"),
    ]


def draws(desk: Desk) -> Case:
    """Several lottery draws of one day on one site, which are no coverage of one event."""
    site, region, case = desk.site(), _name(desk), []
    games = ["Daily Pick", "Lucky Lotto", "Mega Millions", "Quick Draw", "Cash"]
    desk.close()
    for game in desk.rng.sample(games, 4):
        numbers = ", ".join(str(desk.rng.randrange(1, 70)) for _ in range(6))
        title, jackpot = f"Winning numbers drawn in '{game}' game", desk.rng.randrange(10, 900)
        text = (
            f"The winning numbers in Tuesday evening's drawing of the {region} Lottery's \"{game}\" game were: "
            f"{numbers}. Estimated jackpot: ${jackpot} million. The next drawing is on Wednesday evening. Tickets are "
            f"sold by all agents of the {region} Lottery until eight in the evening of the day of the drawing."
        )
        case.append(Step(desk.address(site, title), title, text, "alone"))
    return case


CLASSES = (
    *(wall, rubric, paywall, teasers, gallery, sister, translation, quotation, background),
    *(rewritten, extended, abridged, figure, elsewhere, revisit, copies, draws),
)


def _blocks(story: Story, words: int) -> str:
    """The first whole paragraphs of an article, with at least so many words."""
    taken: list[str] = []
    for line in story.text.splitlines():
        taken.append(line)
        words -= len(line.split())
        if words <= 0:
            break
    return "\n".join(taken)


def _teasers(desk: Desk) -> str:
    stories = (desk.story() for _ in range(6))
    return "\n".join(f"{story.title}\n{story.words(0, 12)} …" for story in stories)


def _name(desk: Desk) -> str:
    letters = ("BDGKLMNRST", "aeiou", "bdgklmnrst", "aeiou", "bdklmnrst")
    return "".join(map(desk.rng.choice, letters)) + "ford"


def _foreign(text: str) -> str:
    """Each word as another one, always the same, of a language that does not exist. Figures and names stay."""
    return re.sub(r"(?<![\w-])[a-z]+", lambda found: _word(found[0]), text)


def _word(word: str) -> str:
    rng = random.Random(zlib.crc32(word.encode()))
    return "".join(rng.choice("abdegiklmnoprstuvz") for _ in range(len(word) + 1))


# Judging


def _batches(make: Callable[[Desk], Case], stories: Sequence[Story], count: int, seed: int) -> Iterator[list[Case]]:
    """Make so many cases, as many for each window as there are articles for."""
    made = 0
    for number in range(count):
        desk, batch = Desk(stories, f"{seed} {make.__name__} {number}"), list[Case]()
        with suppress(IndexError, StopIteration):
            while made < count:
                batch.append(make(desk))
                made += 1
        yield batch


def _tail(url: str) -> str:
    """The name of the site as it stands behind titles: on every second site."""
    number = int(re.findall("paper([0-9]+)", url)[0])
    return f" | Paper {number}" if number % 2 else ""


async def _judged(cases: Sequence[Case]) -> list[tuple[Step, Verdict]]:
    """The verdicts of all cases, whose pages come a minute apart, the first pages of all cases first."""
    detector = NearDupDetector(NearDupSettings(store="memory://"), run="")
    await detector.open()
    answers = []
    for number in range(max(map(len, cases))):
        for place, case in enumerate(cases):
            if number < len(case):
                step = case[number]
                document = detector.document(
                    step.text,
                    url=step.url,
                    title=f"{step.title}{_tail(step.url)}",
                    seen_at=START + MINUTE * (number * 90 + place),
                    canonical=step.canonical,
                    language=step.language,
                )
                answers.append((step, await detector.check(document)))
    await detector.close()
    return answers


def _stories(data: Path) -> Iterator[Story]:
    """Articles with their titles; of the gold set, which is full of copies, the original of each cluster."""
    extract = load_extractor("trafilatura")
    for name in ("articles.jsonl", "gold-dev.jsonl"):
        for line in (data / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("original") == "False" or row.get("original") is False:
                continue
            html = (data / row["file"]).read_bytes()
            text = row.get("text") or extract(html.decode("utf-8", "replace"), "")
            title = read_head(html).title
            if title and len(text.split()) >= 150:
                yield Story(_SITE.sub("", title), text)


def _row(name: str, answers: Sequence[tuple[Step, Verdict]]) -> tuple[object, ...]:
    counts: Counter[str] = Counter()
    for step, verdict in answers:
        counts["pages"] += 1
        counts["right"] += RIGHT[step.truth](verdict)
        is_copy = step.truth in ("copy", "extended")
        for status, is_true in (("duplicate", is_copy), ("update", step.truth == "update")):
            counts[f"{status} said"] += verdict.status == status
            counts[f"{status} true"] += is_true
            counts[f"{status} found"] += is_true and verdict.status == status
        counts["lost"] += verdict.would_drop and step.truth != "copy"
    shares = (
        f"{counts[f'{status} found'] / counts[f'{status} {of}']:.2f}" if counts[f"{status} {of}"] else "-"
        for status in ("duplicate", "update")
        for of in ("said", "true")
    )
    return (name, counts["pages"], f"{counts['right'] / counts['pages']:.2f}", *shares, counts["lost"])


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--cases", type=int, default=40, help="of each class")
    parser.add_argument("--only", choices=[each.__name__ for each in CLASSES])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--wrong", action="store_true", help="print the wrong verdicts")
    options = parser.parse_args()
    stories = list(_stories(options.data))
    rows, everything = [], []
    for make in CLASSES:
        if options.only in (None, make.__name__):
            batches = _batches(make, stories, options.cases, options.seed)
            answers = [each for batch in batches if batch for each in asyncio.run(_judged(batch))]
            rows.append(_row(make.__name__, answers))
            everything += answers
            for step, verdict in answers:
                if options.wrong and not RIGHT[step.truth](verdict):
                    kind, dropped = verdict.kind or verdict.reason or "", ", dropped" if verdict.would_drop else ""
                    how = f"share {verdict.share}, containment {verdict.containment}{dropped}, {verdict.changes}"
                    print(f"- {make.__name__}: {step.truth} is {verdict.status} {kind}, {how}:")
                    print(f"  {step.url} by {verdict.match_url}")
    shares = ("precision of duplicate", "recall", "precision of update", "recall")
    title = f"Dressed pages, seed {options.seed}, {options.cases} cases of each class"
    print_table(title, ("class", "pages", "right", *shares, "drops that lose"), [*rows, _row("all", everything)])


if __name__ == "__main__":
    main()
