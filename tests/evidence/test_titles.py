"""Titles as evidence: their terms, the dates they name, and what two documents of one source are told apart by."""

import pytest
from documents import Article, check

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.evidence.titles import pack_terms, title_overlap, title_terms
from scrapy_neardup.index import Index

pytestmark = pytest.mark.in_memory

SOURCE = "paper.example"


def overlap(one: str, other: str) -> float:
    return title_overlap(pack_terms(title_terms(one)), pack_terms(title_terms(other)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ferry runs aground", "FERRY RUNS AGROUND!", 1),
        ("Ferry runs aground off Skerrow", "Council raises harbour fees", 0),
        ("The council and the fees", "The ferry and the storm", 0),  # words without weight
        ("WHO warns of fever", "Fever: WHO warns", 1),
        ("Пропавшую актрису нашли", "Пропала актриса: нашли", 1),  # inflected forms are one term
        ("星稜の監督", "東京の天気予報", 0),
        ("火 Skerrow", "水 Skerrow", 1 / 2),  # a character that stands alone
        ("한국 대통령 방문", "한국 대통령 연설", 2 / 3),
        ("சபரிமலை கோவில் வழக்கு", "சபரிமலை கோவில் விழா", 2 / 3),  # marks do not cut words
        ("", "Council raises harbour fees", 1),  # a title that is missing tells nothing
    ],
)
def test_titles_overlap_by_their_words_of_weight(one: str, other: str, expected: float) -> None:
    assert overlap(one, other) == pytest.approx(expected)
    assert overlap(other, one) == overlap(one, other)


@pytest.mark.parametrize(
    ("headline", "equal", "is_copy"),
    [
        ("abcde", 76, True),  # some terms in common: a containment of 0.7
        ("abxyz", 60, False),
        ("vwxyz", 112, True),  # none: nine tenths of both
        ("vwxyz", 94, False),
        ("", 76, True),  # no title tells nothing
    ],
)
async def test_within_a_source_the_less_titles_agree_the_more_text_must(
    index: Index, headline: str, equal: int, is_copy: bool
) -> None:
    first = Article(headline="abcde", source=SOURCE, url="https://paper.example/1")
    second = first.copy(text="edited", like="wire", equal=equal, headline=headline, url="https://paper.example/2")
    await check(index, first)
    match = await check(index, second)
    assert (match is not None and not match.related) is is_copy
    elsewhere = await check(index, second.copy(text="again", source="else.example", url="https://else.example/1"))
    assert not elsewhere.related


async def test_a_few_words_under_another_headline_are_no_copy(index: Index) -> None:
    notice = Article("Video unavailable", short=True, headline="abc", source=SOURCE, url="https://paper.example/1")
    await check(index, notice)
    wall = await check(index, notice.copy(headline="xyz", url="https://paper.example/2"))
    assert wall.pair.is_wall
    assert await check(index, notice.copy(headline="xyz", url="https://e.example/2", source="e.example")) is not None


@pytest.mark.parametrize(
    ("changes", "is_same_page"),
    [
        ({"headline": "abxyz"}, True),  # the title has something in common
        ({"headline": "vwxyz", "like": "wire", "equal": 70}, True),  # the text has
        ({"headline": "abxyz", "language": "de"}, False),  # a translation
        ({"headline": "vwxyz"}, False),
        ({"headline": "abcde", "source": "else.example"}, False),
        ({"headline": "abcde", "number": "8"}, False),
    ],
)
async def test_an_article_number_names_a_page(index: Index, changes: dict[str, object], is_same_page: bool) -> None:
    first = Article(headline="abcde", number="7", language="en", source=SOURCE, url="https://paper.example/old-7")
    await check(index, first)
    match = await check(index, first.copy(**{"text": "rewritten", "url": "https://paper.example/new-7", **changes}))
    assert (match is not None and match.pair.same_page) is is_same_page


QUAKE = (
    "An earthquake shook the island of Skerrow on Monday evening and was felt as far away as the mainland. {dead} "
    "people died when houses in the old harbour collapsed, the governor said. Rescuers are looking for others in the "
    "rubble. The quake had a magnitude of 6.1 and lasted for 40 seconds, according to the geological survey."
)


async def judge(detector: NearDupDetector, path: str, title: str, text: str, language: str = "en") -> Verdict:
    url = f"https://www.paper.example/{path}"
    return await detector.check(detector.document(text, url=url, title=title, seen_at=1.7e9, language=language))


async def test_an_article_that_changes_its_slug_is_an_update_or_a_revisit(detector: NearDupDetector) -> None:
    await judge(detector, "news/quake-shakes-skerrow-1234567.html", "Quake shakes Skerrow", QUAKE.format(dead=4))
    same = await judge(detector, "world/skerrow-quake-1234567.html", "Skerrow quake", QUAKE.format(dead=4))
    rewritten = (
        "The governor of Skerrow has ordered three days of mourning and promised help to all who lost their homes. "
    )
    changed = await judge(detector, "world/after-the-quake-1234567.html", "After the Skerrow quake", rewritten * 2)
    assert (same.status, same.kind) == ("duplicate", "revisit")
    first = "https://www.paper.example/news/quake-shakes-skerrow-1234567.html"
    assert (changed.status, changed.original_url) == ("update", first)


async def test_a_figure_that_changed_is_an_update_under_a_new_headline_too(detector: NearDupDetector) -> None:
    await judge(detector, "a", "Quake on Skerrow kills 4", QUAKE.format(dead=4))
    verdict = await judge(detector, "b", "Skerrow quake: 12 dead", QUAKE.format(dead=12))
    assert (verdict.status, verdict.would_drop) == ("update", False)
    assert any("4 -> 12" in change for change in verdict.changes)
