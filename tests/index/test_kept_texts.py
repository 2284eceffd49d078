"""Every store: a text is kept as long as the record of each document that has it, once, and read for a second look."""

import logging
import random

import pytest
from conftest import OpenIndex
from documents import DAY, HOUR, MINUTE, Article, check, checked, overwrite, stored
from long_form import some
from newsdesk import opened
from redis import Redis

from scrapy_neardup.index import Index, Policy
from scrapy_neardup.index.batch import CheckedDocument
from scrapy_neardup.index.store import Call, answers
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.records.documents import StoredText, pack_text

ARTICLE = Article("The ferry ran aground.", title="Ferry aground", source="wire.example")
KEPT = StoredText("Ferry aground", ARTICLE.prose)
EDITED = Article("The ferry ran aground off Skerrow.", like=ARTICLE.text, equal=120, source="other.example")


async def kept(index: Index) -> list[bytes]:
    """Return the keys of the documents that hold a text."""
    return sorted(key for fields in (await stored(index, "texts")).values() for key in fields)


async def text_of(index: Index, article: Article) -> StoredText | None:
    """Return the text of a document, by its record."""
    (record,) = (await index.documents.records_of([bytes.fromhex(article.id)])).values()
    return await index.documents.text_of(record)


def keys(*articles: Article) -> list[bytes]:
    return sorted(bytes.fromhex(each.id) for each in articles)


@pytest.mark.every_store
async def test_a_text_is_kept_with_its_record(index: Index) -> None:
    first, other = ARTICLE.copy(), EDITED.copy(at=MINUTE)
    for article in (first, other):
        await check(index, article)
    assert await text_of(index, first) == KEPT
    assert await text_of(index, other) == ("", EDITED.prose, False)
    assert (await index.summary()).texts == 2


async def test_an_equal_text_is_kept_once_while_its_holder_is_young(index: Index) -> None:
    first, young, old = (ARTICLE.copy(at=at) for at in (0, 3 * HOUR, 3 * HOUR + MINUTE))
    for article in (first, young, old):
        await check(index, article)
    assert await kept(index) == keys(first, old)
    assert [await text_of(index, each) for each in (first, young, old)] == [KEPT] * 3


async def test_equal_texts_that_come_together_are_kept_once(index: Index) -> None:
    articles = [ARTICLE.copy(at=at) for at in range(3)]
    await index.documents.check([(each.fingerprint, each.document) for each in articles])
    assert await kept(index) == keys(articles[0])
    assert await text_of(index, articles[2]) == KEPT


async def test_a_text_lives_as_long_as_the_last_record_that_names_it(index: Index) -> None:
    first, copy = ARTICLE.copy(), ARTICLE.copy(at=3 * HOUR)
    for article in (first, copy, *(Article(f"a day on {number}", at=DAY + 2 * HOUR) for number in range(2))):
        await check(index, article)
    assert not await index.documents.records_of(keys(first))
    assert await text_of(index, copy) == KEPT
    for number in range(2):
        await check(index, Article(f"later {number}", at=DAY + 5 * HOUR))
    assert (await index.summary()).texts == (await index.summary()).documents == 4


async def test_redis_forgets_a_text_with_the_last_record_that_names_it(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis
) -> None:
    index = await open_index(redis_url)
    first, copy = ARTICLE.copy(), ARTICLE.copy(at=3 * HOUR)

    def seconds_left(name: str) -> int:
        return int(redis_keys.ttl(name))

    await check(index, first)
    texts, (key, later) = index.layout.texts(*keys(first)), keys(first, copy)
    assert 0 < seconds_left(texts) <= seconds_left(index.layout.records(key)) <= DAY + HOUR
    await check(index, copy)
    assert abs(seconds_left(texts) - seconds_left(index.layout.records(later))) <= 1


async def test_the_setting_says_whether_texts_are_kept(store_url: str, namespace: str) -> None:
    for keep_texts in (False, True):
        async with opened(store=store_url, namespace=f"{namespace}-{keep_texts}", keep_texts=keep_texts) as room:
            await room.publish("fire", "paper", 0)
            texts = await stored(room.detector.index, "texts")
            assert bool(texts) is keep_texts


@pytest.mark.parametrize("seed", some(range(8), 1))
async def test_the_judge_has_the_same_texts_whatever_came_together(open_index: OpenIndex, seed: int) -> None:
    draw = random.Random(seed)
    articles = [
        Article(
            f"story {family}, {equal}",
            like=f"story {family}",
            equal=equal,
            at=at,
            source=f"paper{draw.randrange(4)}.example",
            url=f"https://paper.example/{draw.randrange(9)}",
            topic="ABCDefgh"[draw.randrange(3) :],
        )
        for at, (family, equal) in enumerate((draw.randrange(3), draw.randrange(50, 129)) for _ in range(60))
    ]
    found = []
    for size in (1, 7, 60):
        index = await open_index("memory://", Policy(drops=True))
        decisions = []
        for first in range(0, len(articles), size):
            batch = [(each.fingerprint, each.document) for each in articles[first : first + size]]
            decisions += [
                each.decision for each in await index.documents.check(batch) if isinstance(each, CheckedDocument)
            ]
        pairs = [each.match.pair if each.match else None for each in decisions]
        found.append([pair and (pair.key, pair.new_text, pair.old_text, pair.kept_text) for pair in pairs])

    assert len(found[0]) == len(articles)
    assert found[0] == found[1] == found[2]
    assert sum(bool(each and each[2]) for each in found[0]) > 20


async def test_a_look_reads_texts_too(index: Index) -> None:
    await check(index, ARTICLE.copy())
    decision, _ = await index.documents.look(EDITED.fingerprint, EDITED.document)
    assert decision.match.pair.old_text == KEPT


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "of another text", "a bomb"])
async def test_a_text_that_is_missing_or_damaged_is_none(
    index: Index, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    article = ARTICLE.copy()
    await check(index, article)
    key = bytes.fromhex(article.id)
    packed = pack_text(StoredText.of(*KEPT[:2]))
    damaged = {
        "empty": b"",
        "cut": packed[:-1],
        "of another text": packed[:5] + pack_text(StoredText.of("Ferry aground", "The ferry ran ashore."))[5:],
        "a bomb": pack_text(StoredText.of("", "x" * 20_000))[:-1] + packed,
    }
    if damage == "missing":
        removed = Call("HDEL", index.layout.texts(key), (key,))
        await index.store.ask(lambda client: answers(client, [removed]))
    else:
        await overwrite(index, index.layout.texts(key), {key: damaged[damage]})

    found = [await check(index, EDITED.copy(at=at)) for at in (1, 2)]

    for match in found:
        assert match is not None
    assert (found[0].original, found[0].pair.old_text) == (article.id, None)
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == (damage != "missing")


async def test_a_purge_removes_texts(index: Index) -> None:
    first, other = ARTICLE.copy(), Article("Another text", at=1, source="other.example")
    for article in (first, other, ARTICLE.copy(at=2, source="copy.example")):
        await checked(index, article.fingerprint, article.document)
    ((_, record),) = (each for each in await index.documents.records() if each[0].hex() == first.id)
    assert await index.purge(Selection("wire.example", record.source_hash, is_named=lambda _: False)) == 2
    assert await kept(index) == keys(other)
    await index.purge(Selection())
    assert await stored(index, "texts") == {}
