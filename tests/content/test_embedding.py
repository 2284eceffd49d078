"""NEARDUP_EMBEDDER: vectors come from the user's own model, and a model that fails costs no verdict."""

import asyncio
import itertools
import logging

import pytest
from embedders import DIMENSIONS
from newsdesk import START, Newsroom, opened, report, text

from scrapy_neardup import NearDupDetector, NearDupSettings, SettingsError
from scrapy_neardup.content.embedding import PAUSE, Embedding
from scrapy_neardup.evidence.vectors import BLOCK, FEWEST

NAMES = "Aldermoor Brandreth Calverley Dunstable Everleigh"
MODEL = "embedders.Model"


async def learn(room: Newsroom, count: int = FEWEST) -> None:
    for number in range(count):
        await publish(room, f"Other{number}", report(f"Name{number} Place{number}", number))


async def publish(room: Newsroom, title: str, body: str, language: str = "") -> str:
    document = room.detector.document(
        body, url=f"https://{title.lower()}.example/", title=title, seen_at=START, language=language
    )
    return (await room.detector.check(document)).status


async def vectors(room: Newsroom) -> list[int]:
    """Return how many bytes the vector of each document has, in the order in which they came."""
    return [len(record.vector) for _, record in sorted(await room.detector.index.documents.records())]


async def test_another_run_knows_the_means_from_its_first_document_on(shared_url: str, namespace: str) -> None:
    settings = {"store": shared_url, "namespace": namespace, "embedder": MODEL}
    async with opened(**settings) as room:
        await learn(room, BLOCK)
    async with opened(**settings, run="next") as room:
        await publish(room, "Ferry", report(NAMES, "ferry"))
        found = await vectors(room)
        assert (found.count(0), {*found}) == (FEWEST, {0, DIMENSIONS})


async def test_means_of_documents_without_a_source_are_shared_meanwhile(shared_url: str, namespace: str) -> None:
    settings = {"store": shared_url, "namespace": namespace, "embedder": MODEL}
    async with opened(**settings) as room, opened(**settings, run="next") as other:
        for number in range(BLOCK):
            body = report(f"Name{number} Place{number}", number)
            await room.detector.check(room.detector.document(body, title=f"Other{number}", language="en"))
        document = other.detector.document(report(NAMES, "ferry"), title="Ferry", language="en")
        verdict = await other.detector.check(document)
        records = {record.original.hex(): record for _, record in await other.detector.index.documents.records()}
        assert records[verdict.id].vector


async def test_models_of_two_versions_never_meet(shared_url: str, namespace: str) -> None:
    found = []
    for embedder in (MODEL, "embedders.NewerModel", MODEL, None):
        async with opened(store=shared_url, namespace=namespace, embedder=embedder, run=str(len(found))) as room:
            found.append(await publish(room, "Ferry", text("ferry")))
    assert found == ["original", "original", "duplicate", "original"]


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("Fail", "ConnectionError: the service is away"),
        ("Wrong", r"must return one row of 2 to 4096 numbers"),
        ("Hang", r"did not answer within 0.5 s"),
        ("End", "ended with exit status 3"),
    ],
)
async def test_a_failing_model_costs_no_verdict_and_is_told_once(
    title: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(store="memory://", embedder=MODEL) as room:
        assert room.detector.embedding is not None
        embedding = room.detector.embedding = Embedding(MODEL, 0.5)
        with caplog.at_level(logging.WARNING):
            assert await publish(room, title, text("ferry")) == "original"
            assert await publish(room, f"{title} again", text("ferry")) == "duplicate"
        embedding.worker.close()
    (message,) = [each.getMessage() for each in caplog.records if "NEARDUP_EMBEDDER" in each.getMessage()]
    assert why.replace(r"\.", ".") in message
    assert embedding.failures == 2


def test_a_model_may_take_more_memory_than_a_page() -> None:
    resource = pytest.importorskip("resource")
    embedding = Embedding("embedders.LimitOfMemory", 10.0)
    embedding.worker.close()
    assert embedding.identity.endswith(f" {resource.getrlimit(resource.RLIMIT_DATA)}")


async def test_after_a_pause_a_model_that_was_late_is_asked_again() -> None:
    ticks = itertools.count()
    embedding = Embedding(MODEL, 0.5, clock=lambda: next(ticks))
    assert await embedding.vector("Hang") == b""
    first, *_, last = [await embedding.vector("Ferry") for _ in range(2 * PAUSE)]
    assert first == b""
    assert len(last) == 2 * DIMENSIONS
    embedding.worker.close()


async def test_vectors_of_a_worker_with_another_version_are_refused() -> None:
    ticks = itertools.count()
    embedding = Embedding("embedders.Restarted", 10.0, clock=lambda: next(ticks))
    assert await embedding.vector("Ferry") != b""
    assert await embedding.vector("End") == b""
    assert [await embedding.vector("Crane") for _ in range(2 * PAUSE)] == [b""] * (2 * PAUSE)
    embedding.worker.close()


async def test_a_text_that_was_embedded_is_not_sent_again() -> None:
    embedding = Embedding(MODEL, 10.0)
    first = await embedding.vector("Ferry")
    embedding.worker.close()
    assert await embedding.vector("Ferry") == first != b""


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("embedders.nothing", "has no attribute 'nothing'"),
        ("no_such_module.embed", "No module named 'no_such_module'"),
        ("embedders.broken", "RuntimeError: no model file"),
        ("embedders.DIMENSIONS", "must be the import path"),
    ],
)
def test_an_embedder_that_does_not_work_stops_the_start(path: str, why: str) -> None:
    with pytest.raises(SettingsError, match="NEARDUP_EMBEDDER") as raised:
        NearDupDetector(NearDupSettings(store="memory://", embedder=path))
    assert why in str(raised.value)


async def test_checks_keep_the_order_of_their_calls() -> None:
    async with opened(store="memory://", embedder=MODEL) as room:
        documents = [
            room.detector.document(text("ferry"), url=f"https://s{number}.example/", title=f"T{number}", seen_at=START)
            for number in range(40)
        ]
        verdicts = await asyncio.gather(*map(room.detector.check, documents))
        assert [each.status for each in verdicts] == ["original"] + ["duplicate"] * 39
        assert {each.original for each in verdicts[1:]} == {documents[0].id}
