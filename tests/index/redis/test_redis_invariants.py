"""What holds of a Redis at any time: keys that expire, few connections, nothing that is evaluated."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE, START, Article, check
from fleet import Fleet, open_client
from joins import joined
from redis import Redis

from scrapy_neardup.contracts import KnownBoilerplate
from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Claim, Join, Member
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import GENERATION
from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:
    from servers import RedisServer

PACKAGE = Path(__file__).parents[3] / "scrapy_neardup"
TEXT = "The {0} over the river was closed on Monday after engineers had found cracks in two of its {1} piers. " * 3
NOW = 1_700_000_000


async def _mixed_run(url: str, namespace: str, documents: int) -> list[str]:
    """Originals, copies, stories that become events and end, over two days."""
    settings = NearDupSettings(store=url, namespace=namespace)
    detector = NearDupDetector(settings)
    await detector.open()
    statuses = []
    for start in range(0, documents, 40):
        batch = [
            detector.document(
                TEXT.format(f"bridge{number // 40}", number // 20),
                url=f"https://paper-{number % 37}.example/{number}",
                seen_at=NOW + number * 48 * 3600 / documents,
            )
            for number in range(start, start + 40)
        ]
        statuses += [verdict.status for verdict in await asyncio.gather(*map(detector.check, batch))]
    await detector.finish()
    assert {event.level for event in detector.take_events()} >= {"breaking", "ended"}
    await detector.close()
    return statuses


@pytest.mark.parametrize("kind", ["redis", "cluster"])
async def test_every_key_expires_and_is_of_the_namespace(fleet: Fleet, namespace: str, kind: str) -> None:
    client = open_client(fleet.url(kind))
    before = set(client.scan_iter())

    statuses = await _mixed_run(fleet.url(kind), namespace, 400)

    keys = set(client.scan_iter()) - before
    assert {"original", "duplicate"} <= set(statuses)
    assert {name.decode().partition("}:")[2].partition(":")[0] for name in keys} >= {"records", "bands", "story"}
    assert [name for name in keys if not name.startswith(f"{{neardup:{namespace}:".encode())] == []
    assert [name for name in keys if client.ttl(name) < 0] == []
    assert client.dbsize() <= len(before) + len(keys)
    client.close()


async def _most_connections(server: RedisServer, work: asyncio.Future[Any]) -> int:
    """Return how many connections of the name ``crawler`` a server has at most while work goes on."""
    seen = []
    with server.client() as client:
        while not work.done():
            await asyncio.wait([work], timeout=0.02)
            seen.append(_connections(client))
    return max(seen)


def _connections(client: Redis) -> int:
    return sum(each["name"] == "crawler" for each in client.client_list())


@pytest.mark.slow
async def test_a_process_under_load_has_at_most_four_connections(redis_server: RedisServer) -> None:
    settings = NearDupSettings(store=f"{redis_server.url}?client_name=crawler")
    detector = NearDupDetector(settings)
    await detector.open()
    documents = [
        detector.document(
            TEXT.format(f"bridge{number % 100}", number % 7), url=f"https://p{number % 50}.example/{number}"
        )
        for number in range(500)
    ]
    work = [asyncio.create_task(detector.check(each)) for each in documents]
    work += [asyncio.create_task(detector.current_events()) for _ in range(20)]  # type: ignore[arg-type]

    assert 1 < await _most_connections(redis_server, asyncio.gather(*work)) <= 4
    await asyncio.gather(*work)
    await detector.close()
    with redis_server.client() as client:
        assert _connections(client) == 0


def test_nothing_is_ever_unpickled_or_evaluated() -> None:
    forbidden = re.compile(
        r"\b(?:pickle|cPickle|marshal|shelve|dill|jsonpickle|loadstring|cjson|cmsgpack)\b|\beval\(|\bexec\("
    )
    found = [
        f"{path.relative_to(PACKAGE)}: {match[0]}"
        for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.lua")])
        for match in forbidden.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.fixture
def keys(redis_url: str) -> Iterator[Redis]:
    with closing(Redis.from_url(redis_url)) as client:
        yield client


# Keys with our names that are of another type


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
