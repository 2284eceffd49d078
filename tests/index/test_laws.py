"""Laws that hold for every sequence of documents. That stores agree is told by test_window_model.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from conftest import CONFIG
from documents import DAY, HOUR, LANES, Article, ScriptedJudge, check
from hypothesis import given, settings
from hypothesis import strategies as st
from long_form import tries

from scrapy_neardup.index import Index, Policy, index_from_url
from scrapy_neardup.rules.match import Match

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


@asynccontextmanager
async def _opened(url: str, namespace: str, policy: Policy) -> AsyncIterator[Index]:
    index = index_from_url(url, namespace=namespace, config=CONFIG, judge=ScriptedJudge(policy), timeout=5)
    await index.open()
    try:
        yield index
    finally:
        await index.close()


async def _answers(url: str, namespace: str, policy: Policy, articles: list[Article]) -> list[Match | None]:
    async with _opened(url, namespace, policy) as index:
        return [await check(index, article) for article in articles]


@settings(max_examples=tries(100))
@given(articles=_articles(late=0))
def test_of_identical_documents_in_a_window_exactly_one_is_first(articles: list[Article]) -> None:
    # A few words under two headlines of one source are two documents. A page that was dropped is judged again if its
    # signature has changed since.
    articles = [replace(article, headline="", short=False) for article in articles]
    matches = asyncio.run(_answers("memory://", "laws", Policy(), articles))
    for number, (article, match) in enumerate(zip(articles, matches, strict=True)):
        earlier = [each for each in articles[:number] if each.text == article.text and article.at - each.at <= DAY]
        assert (match is not None and match.pair.same_text) is bool(earlier)


@settings(max_examples=tries(100))
@given(articles=_articles(late=60 * HOUR))
def test_an_original_is_never_a_duplicate_of_another(articles: list[Article]) -> None:
    matches = asyncio.run(_answers("memory://", "laws", Policy(), articles))
    by_id = dict(zip((article.id for article in articles), matches, strict=True))
    for match in filter(None, matches):
        answer = by_id[match.original]
        assert answer is None or answer.related or answer.pair.is_wall, "a wall is an original of its own"
