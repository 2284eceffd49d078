"""Whatever happens to a Redis: no item waits long, none is a false duplicate, and the store is found again."""

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CONFIG, OpenIndex
from documents import HOUR, MINUTE, START, Article, check, joined, members_in
from faults import FAULTS, LOST, Clock, Network, detector_on
from fleet import Fleet, open_client
from newsdesk import opened, text
from redis import Redis
from servers import RedisServer

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Verdict
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index.layout import GENERATION
from scrapy_neardup.records.learned import LearnedEntries
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.story import Claim, Join, Story
from scrapy_neardup.tools.ask import Ask

TIMEOUT = 3.0  # seconds: enough for a busy machine


async def recovered(detector: NearDupDetector, clock: Clock, text: str) -> Verdict:
    """The first verdict after the store is back; each try is the next one the breaker allows."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        clock.now += 60
        if (verdict := await detector.check(detector.document(text))) != LOST:
            return verdict
        await asyncio.sleep(0.02)
    raise TimeoutError("the store was not found again within 20 s")


@pytest.fixture
def network(redis_server: RedisServer) -> Iterator[Network]:
    network = Network(redis_server.port)
    yield network
    network.flow()
    network.cut()


@pytest.mark.versions
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_lost_store_costs_verdicts_and_nothing_else(
    fault: str, redis_server: RedisServer, network: Network, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    lose, mend, remembers = FAULTS[fault]
    detector = await detector_on(network.url, clock, TIMEOUT)
    assert [await _status(detector, text(number)) for number in range(5)] == ["original"] * 5

    lose(redis_server, network)
    verdicts = await asyncio.gather(*(detector.check(detector.document(text(n % 50))) for n in range(200)))
    verdicts += [await detector.check(detector.document(text(n))) for n in range(200)]

    assert set(verdicts) == {LOST}
    assert [record.message.split(";")[0] for record in caplog.records] == ["The store is lost"]

    mend(redis_server, network)
    known = await recovered(detector, clock, text(0))
    new = [await _status(detector, text(("new", number))) for number in range(20)]
    copies = [await _status(detector, text(("new", number))) for number in range(20)]

    assert known.status == ("duplicate" if remembers else "original")
    assert (new, copies) == (["original"] * 20, ["duplicate"] * 20)
    assert len(caplog.records) == 2
    assert "The store is back" in caplog.records[1].message
    await detector.close()


async def _status(detector: object, words: str) -> str:
    return (await detector.check(detector.document(words))).status  # type: ignore[attr-defined, no-any-return]


_to_pause: list[RedisServer] = []
_asked: list[str] = []


def pauses_the_server(story: Story, time: float, breaking_over: int) -> str:
    """A rule of events that is asked between a join and its claim."""
    _asked.append(story.id)
    while _to_pause:
        _to_pause.pop().pause()
    return "breaking"


async def test_a_store_that_hangs_before_a_claim_is_waited_for_once(redis_server: RedisServer) -> None:
    settings = NearDupSettings(
        store=redis_server.url, store_timeout=TIMEOUT, event_rule=f"{__name__}.pauses_the_server"
    )
    detector = NearDupDetector(settings)
    await detector.open()
    _to_pause.append(redis_server)
    _asked.clear()
    verdicts = await detector.check_in_order([detector.document(text("fire")) for _ in range(16)])
    assert detector.breaker.is_open
    redis_server.resume()
    assert len(_asked) == 1
    assert [verdict.status for verdict in verdicts] == ["original"] + ["duplicate"] * 15
    await detector.close()


@pytest.mark.parametrize(("right", "warnings"), [("+info", 1), ("-info", 0)])
async def test_the_log_warns_once_of_a_server_that_evicts(
    open_index: OpenIndex, redis_server: RedisServer, caplog: pytest.LogCaptureFixture, right: str, warnings: int
) -> None:
    redis_server.execute("CONFIG", "SET", "maxmemory", "100mb")
    redis_server.execute("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    redis_server.execute("ACL", "SETUSER", "default", right)
    index = await open_index(redis_server.url)
    await index.open()
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
    assert caplog.text.count("Use noeviction") == warnings


@pytest.mark.parametrize("answers", range(0, 10, 2))
async def test_a_copy_is_registered_with_its_story_or_not_at_all(
    redis_server: RedisServer, namespace: str, answers: int
) -> None:
    """The store goes away after so many answers to the crawler that judges the copy."""
    network = Network(redis_server.port)
    async with opened(store=redis_server.url, namespace=namespace) as room:
        original = await room.publish("fire", "wire", 0)
        async with opened(store=network.url, namespace=namespace) as other:
            network.lose_answers(99, after=answers)
            await other.publish("fire", "copier", MINUTE)
            network.lose_answers(0)
        registered = len(await room.detector.index.documents.records()) == 2
        members = await members_in(room.detector.index, original.story or "")
    assert [each.source for each in members] == (["wire.example", "copier.example"] if registered else [])


PACKAGE = Path(__file__).parents[3] / "scrapy_neardup"
TEXT = "The {0} over the river was closed on Monday after engineers had found cracks in some of its {1} piers. " * 3
NOW = 1_700_000_000


async def _mixed_run(url: str, namespace: str, documents: int) -> list[str]:
    """Originals, copies, stories that become events and end."""
    detector = NearDupDetector(NearDupSettings(store=url, namespace=namespace))
    await detector.open()
    statuses = []
    for start in range(0, documents, 40):
        batch = [
            detector.document(
                TEXT.format(f"bridge{number // 40}", number // 20),
                url=f"https://paper-{number % 37}.example/{number}",
                seen_at=NOW + number * 432,
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
    statuses = await _mixed_run(fleet.url(kind), namespace, 160)
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


@pytest.mark.versions
@pytest.mark.slow
async def test_a_process_under_load_has_at_most_four_connections(redis_server: RedisServer) -> None:
    detector = NearDupDetector(NearDupSettings(store=f"{redis_server.url}?client_name=crawler"))
    await detector.open()
    documents = [
        detector.document(
            TEXT.format(f"bridge{number % 100}", number % 7), url=f"https://p{number % 50}.example/{number}"
        )
        for number in range(200)
    ]
    work = [asyncio.create_task(detector.check(each)) for each in documents]
    work += [asyncio.create_task(Ask(detector).events()) for _ in range(20)]  # type: ignore[arg-type]
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


KINDS = [f"records:{START // HOUR}", f"bands:{START // GENERATION}", "events", "outbox", f"learned:{b'site'.hex()}"]


@pytest.mark.versions
@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_of_another_type_is_one_clear_error_and_is_not_touched(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis, namespace: str, kind: str
) -> None:
    name = f"{{neardup:{namespace}:{CONFIG}}}:{kind}"
    redis_keys.set(name, "somebody else's")
    index = await open_index(redis_url)
    original, copy = Article(), Article(at=MINUTE)

    async def use_all() -> None:
        await check(index, original)
        await joined(index, Join(original.member, copy.member))
        await index.events.claim(Claim(original.id, "watch", token="t"))
        await index.events.running()
        await index.learned.exchange_boilerplate({b"site": LearnedEntries((b"line",), (b"document",))})

    with pytest.raises(StoreError, match=f"^{re.escape(name)} is of another type than .*delete this key") as raised:
        await use_all()
    assert not isinstance(raised.value, StoreUnavailable)
    assert redis_keys.get(name) == b"somebody else's"


PATIENCE = 10.0


async def crawl(store: str) -> NearDupDetector:
    detector = NearDupDetector(NearDupSettings(store=store, store_timeout=PATIENCE, action="drop"), delivers_later=True)
    await detector.open()
    return detector


def page(detector: NearDupDetector, story: object, source: object) -> Document:
    return detector.document(text(story, 40), url=f"https://{source}.example/{story}", title=f"News of {story}")


@pytest.mark.slow
async def test_a_server_that_evicts_keys_costs_no_item_and_makes_no_false_duplicate(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 600_000)
        detector, verdicts = await crawl(redis_server.url), Counter[str]()
        printed = set[object]()
        for number in range(400):
            story = number // 2 if number % 4 else number // 4  # half of them new, the others of any age
            document = page(detector, story, f"paper{number}")
            verdict = await detector.check(document)
            verdicts[verdict.status] += 1
            if verdict.would_drop:
                assert verdict.match_url.rpartition("/")[2] == str(story)
                assert story in printed
            else:
                detector.delivery.deliver([document.id])
                printed.add(story)
        assert client.info("stats")["evicted_keys"] > 0
    assert verdicts["duplicate"] > 0
    assert verdicts["original"] > len(printed), "the server has removed what was known"
    await detector.close()
