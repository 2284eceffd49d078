"""Keys with our names that are of another type, and damaged stories: named, and nobody else's loss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE, START, Article, check
from redis import Redis

from scrapy_neardup.document import Claim, Join, KnownBoilerplate, Member
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.horizon import GENERATION


@pytest.fixture
def keys(redis_url: str) -> Iterator[Redis]:
    with closing(Redis.from_url(redis_url)) as client:
        yield client


def _member(article: Article) -> Member:
    return Member(article.id, "https://wire.example/a", "A title", "wire.example", "wire", "duplicate")


@pytest.mark.parametrize("kind", ["records", "bands"])
async def test_a_window_goes_on_beside_a_key_of_another_type(
    open_index: OpenIndex,
    redis_url: str,
    keys: Redis,
    namespace: str,
    caplog: pytest.LogCaptureFixture,
    kind: str,
) -> None:
    number = START // (HOUR if kind == "records" else GENERATION)
    name = f"{{neardup:{namespace}:{CONFIG}}}:{kind}:{number}"
    keys.set(name, "somebody else's")
    indexes = [await open_index(redis_url) for _ in range(2)]

    article = Article()
    assert await check(indexes[0], article) is None
    for index, at in zip(indexes, (MINUTE, HOUR), strict=True):
        match = await check(index, article.copy(at=at))
        assert match is not None
        assert match.original == article.id
    summary = await indexes[0].summary()

    assert keys.get(name) == b"somebody else's"
    assert f"{name} is of another type, but must be a hash: delete this key (DEL)" in caplog.text
    assert any(name in warning for warning in summary.warnings)


async def test_stories_go_on_beside_keys_of_another_type(
    open_index: OpenIndex, redis_url: str, keys: Redis, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    prefix = f"{{neardup:{namespace}:{CONFIG}}}"
    for kind in ("stories", "events", "ended", "grants"):
        keys.set(f"{prefix}:{kind}", "somebody else's")
    index = await open_index(redis_url)
    original, copy = Article(), Article(at=MINUTE)

    assert (await index.join(Join(_member(original), _member(copy)))).items == 2
    assert await index.claim(Claim(original.id, "watch", token="t")) is not None
    with pytest.raises(
        StoreError, match=r":events is of another type, but must be a zset: delete this key \(DEL\)"
    ) as raised:
        await index.open_events()

    assert not isinstance(raised.value, StoreUnavailable)
    assert caplog.text.count(f"{prefix}:stories is of another type") == 1


async def test_boilerplate_is_learned_beside_a_key_of_another_type(
    open_index: OpenIndex, redis_url: str, keys: Redis, namespace: str
) -> None:
    source, learned = b"site", KnownBoilerplate((b"line",), (b"document",))
    name = f"{{neardup:{namespace}:{CONFIG}}}:learned:lines:{source.hex()}"
    keys.set(name, "somebody else's")
    index = await open_index(redis_url)

    await index.exchange_boilerplate({source: learned})
    assert await index.exchange_boilerplate({source: KnownBoilerplate()}) == {source: learned}
    assert keys.get(name) == b"somebody else's"


@pytest.mark.parametrize("damage", [{"joined": "many"}, {"sources": "odd"}, {"levels": "-5"}])
async def test_a_damaged_story_is_nobody_elses_loss(
    open_index: OpenIndex, redis_url: str, keys: Redis, namespace: str, damage: dict[str, str]
) -> None:
    index = await open_index(redis_url)
    stories = [(Article(f"story {number}"), Article(f"copy {number}", at=MINUTE)) for number in range(2)]
    for original, copy in stories:
        await index.join(Join(_member(original), _member(copy)))
        await index.claim(Claim(original.id, "watch"))
    (damaged, _), (other, _) = stories
    keys.hset(f"{{neardup:{namespace}:{CONFIG}}}:story:{damaged.id}", mapping=damage)

    with pytest.raises(StoreError) as raised:
        await index.join(Join(_member(damaged), _member(Article("late", at=HOUR))))
    joined = await index.join(Join(_member(other), _member(Article("later", at=HOUR))))

    assert not isinstance(raised.value, StoreUnavailable)
    assert joined.items == 3
    assert [story.id for story in await index.open_events()] == [other.id]
