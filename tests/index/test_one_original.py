"""Every store: of documents alike exactly one is the original, whoever asks and however many ask at once."""

import asyncio

import pytest
from conftest import OpenIndex
from documents import START, Article, check
from texts import article, opened

from scrapy_neardup import NearDupDetector, detector
from scrapy_neardup.index import RECORD_VERSIONS, Index, postings
from scrapy_neardup.index.store import Call, answers
from scrapy_neardup.index.upkeep import Selection


@pytest.mark.every_store
async def test_near_copies_at_once_have_exactly_one_original(index: Index) -> None:
    copies = [Article(f"edit {number}", like="wire", equal=110) for number in range(20)]
    matches = await asyncio.gather(*(check(index, copy) for copy in copies))
    assert matches.count(None) == 1


@pytest.mark.every_store
async def test_documents_meet_over_crowded_shards_and_those_beside_them(
    open_index: OpenIndex, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "_MOST_A_SHARD", 0)
    indexes = [await open_index(shared_url) for _ in range(2)]
    early, late = Article("early"), Article("late", at=1)
    assert await check(indexes[0], early) is None
    matches = await asyncio.gather(*(check(index, each.copy()) for index in indexes * 10 for each in (early, late)))
    assert matches.count(None) == 1
    own = [each.name for each in indexes[0].layout.generations(START) if 0 <= START - each.start < each.seconds]
    calls = [Call("HGET", name, ("version",)) for name in own]
    assert all(await indexes[0].store.ask(lambda client: answers(client, calls)))
    monkeypatch.undo()
    assert await check(await open_index(shared_url), late.copy()) is not None


@pytest.mark.parametrize("what", ["namespace", "config"])
async def test_two_namespaces_and_two_configurations_never_meet(open_store: OpenIndex, what: str) -> None:
    index = await open_store()
    other = await (open_store(namespace="-2") if what == "namespace" else open_store(config="00000002"))
    await check(index, Article())
    assert await check(other, Article()) is None
    assert ((await index.summary()).documents, (await other.summary()).documents) == (1, 1)


NEXT = tuple(version + 1 for version in RECORD_VERSIONS)
FIRE = article("fire")


async def statuses(checker: NearDupDetector, *urls: str) -> list[str]:
    return [(await checker.check(checker.document(FIRE, url=url))).status for url in urls]


async def test_two_versions_never_read_each_others_records(
    shared_url: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window of a new version begins empty, that of the old one goes on, and a purge removes both."""
    async with opened("news", shared_url, namespace) as old:
        monkeypatch.setattr(detector, "RECORD_VERSIONS", NEXT)
        async with opened("news", shared_url, namespace) as new:
            assert await statuses(old, "https://a.example/", "https://b.example/") == ["original", "duplicate"]
            assert await statuses(new, "https://a.example/", "https://b.example/") == ["original", "duplicate"]
            assert await statuses(old, "https://c.example/") == ["duplicate"]
            olds, news = await old.index.summary(), await new.index.summary()
            assert (olds.documents, news.documents) == (3, 2)
            assert olds.config in " ".join(news.other_configs)
            assert news.config in " ".join(olds.other_configs)
            assert await new.index.purge(Selection()) == 5
            assert (await old.index.summary()).documents == 0


@pytest.mark.every_store
async def test_every_store_knows_its_other_namespaces(shared_url: str, namespace: str) -> None:
    async with opened("news", shared_url, namespace) as checker:
        await statuses(checker, "https://a.example/")
    async with opened("news", shared_url, f"{namespace}-mistyped") as mistyped:
        assert namespace in (await mistyped.index.summary()).namespaces
