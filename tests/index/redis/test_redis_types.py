"""Keys with our names that are of another type, and damaged stories: named, and nobody else's loss."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE, START, Article, check
from joins import joined
from redis import Redis

from scrapy_neardup.contracts import KnownBoilerplate
from scrapy_neardup.document import Claim, Join, Member
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import GENERATION


@pytest.fixture
def keys(redis_url: str) -> Iterator[Redis]:
    with closing(Redis.from_url(redis_url)) as client:
        yield client


def _member(article: Article) -> Member:
    return Member(article.id, "https://wire.example/a", "A title", "wire.example", "wire", "duplicate")


def _others_key(keys: Redis, namespace: str, kind: str) -> str:
    name = f"{{neardup:{namespace}:{CONFIG}}}:{kind}"
    keys.set(name, "somebody else's")
    return name


KINDS = [
    f"records:{START // HOUR}",
    f"bands:{START // GENERATION}",
    "stories",
    "events",
    "grants",
    f"learned:lines:{b'site'.hex()}",
]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_of_another_type_is_one_clear_error_and_is_not_touched(
    open_index: OpenIndex, redis_url: str, keys: Redis, namespace: str, kind: str
) -> None:
    name = _others_key(keys, namespace, kind)
    index = await open_index(redis_url)
    original, copy = Article(), Article(at=MINUTE)

    async def use_all() -> None:
        await check(index, original)
        await joined(index, Join(_member(original), _member(copy)))
        await index.claim(Claim(original.id, "watch", token="t"))
        await index.open_events()
        await index.exchange_boilerplate({b"site": KnownBoilerplate((b"line",), (b"document",))})

    with pytest.raises(StoreError, match=f"^{re.escape(name)} is of another type than .*delete this key") as raised:
        await use_all()

    assert not isinstance(raised.value, StoreUnavailable)
    assert keys.get(name) == b"somebody else's"
