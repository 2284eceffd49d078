"""What holds of a Redis at any time: keys that expire, few connections, nothing that is evaluated."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documents import START, Article, check
from fleet import Fleet, open_client
from news_site import NewsSite
from projects import ITEM_A_PAGE, Project
from redis import Redis

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.settings import NearDupSettings

if TYPE_CHECKING:
    from conftest import OpenIndex
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


async def test_what_left_the_window_is_freed_however_many_hours_come_at_once(
    redis_server: RedisServer, namespace: str
) -> None:
    detector = NearDupDetector(NearDupSettings(store=redis_server.url, namespace=namespace))
    await detector.open()
    hours = range(60)
    documents = [detector.document(f"{TEXT} {hour}" * 2, seen_at=NOW + 3600 * hour) for hour in hours]
    await detector.check_in_order(documents)
    await detector.close()

    names = [name.decode() for name in open_client(redis_server.url).scan_iter(f"{{neardup:{namespace}:*:records:*")]
    kept = {int(name.rpartition(":")[2]) - NOW // 3600 for name in names}
    assert kept == set(range(34, 60))  # two documents agree on what is over


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


@pytest.mark.slow
async def test_a_crawl_has_at_most_four_connections(redis_server: RedisServer, tmp_path: Path) -> None:
    project = Project(tmp_path)
    page = "<html><body><article><h1>{0}</h1><p>" + TEXT + "</p></article></body></html>"
    with NewsSite() as site:
        urls = [site.publish(f"/{number}", page.format(f"bridge{number // 4}", number % 4)) for number in range(60)]
        settings = {
            "NEARDUP_STORE": f"{redis_server.url}?client_name=crawler",
            "NEARDUP_EVENTS_STREAM": "neardup:events",
        }
        project.prepare(ITEM_A_PAGE, settings)
        crawl = project.start("crawl", "news", "-a", f"urls={' '.join(urls)}")
        finished = asyncio.create_task(asyncio.to_thread(crawl.communicate, timeout=60))

        assert 1 <= await _most_connections(redis_server, finished) <= 4
        await finished


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


async def test_shards_are_as_many_as_the_hours_before_call_for(
    open_index: OpenIndex, redis_server: RedisServer
) -> None:
    """Of an empty window a guess, then 16 postings a shard; what is in shards of one size is found from another."""
    index = await open_index(redis_server.url)
    generation = 1 << 16
    begin = -START % generation  # a generation's first second
    articles = [Article(f"story {number}", at=begin + number) for number in range(400)]
    await asyncio.gather(*(check(index, article) for article in articles))

    copies = [article.copy(at=begin + generation) for article in articles]
    found = await asyncio.gather(*(check(index, copy) for copy in copies))

    assert [match.original for match in found if match] == [article.id for article in articles]
    with redis_server.client() as client:
        names = sorted(client.scan_iter(match="*:bands:*"))
        assert [client.hget(name, "bits") for name in names] == [b"18", b"16"]
