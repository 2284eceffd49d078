"""Limits of verdicts and matches: what counts if a value is exactly at its limit, unusual or damaged."""

import itertools
from dataclasses import replace

import pytest
from documents import WIRE, Article, check
from newsdesk import START, Newsroom, opened, text, toll

from scrapy_neardup.document import Verdict
from scrapy_neardup.index import Index

pytestmark = pytest.mark.in_memory

ARTICLE = Article(url=WIRE, source="wire.example")
PAGE, ELSEWHERE = "https://www.paper.example/fire", "https://www.wire.example/fire"


async def judged(room: Newsroom, body: str, title: str, url: str, at: float = 0) -> Verdict:
    return await room.detector.check(room.detector.document(body, url=url, title=title, seen_at=START + at))


async def test_a_page_that_says_something_new_is_an_update(newsroom: Newsroom) -> None:
    before = text("fire", 300)
    await newsroom.publish("fire", "paper", 0, url=PAGE, text=before)
    shorter = await newsroom.publish("fire", "paper", 60, url=PAGE, text="\n".join(before.split("\n")[:-1]))
    longer = await newsroom.publish("fire", "paper", 90, url=PAGE, text=f"{before}\n{text('line', 8)}")
    assert (shorter.status, shorter.kind, shorter.would_drop) == ("duplicate", "revisit", True)
    assert (longer.status, longer.would_drop) == ("update", False)


async def test_a_page_that_goes_back_to_an_earlier_text_is_an_update(newsroom: Newsroom) -> None:
    rest = text("storm", 200)
    told = []
    for at, dead in enumerate((4, 9, 4, 4)):
        body = f"Officials said {dead} people died in the storm.\n{rest}"
        told.append(await newsroom.publish("storm", "paper", 900 * at, url=PAGE, text=body))
    assert [each.status for each in told] == ["original", "update", "update", "duplicate"]
    assert [each.changes for each in told] == [(), ("dead: 4 -> 9",), ("dead: 9 -> 4",), ()]
    assert [each.would_drop for each in told] == [False, False, False, True]


async def test_a_page_whose_figure_is_told_in_other_words_is_kept(newsroom: Newsroom) -> None:
    """Another paper has its very text: the page is compared with its own earlier version."""
    rest = "\n".join(f"{text(('fire', n), 40)} {n + 20} tons of {text(('cargo', n), 1)}" for n in range(9))
    before = f"Officials said 4 people died in the storm.\n{rest}"
    after = f"The toll has risen to 12, rescuers confirmed.\n{rest}"
    await newsroom.publish("storm", "paper", 0, url=PAGE, text=before)
    await newsroom.publish("storm", "wire", 60, url=ELSEWHERE, text=after)
    decision, _ = await newsroom.detector.look(newsroom.article("storm", "paper", 120, url=PAGE, text=after))
    assert (decision.verdict.match_url, decision.verdict.would_drop) == (ELSEWHERE, False)
    assert decision.verdict.changes == ("dead: 4 -> 12",)


async def test_a_rate_decision_is_an_update_though_its_headline_has_the_new_rate(newsroom: Newsroom) -> None:
    """A decimal in a headline is no date: such headlines are not those of a column of two days."""
    for at, rate in enumerate(("3.5", "3.75")):
        body = f"{text('decision', 200)}\nThe bank raised its key interest rate to {rate} percent, said the governor."
        url = f"https://www.paper.example/bank-raises-rate-{at}"
        verdict = await judged(newsroom, body, f"Bank raises rate to {rate} percent", url, at)
    assert (verdict.status, verdict.changes) == ("update", ("raises rate: 3.5 percent -> 3.75 percent",))


@pytest.mark.parametrize("order", [("amp", "own"), ("own", "amp")])
async def test_the_page_s_own_url_is_kept_and_named_whichever_variant_came_first(order: tuple[str, str]) -> None:
    """While the variant is under way in the same run, nobody knows yet whether it will be stored."""
    urls = {"amp": "https://www.paper.example/amp/fire", "own": PAGE}
    verdicts = {}
    async with opened(store="memory://", action="drop", delivers_later=True) as room:
        for at, variant in enumerate(order):
            article = {"url": urls[variant], "canonical": PAGE, "title": "Fire in the harbour", "seen_at": START + at}
            verdicts[variant] = await room.detector.check(room.detector.document(text("fire", 300), **article))
    assert not verdicts["own"].would_drop
    assert verdicts["amp"].would_drop == (order == ("own", "amp"))
    second = verdicts[order[1]]
    assert (second.status, second.original_url, second.match_url) == ("duplicate", PAGE, PAGE)


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [(toll(3), toll(7), ("dead: 3 -> 7",)), (text("before"), text("after"), ())],
    ids=["another toll", "other words"],
)
async def test_a_changed_page_is_an_update_although_another_site_printed_its_new_text_first(
    newsroom: Newsroom, before: str, after: str, changes: tuple[str, ...]
) -> None:
    await newsroom.publish("fire", "paper", 0, url=PAGE, text=before)
    await newsroom.publish("fire", "wire", 60, url=ELSEWHERE, text=after)
    document = newsroom.article("fire", "paper", 120, url=PAGE, text=after)
    verdict = await newsroom.detector.check(document)
    assert (verdict.status, verdict.would_drop, verdict.match_url) == ("update", False, ELSEWHERE)
    assert verdict.changes == changes
    again = await newsroom.detector.check(document)
    assert (again.status, again.would_drop) == ("update", False)


async def test_one_text_under_unlike_titles_of_one_source_is_a_wall(newsroom: Newsroom) -> None:
    titles = "Fire destroys harbour", "Elections called early", "Fire under control"
    documents = [
        newsroom.detector.document(
            text("wall"), url=f"https://www.paper.example/{number}", title=f"{title} | The Paper"
        )
        for number, title in enumerate(titles)
    ]
    verdicts = [await newsroom.detector.check(each) for each in documents]
    assert [(each.status, each.reason, each.would_drop) for each in verdicts] == [
        ("original", None, False),
        *[("unchecked", "boilerplate", False)] * 2,
    ]
    assert await newsroom.detector.check(documents[2]) == verdicts[2]


async def test_another_site_with_the_text_of_a_wall_makes_no_copy_of_it(newsroom: Newsroom) -> None:
    titles = ("paper", "Fire destroys harbour"), ("paper", "Elections called early"), ("other", "Rail strike averted")
    for site, title in titles:
        await judged(newsroom, text("wall"), title, f"https://www.{site}.example/{len(title)}")
    verdict = await judged(newsroom, text("wall"), "Museum opens again", "https://www.other.example/9")
    assert (verdict.status, verdict.reason) == ("unchecked", "boilerplate")


@pytest.mark.parametrize(
    ("tolls", "status", "drops"), [((4, 12, 12), "update", False), ((12, 4, 12), "duplicate", True)]
)
async def test_a_copy_beside_a_wall_is_stored_as_it_is_judged(tolls: tuple[int, ...], status: str, drops: bool) -> None:
    """The text of the wall, which ranks first, has another toll than the copy of another site."""
    pages = ("other", "Fire destroys harbour"), ("paper", "Elections called early"), ("paper", "Fire destroys harbour")
    async with opened(store="memory://", action="drop", delivers_later=True) as room:
        for number, ((site, title), dead) in enumerate(zip(pages, tolls, strict=True)):
            body = f"{text('wall', 200)}\nToll: {dead} dead"
            document = room.detector.document(body, url=f"https://www.{site}.example/{number}", title=title)
            verdict = await room.detector.check(document)
        records = dict(await room.detector.index.documents.records())
    assert (verdict.status, verdict.would_drop) == (status, drops)
    assert records[bytes.fromhex(document.id)].is_dropped == drops


@pytest.mark.parametrize(
    ("place", "day", "status", "change"),
    [
        ("Skerrow", "понедельника", "duplicate", "Tarnfield -> Skerrow"),
        ("Tarnfield", "среды", "update", "word: понедельника -> среды"),
    ],
)
async def test_a_name_is_told_and_a_day_updates(
    newsroom: Newsroom, place: str, day: str, status: str, change: str
) -> None:
    said = "The old ferry to {} sank in the storm near the pier, with the word {} on its sail."
    await newsroom.publish("fire", "paper", 0, text=f"{text('fire', 200)}\n{said.format('Tarnfield', 'понедельника')}")
    document = newsroom.article("fire", "wire", 60, text=f"{text('fire', 200)}\n{said.format(place, day)}")
    verdict = await newsroom.detector.check(document)
    assert (verdict.status, verdict.changes, verdict.would_drop) == (status, (change,), False)


async def test_a_figure_of_a_title_that_a_preset_compares_makes_an_update() -> None:
    async with opened(store="memory://", preset="nrc") as room:
        for site, dead in (("paper", 4), ("other", 12)):
            title, url = f"Ferry sinks: {dead} dead", f"https://www.{site}.example/1"
            document = room.detector.document(text("fire", 200), url=url, title=title)
            verdict = await room.detector.check(document)
    assert (verdict.status, verdict.changes, verdict.would_drop) == ("update", ("dead: 4 -> 12",), False)


@pytest.mark.parametrize("keep_updates", [True, False])
async def test_a_text_that_holds_its_match_and_adds_a_sentence_is_extended(keep_updates: bool) -> None:
    """It is dropped only if the share that is held decides alone."""
    async with opened(store="memory://", keep_updates=keep_updates) as room:
        await room.publish("fire", "wire", 0, url=ELSEWHERE, text=text("fire", 300))
        verdict = await room.publish("fire", "paper", 60, url=PAGE, text=f"{text('fire', 300)}\n{text('more', 60)}")
    assert (verdict.kind, verdict.would_drop) == ("extended", not keep_updates)
    assert verdict.share == pytest.approx(300 / 360, abs=0.01)


@pytest.mark.parametrize("where", ["above", "below"])
async def test_a_copy_is_kept_for_a_sentence_that_its_match_lacks(newsroom: Newsroom, where: str) -> None:
    wire, own = text("fire", 2500), "The people said that the owner spoke of a petition to the council."
    await newsroom.publish("fire", "wire", 0, url=ELSEWHERE, text=wire)
    lines = (own, wire) if where == "above" else (wire, own)
    verdict = await newsroom.publish("fire", "paper", 60, url=PAGE, text="\n".join(lines))
    assert (verdict.status, verdict.would_drop) == ("duplicate", False)
    assert (verdict.share or 0) > 0.99


@pytest.mark.parametrize(
    ("title", "common", "is_copy"),
    [
        ("Fire destroys harbour", 140, True),
        ("Elections called early", 140, False),
        ("Elections called early", 300, True),  # nearly four fifths of both
    ],
)
async def test_two_sources_with_the_same_background_have_a_copy_if_their_titles_are_alike_or_most_is_common(
    newsroom: Newsroom, title: str, common: int, is_copy: bool
) -> None:
    background = text("background", common)
    for opening, site, headline in (("fire", "wire", "Fire destroys harbour"), ("reply", "paper", title)):
        body, url = f"{text(opening, 80)}\n{background}", f"https://www.{site}.example/{opening}"
        verdict = await judged(newsroom, body, headline, url)
    assert (verdict.status == "duplicate") is is_copy


@pytest.mark.parametrize(
    ("opening", "size", "quoted", "is_copy"),
    [("fire", 80, 80, True), ("reply", 80, 80, False), ("reply", 40, 160, True), ("reply", 300, 60, False)],
    ids=["one opening", "quotations", "nearly all", "a short one in a long one"],
)
async def test_two_sources_that_share_a_part_have_a_copy_if_most_is_common_or_the_opening(
    newsroom: Newsroom, opening: str, size: int, quoted: int, is_copy: bool
) -> None:
    quotations = text("quotations", quoted)
    before = f"{text('fire', 40)}\n{quotations}\n{text('wire', 40)}"
    await newsroom.publish("fire", "wire", 0, url=ELSEWHERE, text=before)
    after = f"{text(opening, 40)}\n{quotations}\n{text('paper', size - 40)}"
    verdict = await newsroom.publish("fire", "paper", 60, url=PAGE, text=after)
    assert (verdict.status == "duplicate") is is_copy


async def test_two_lists_of_one_source_are_strangers_if_each_title_names_its_own_place(newsroom: Newsroom) -> None:
    names = [f"Candidate{n} {word.title()}" for n, word in enumerate(text("names", 60).split())]
    for number, place in enumerate(("Northumbria", "Wearside")):
        body = f"The candidates who stand in {place} at the general election.\n{text('form', 150)}"
        body += "\n" + "\n".join(names[30 * number : 30 * number + 12])
        verdict = await judged(newsroom, body, f"Full list of {place} candidates", f"{PAGE}/{number}", 60 * number)
    assert verdict.status == "original"


async def test_one_article_under_two_titles_is_no_form_if_no_name_differs(newsroom: Newsroom) -> None:
    for number, title in enumerate(("Operators told to close gates", "Breaking: operators forced to close gates")):
        body = f"{text('gates', 20)} said Wearside {text('port', 100 + 30 * number)}"
        verdict = await judged(newsroom, body, title, f"{PAGE}/{number}", number)
    assert verdict.status == "duplicate"


NAMES = "Aldermoor Brandreth Calverley Dunstable Everleigh Fairweather Garroway Hollingbury Inchbold Jellicoe".split()


async def test_a_form_is_kept_whatever_name_changes_in_it() -> None:
    """The name is in the title and the text, or only in the text."""
    form = "Storm watch for {0} issued\n" + text("form", 60) + "\nThe service expects snow in {1} zones until noon. "
    async with opened(store="memory://", action="drop", run="") as room:
        verdicts = []
        for number, (one, other) in enumerate(itertools.permutations(NAMES, 2)):
            title, body = form.format(one, other).split("\n", 1)
            url = f"https://alerts.example/form-{number}"
            verdicts.append(await room.detector.check(room.detector.document(body, url=url, title=title)))
    assert not any(each.would_drop for each in verdicts)


@pytest.mark.parametrize(("language", "read"), [("de", "de"), ("DE", ""), ("d1", ""), ("\0\0", ""), ("é", "")])
async def test_a_language_is_two_small_letters_or_unknown(index: Index, language: str, read: str) -> None:
    await check(index, replace(ARTICLE, language=language))
    found = await check(index, ARTICLE.copy())
    assert found.pair.old.language_code == read
