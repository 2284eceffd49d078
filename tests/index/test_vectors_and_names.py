"""Vectors decide between reports whose topics or names are alike."""

import pytest
from conftest import OpenIndex
from documents import MINUTE, Article, check, policy_with, story_of, topic

from scrapy_neardup.evidence.topic import topic_score
from scrapy_neardup.index import Index

pytestmark = pytest.mark.in_memory

NEAR, FAR, OPPOSITE = (100, 100, 0, 0), (0, 0, 100, 100), (-100, -100, 0, 0)


@pytest.mark.parametrize(
    ("vector", "more", "joins"),
    [
        (NEAR, 0.1, True),
        (FAR, 0.1, False),
        ((), 0.1, False),
        (FAR, 0.0, False),
        ((), 0.0, True),
        (OPPOSITE, -0.1, False),
    ],
)
async def test_vectors_raise_and_lower_the_score_of_topics(
    open_store: OpenIndex, vector: tuple[int, ...], more: float, joins: bool
) -> None:
    one, other = "ABcdefgh", "ABcdeuvw"
    index = await open_store(policy_with(topic_threshold=topic_score(topic(one), topic(other)) + more))
    await check(index, Article("wire", topic=one, vector=NEAR))
    match = await check(index, Article("own report", topic=other, vector=vector))
    assert (match is not None) is joins


@pytest.mark.parametrize(
    ("names", "vector", "joins"),
    [
        ("abef", NEAR, True),
        ("abef", FAR, False),
        ("abef", (), False),
        ("aefg", NEAR, True),
        ("efgh", NEAR, False),
        ("abcd", (), True),  # without vectors, names alone
        ("abcd", FAR, False),
    ],
)
@pytest.mark.parametrize("language", ["en", "de"])
async def test_common_names_and_like_vectors_join_two_languages(
    index: Index, names: str, vector: tuple[int, ...], joins: bool, language: str
) -> None:
    await check(index, Article("wire", language="en", topic="ABcdefgh", names="abcd", vector=NEAR))
    match = await check(index, Article("report", language=language, topic="IJklmnop", names=names, vector=vector))
    assert (match is not None) is (joins and language == "de")


@pytest.mark.every_store
@pytest.mark.parametrize(
    ("parameters", "joins"), [({}, "own foreign"), ({"vector_middle": 0.9}, "foreign"), ({"vector_bar": 1.3}, "own")]
)
async def test_presets_say_how_much_vectors_count(
    open_store: OpenIndex, parameters: dict[str, float], joins: str
) -> None:
    one, other = "ABcdefgh", "ABcdeuvw"
    least = topic_score(topic(one), topic(other)) + 0.1
    index = await open_store(policy_with(topic_threshold=least, **parameters))
    await check(index, Article("wire", language="en", topic=one, names="abcd", vector=NEAR))
    own = Article("own", language="en", topic=other, vector=NEAR)
    foreign = Article("foreign", language="de", topic="IJklmnop", names="abef", vector=NEAR)
    assert [each.text for each in (own, foreign) if await check(index, each)] == joins.split()


@pytest.mark.parametrize(
    ("vector", "language", "joins"), [(NEAR, "en", True), (FAR, "en", False), ((), "en", False), (NEAR, "de", False)]
)
async def test_two_common_terms_of_one_language_are_enough_if_vectors_are_alike(
    index: Index, vector: tuple[int, ...], language: str, joins: bool
) -> None:
    await check(index, Article("wire", topic="ABcdefgh", language="en", vector=NEAR))
    match = await check(index, Article("own report", topic="ABstuvwx", language=language, vector=vector))
    assert (match is not None) is joins


# Vectors of two events, and one with a cosine of 0.7 with both. Somebody writes many members that mean both.
ONE, OTHER = (60, 60, 60, 60, -60, -60, -60, -60), (-60, 60, -60, 60, -60, 60, -60, 60)
BETWEEN = tuple(map(sum, zip(ONE, OTHER, strict=True)))


@pytest.mark.every_store
@pytest.mark.parametrize(("words", "unites"), [("UVWXYZ01", False), ("UVWXYZ0A", True)])
async def test_members_that_mean_the_same_unite_no_stories_whose_first_documents_differ(
    open_store: OpenIndex, words: str, unites: bool
) -> None:
    index = await open_store(policy_with(topic_threshold=0.05))
    first = Article("wire", topic="ABCDEFgh", vector=ONE)
    second = Article("other wire", topic=words, vector=OTHER, at=MINUTE)
    pages = [Article(f"near one {each}", topic=f"ABCDEFU{each}", vector=BETWEEN, at=2 * MINUTE) for each in "mno"]
    pages += [Article(f"near other {each}", topic=f"UVWXYZA{each}", vector=BETWEEN, at=3 * MINUTE) for each in "pqr"]
    joined = [await check(index, each) for each in (first, second, *pages)]
    assert [match and match.story for match in joined] == [None, None, *[first.id] * 3, *[second.id] * 3]
    found = await story_of(index, Article("one more", topic="ABCDEUVWXs", vector=BETWEEN, at=4 * MINUTE))
    assert found == (first.id, second.id if unites else None)


@pytest.mark.parametrize(("words", "joins"), [("UVWXYZ01", False), ("UVWXYZ0A", True)])
async def test_a_document_must_resemble_the_first_one_of_the_story_whatever_its_members_mean(
    open_store: OpenIndex, words: str, joins: bool
) -> None:
    index = await open_store(policy_with(topic_threshold=0.05))
    await check(index, Article("wire", topic="ABCDEFgh", vector=ONE))
    assert await check(index, Article("between", topic="ABCDEUVWXY", vector=BETWEEN)) is not None
    assert (await check(index, Article("other wire", topic=words, vector=OTHER)) is not None) is joins


async def test_a_copy_without_a_vector_takes_that_of_its_match(index: Index) -> None:
    await check(index, Article("wire", vector=NEAR))
    await check(index, Article("copy", like="wire", equal=110))
    (first, _), (second, _) = [(record.vector, key) for key, record in await index.documents.records()]
    assert first == second == bytes(each % 256 for each in NEAR)
