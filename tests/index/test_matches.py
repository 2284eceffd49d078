"""What counts as a match: measures, thresholds, precedence, and laws for every sequence of documents."""

import asyncio
import itertools
from dataclasses import replace
from typing import Literal

import pytest
from conftest import CONFIG, OpenIndex
from documents import DAY, HOUR, LANES, Article, ScriptedJudge, check, decision_on, policy_with
from hypothesis import given, settings
from hypothesis import strategies as st
from long_form import tries

from scrapy_neardup.evidence.likeness import share_of
from scrapy_neardup.index import Index, Policy, index_from_url
from scrapy_neardup.rules.match import Match

pytestmark = pytest.mark.in_memory


def estimate(equal: int) -> float:
    """Resemblance of two signatures with so many equal lanes: what is equal by chance, one in 128, is taken off."""
    return (equal / LANES - 1 / 128) / (1 - 1 / 128)


def _at(equal: int, size: int = 300, other: int = 300) -> float:
    return share_of(estimate(equal), *sorted((size, other)))


@pytest.mark.parametrize(
    ("measure", "threshold", "related_threshold"),
    [("resemblance", estimate(64), estimate(32)), ("containment", _at(64), _at(32)), ("larger", _at(64), _at(32))],
)
@pytest.mark.parametrize(("equal", "answer"), [(64, "copy"), (63, "related"), (32, "related"), (31, "none")])
async def test_thresholds_are_reached_at_their_very_value(
    open_index: OpenIndex,
    store_url: str,
    measure: Literal["containment", "resemblance", "larger"],
    threshold: float,
    related_threshold: float,
    equal: int,
    answer: str,
) -> None:
    policy = policy_with(threshold=threshold, related_threshold=related_threshold, measure=measure)
    index = await open_index(store_url, policy)
    await check(index, Article())
    match = await check(index, Article("other", like="wire", equal=equal))
    assert ("none" if match is None else "related" if match.related else "copy") == answer


PAGE = "https://page.example/p"
PRECEDENCE = {
    "the page itself unchanged": Article("wire", url=PAGE),
    "the same text elsewhere": Article("wire", url="https://elsewhere.example/"),
    "the page itself changed": Article("another text", url=PAGE),
    "a copy": Article("a copy", like="wire", equal=120),
    "a looser copy": Article("a looser copy", like="wire", equal=100),
    "a related one": Article("a related one", like="wire", equal=30, topic="ABCdefgh"),
    "one of the same topic": Article("another report", topic="ABCdefxy"),
    "one of much the same topic": Article("one more report", topic="ABCghuvw"),
}


@pytest.mark.parametrize(("better", "worse"), list(itertools.pairwise(PRECEDENCE)))
@pytest.mark.parametrize("better_is_first", [True, False])
async def test_precedence(open_store: OpenIndex, better: str, worse: str, better_is_first: bool) -> None:
    index = await open_store()
    order = (better, worse) if better_is_first else (worse, better)
    # Further apart than documents that come together, whose common url proves nothing.
    articles = {name: PRECEDENCE[name].copy(at=number * HOUR) for number, name in enumerate(order)}
    for name in order:
        await check(index, articles[name])
    match = await check(index, Article("wire", url=PAGE, topic="ABCdefgh", at=3 * HOUR))
    assert match.id == articles[better].id


async def test_of_equal_candidates_the_oldest_matches(index: Index) -> None:
    articles = [Article(at=at) for at in (500, 100, 300)]
    for article in articles:
        await check(index, article)
    match = await check(index, Article(at=600))
    assert match.id == articles[1].id


async def test_a_page_that_came_before_is_known_though_its_new_text_is_that_of_another_page(index: Index) -> None:
    """Else it would count as one more item of its story."""
    one, two = ("https://one.example/1", "one.example"), ("https://two.example/2", "two.example")
    first, copy = Article("report", 0, *one), Article("report", 1, *two)
    corrected, again = (
        Article("report, corrected", at, *page, like="report", equal=120) for at, page in ((2, one), (3, two))
    )
    decisions = [await decision_on(index, article) for article in (first, copy, corrected, again)]
    found = [(each.match.id, each.join.earlier_of_page if each.join else "") for each in decisions if each.match]
    assert found == [(first.id, ""), (first.id, first.id), (corrected.id, copy.id)]


@pytest.mark.parametrize(("printed", "is_copy"), [("4 5 9", True), ("4 5 6", False)])
async def test_three_other_figures_are_another_report_of_one_source(index: Index, printed: str, is_copy: bool) -> None:
    report = Article("report", source="one.example", headline="abcde", figures="1 2 9")
    later = Article("later", 1, source="one.example", like="report", equal=120, headline="abcde", figures=printed)
    await check(index, report)
    match = await check(index, later)
    copy = await check(index, later.copy(at=2))
    assert (match is not None and not match.related) is is_copy
    assert copy.original == (report.id if is_copy else later.id)  # as the store has registered the later one


Printed = tuple[str, str, str, str]
PRINTED: list[Printed] = [
    # terms of the title, figures, article number, language
    ("", "", "", ""),
    ("abcde", "4 12 300 7 8", "1", "en"),
    ("abcdx", "5 12 300 7 8", "1", "en"),
    ("axyz", "1 2 3", "1", "de"),
    ("vwxyz", "11 22 33 7 8", "", "en"),
    ("ab", "4 120000 5.25 3-1", "2", ""),
]


def _articles(late: int) -> st.SearchStrategy[list[Article]]:
    """Sequences of a few texts and their edits. ``late``: by how many seconds a document may come after its time."""
    step = st.tuples(
        st.sampled_from("abc"),  # base text
        st.sampled_from([LANES, LANES, 120, 100, 60, 43, 30, 20]),  # lanes it keeps
        st.sampled_from([300, 300, 90]),  # size
        st.sampled_from(["", "", "https://one.example/1", "https://two.example/2"]),
        st.booleans(),  # too short to have a signature
        st.one_of(st.integers(0, HOUR), st.integers(0, 20 * HOUR)),  # since the one before
        st.one_of(st.just(0), st.integers(0, late)) if late else st.just(0),
        st.sampled_from(["", "ABCdefgh", "ABCdefxy", "ABxyz", "abcdeijklmno", "Ijklmn"]),
        st.sampled_from(PRINTED),
    )

    def articles(steps: list[tuple[str, int, int, str, bool, int, int, str, Printed]]) -> list[Article]:
        clock, made = 0, []
        for number, (base, equal, size, url, short, passed, delay, topic, printed) in enumerate(steps):
            clock = min(clock + passed, 60 * HOUR)
            text = base if equal == LANES else f"{base}{number}"
            source = url.removeprefix("https://")[:3] if url else "wir"
            made.append(
                Article(
                    *(text, max(0, clock - delay), url, source, f"title {number}"),
                    like=base,
                    equal=equal,
                    size=size,
                    short=short,
                    topic="" if short else topic,
                    headline=printed[0],
                    figures=printed[1],
                    number=printed[2],
                    language=printed[3],
                    serial=number,
                )
            )
        return made

    return st.lists(step, min_size=2, max_size=14).map(articles)


async def _answers(articles: list[Article]) -> list[Match | None]:
    index = index_from_url("memory://", namespace="laws", config=CONFIG, judge=ScriptedJudge(Policy()), timeout=5)
    await index.open()
    matches = [await check(index, article) for article in articles]
    await index.close()
    return matches


@settings(max_examples=tries(100))
@given(articles=_articles(late=0))
def test_of_identical_documents_in_a_window_exactly_one_is_first(articles: list[Article]) -> None:
    # A few words under two headlines of one source are two documents. A page that was dropped is judged again if its
    # signature has changed since.
    articles = [replace(article, headline="", short=False) for article in articles]
    matches = asyncio.run(_answers(articles))
    for number, (article, match) in enumerate(zip(articles, matches, strict=True)):
        earlier = [each for each in articles[:number] if each.text == article.text and article.at - each.at <= DAY]
        assert (match is not None and match.pair.same_text) is bool(earlier)


@settings(max_examples=tries(100))
@given(articles=_articles(late=60 * HOUR))
def test_an_original_is_never_a_duplicate_of_another(articles: list[Article]) -> None:
    matches = asyncio.run(_answers(articles))
    by_id = dict(zip((article.id for article in articles), matches, strict=True))
    for match in filter(None, matches):
        answer = by_id[match.original]
        assert answer is None or answer.related or answer.pair.is_wall, "a wall is an original of its own"
