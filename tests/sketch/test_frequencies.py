"""Document frequencies: learned from documents as they come, added up in a store, bounded, and what is old fades."""

import asyncio

import numpy as np
from conftest import OpenIndex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from long_form import tries
from texts import START, article, opened

from scrapy_neardup.index import Index
from scrapy_neardup.records.learned import MOST_DOCUMENTS, NOTHING, Frequencies, add_counts, pack_counts, unpack_counts


def features(*slots: int) -> np.ndarray:
    return np.array(slots, np.uint32) << np.uint32(16)


def counted(documents: int, counts: dict[int, int]) -> bytes:
    array = np.zeros(1 << 16, np.uint32)
    array[list(counts)] = list(counts.values())
    return pack_counts(documents, array)


async def test_all_counts_are_halved_at_the_most_documents(index: Index) -> None:
    await index.learned.add_frequencies("terms", counted(MOST_DOCUMENTS - 1, {1: 30_000, 2: 7}))
    documents, counts = unpack_counts(await index.learned.add_frequencies("terms", counted(1, {2: 2})))
    assert (documents, counts[1], counts[2]) == (MOST_DOCUMENTS // 2, 15_000, 4)


async def test_a_count_stops_at_its_highest(index: Index) -> None:
    for _ in range(3):
        total = await index.learned.add_frequencies("terms", counted(1, {5: 60_000}))
    assert unpack_counts(total)[1][5] == 0xFFFF


async def test_additions_at_the_same_moment_are_all_counted(open_index: OpenIndex, shared_url: str) -> None:
    several = [await open_index(shared_url) for _ in range(8)]
    additions = [(index, counted(1, {1: 1, number: 1})) for index in several for number in range(2, 7)]
    await asyncio.gather(*(index.learned.add_frequencies("terms", addition) for index, addition in additions))
    documents, counts = unpack_counts(await several[0].learned.add_frequencies("terms", NOTHING))
    assert documents == counts[1] == len(additions)
    assert [*counts[2:7]] == [len(several)] * 5


@settings(max_examples=tries(25), suppress_health_check=list(HealthCheck))
@given(
    batches=st.lists(
        st.tuples(
            st.integers(0, 20_000), st.dictionaries(st.integers(0, 0xFFFF), st.integers(1, 40_000), max_size=600)
        ),
        max_size=5,
    )
)
async def test_a_store_sums_as_the_rules_say(index: Index, batches: list[tuple[int, dict[int, int]]]) -> None:
    total = await index.learned.add_frequencies("terms", counted(0, {}))
    for documents, counts in batches:
        batch = counted(documents, counts)
        total, expected = await index.learned.add_frequencies("terms", batch), add_counts(total, batch)
        assert total == expected


def test_what_a_store_could_not_be_told_is_not_lost() -> None:
    frequencies = Frequencies()
    frequencies.learn(features(1, 2))
    taken = frequencies.take_pending()
    frequencies.learn(features(2, 3))
    frequencies.give_back(taken)
    assert frequencies.pending == 2
    assert add_counts(b"", frequencies.take_pending()) == counted(2, {1: 1, 2: 2, 3: 1})


def test_memory_stays_as_it_is_and_counts_fade() -> None:
    frequencies = Frequencies()
    for _ in range(MOST_DOCUMENTS + 10):
        frequencies.learn(features(1))
    assert frequencies.documents < MOST_DOCUMENTS
    left = MOST_DOCUMENTS // 2 + 10
    assert add_counts(b"", frequencies.take_pending()) == counted(left, {1: left})


def test_rare_features_weigh_more() -> None:
    frequencies = Frequencies()
    for number in range(200):
        frequencies.learn(features(1, 1000 + number))
    common, rare, unseen = frequencies.weights(features(1, 1000, 5))
    assert common < rare < unseen


async def test_processes_learn_from_each_other(shared_url: str, namespace: str) -> None:
    async with opened("simhash", shared_url, namespace) as one:
        for number in range(70):
            await one.check(one.document(article(number, 60), seen_at=START))
    async with opened("simhash", shared_url, namespace) as other:
        assert other.sketcher.all_frequencies["features"].documents == 70


async def test_a_story_is_learned_from_once(namespace: str) -> None:
    async with opened("simhash", "memory://", namespace) as detector:
        for number in range(10):
            await detector.check(detector.document(article("wire"), seen_at=START + number))
        assert detector.sketcher.all_frequencies["features"].documents == 1
