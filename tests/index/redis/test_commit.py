"""Whoever reads, decides and commits overlooks nothing that others do meanwhile, and nothing is counted twice."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest
from conftest import OpenIndex
from documents import FIRST, HOUR, MINUTE, Article, beginning, check, join, joined, joining, members_in
from news_site import article as text
from redis import Redis

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.index import Index
from scrapy_neardup.index.batch import CheckedDocument
from scrapy_neardup.index.redis.store import RedisClient
from scrapy_neardup.index.store import Call, Commit
from scrapy_neardup.records.documents import DELIVERED, WITHDRAWN
from scrapy_neardup.records.learned import NOTHING, SLOTS, LearnedEntries, pack_counts, unpack_counts
from scrapy_neardup.rules.match import Match
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.story import Claim, Extent

OTHER = beginning("other", 20)
Step = Callable[[], Awaitable[object]]


class Interruptions:
    """Lets somebody else in before each of the first commits of an index, or loses the answers of its commits."""

    def __init__(self, client: RedisClient, steps: Sequence[Step], loses_answers: int) -> None:
        self.steps, self.lost = list(steps), loses_answers
        self.answers: list[object] = []  # of commits
        self._send = client.send

    @property
    def written(self) -> list[bool]:
        return [answer == 1 for answer in self.answers]

    async def send(self, calls: Sequence[Call | Commit]) -> list[object]:
        commits = [number for number, call in enumerate(calls) if isinstance(call, Commit)]
        if commits and self.steps:
            await self.steps.pop(0)()
        answers = await self._send(calls)
        if commits and self.lost:  # as redis-py, which sends a command again if the connection broke before the answer
            self.lost -= 1
            answers = await self._send(calls)
        self.answers += [answers[number] for number in commits]
        return answers


Interrupt = Callable[..., Interruptions]


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    """Interrupts the commits of an index, and of no other."""
    monkeypatch.setattr("scrapy_neardup.index.layout._PAUSE", 0.0)
    monkeypatch.setattr("scrapy_neardup.index.runs.BEAT_SECONDS", 0.05)

    def start(index: Index, *steps: Step, loses_answers: int = 0) -> Interruptions:
        made = Interruptions(index.store.client, steps, loses_answers)
        monkeypatch.setattr(index.store.client, "send", made.send)
        return made

    return start


async def together(index: Index, *articles: Article) -> list[Match | None]:
    """Check documents in one batch."""
    answers = await index.documents.check([(each.fingerprint, each.document) for each in articles])
    return [answer.decision.match for answer in answers if isinstance(answer, CheckedDocument)]


@pytest.mark.parametrize("hours", [0, 20])
async def test_a_copy_that_others_register_before_the_commit_is_seen(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt, hours: int
) -> None:
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    first = Article(at=HOUR)
    interruptions = interrupt(ours, lambda: check(theirs, first))
    match = await check(ours, first.copy(at=HOUR + hours * HOUR))
    assert match.original == first.id
    assert interruptions.written == [False, True]


async def test_a_copy_is_seen_whichever_bits_of_its_keys_name_no_shard(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    """In a window that was empty 15 bits name a shard: the last bit of the second byte of a key does not."""
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    await together(ours, Article("known"))
    first = next(each for each in (Article(f"{n}", short=True) for n in range(99)) if is_odd(each))
    interruptions = interrupt(ours, lambda: check(theirs, first))
    match = await check(ours, first.copy())
    assert match.original == first.id
    assert interruptions.written == [False, True]


def is_odd(article: Article) -> bool:
    (key,) = article.fingerprint.identity_keys
    return bool(key & 1 << 16)


async def test_each_of_several_documents_sees_what_others_register(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    """The first of them has no key in common with the other's document, and is registered; the second has."""
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    await together(ours, Article("known"))
    copied = Article("copied")
    interruptions = interrupt(ours, lambda: check(theirs, copied))
    found = await together(ours, Article("a"), Article("b"), copied.copy(), Article("c"), copied.copy())
    assert [match and match.original for match in found] == [None, None, copied.id, None, copied.id]
    assert interruptions.answers == [1, 1, 0, 1, 0, 1, 1]


async def test_many_checks_whose_commits_always_come_too_late_are_tried_in_smaller_groups(
    open_index: OpenIndex, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody registers another copy each time that more than two of them are under way."""
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    copied, copies = Article("copied"), 0
    client = ours.store.client
    send = client.send

    async def send_late(calls: Sequence[Call | Commit]) -> list[object]:
        nonlocal copies
        if sum(isinstance(call, Commit) for call in calls) > 2:
            copies += 1
            await check(theirs, copied.copy())
        return await send(calls)

    monkeypatch.setattr(client, "send", send_late)

    found = await together(ours, *(copied.copy() for _ in range(16)))

    assert 0 < copies < 16  # it does not go on until each of them was first once
    assert len({match.original for match in found if match}) == 1
    assert sum(match is None for match in found) == 0


async def test_a_commit_whose_answer_was_lost_counts_once(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    index = await open_index(redis_url)
    interrupt(index, loses_answers=99)
    first, copy = Article(), Article()
    assert await check(index, first) is None
    match = await check(index, copy)
    assert match.original == first.id
    assert (await index.summary()).documents == 2


async def test_a_copy_of_a_document_that_has_to_be_tried_again_is_tried_again_too(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    ours, theirs = [await open_index(redis_url) for _ in range(2)]
    await together(ours, Article("known"))
    first, page = Article("copied"), Article("copied", url="https://a.example/1")
    interruptions = interrupt(ours, lambda: check(theirs, first))
    found = await together(ours, page, page, page.copy())
    assert [match and match.original for match in found] == [first.id] * 3
    assert len({each for each in interruptions.answers if each != 0}) == 1


# Stories, runs, and what is learned


@pytest.mark.parametrize("change", ["join", "claim", "unite", "vanish"])
@pytest.mark.parametrize("step", ["join", "claim", "unite"])
async def test_a_story_that_others_change_is_read_again(
    open_index: OpenIndex, redis_url: str, redis_keys: Redis, step: str, change: str, interrupt: Interrupt
) -> None:
    other = await open_index(redis_url)
    await joined(other, join("a", MINUTE, "a.example"))
    await joined(other, joining(OTHER, "b", MINUTE, "b.example"))

    async def changed() -> None:
        if change == "join":
            await joined(other, join("c", MINUTE, "c.example"))
        elif change == "claim":
            assert await other.events.claim(Claim(FIRST.id, "watch", extent=Extent(2, 2)))
        elif change == "unite":
            await other.stories.unite(FIRST.id, beginning("third", 30))
        else:
            redis_keys.delete(f"{other.layout.prefix}:story:{FIRST.id}")

    index = await open_index(redis_url)
    interruptions = interrupt(index, changed)
    gone = change == "vanish"
    before = 3 if change in ("join", "unite") else 2
    if step == "join":
        story = await joined(index, join("d", MINUTE, "d.example"))
        assert story.items == before + 1 - gone  # it begins with its first document again
        titles = {each.title for each in await members_in(index, FIRST.id)}
        assert titles >= ({"first", "c", "d"} if change == "join" else {"first", "d"})
    elif step == "claim":
        granted = await index.events.claim(Claim(FIRST.id, "watch", extent=Extent(2, 2), token="0" * 16))
        assert (granted is None) == (change == "claim" or gone)
        assert granted is None or len(granted.members) == before
    else:
        story = await index.stories.unite(FIRST.id, OTHER)
        assert story.items == before + 2 - (2 if gone else 0)
        assert OTHER.id in story.united
    assert interruptions.written == ([False] if step == "claim" and (change == "claim" or gone) else [False, True])
    kept = await index.events.running()
    assert [each.levels for each in kept] == (
        [("watch",)] if change == "claim" or (step == "claim" and not gone) else []
    )


async def test_a_swap_whose_answer_was_lost_counts_once(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    index = await open_index(redis_url)
    interruptions = interrupt(index, loses_answers=99)
    joins = [join(str(number), MINUTE, f"{number}.example") for number in range(5)]
    assert (await joined(index, *joins)).items == 6
    united = await index.stories.unite(FIRST.id, OTHER)
    claim = Claim(FIRST.id, "breaking", extent=united.extent, token="0" * 16)
    granted = await index.events.claim(claim)
    assert (united.items, united.joined) == (7, 7)
    assert granted is not None
    assert granted == await index.events.claim(claim)
    assert interruptions.written == [False] * (len(joins) + 2)


async def test_a_delivery_is_repeated_if_others_change_what_it_reads(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    index, other = await open_index(redis_url), await open_index(redis_url)
    index.partition.run = 1
    await index.runs.beat()
    article = Article()
    await check(index, article)
    interruptions = interrupt(index, lambda: other.runs.settle([article.id], WITHDRAWN))
    await index.runs.settle([article.id], DELIVERED)
    assert await index.documents.records() == [], "a record that was removed stays removed"
    assert interruptions.written == [False]


@pytest.mark.parametrize(("match_is_there", "status"), [(True, "duplicate"), (False, "original")])
async def test_a_copy_counts_as_its_match_although_that_was_delivered_and_its_crawl_ended_during_the_check(
    redis_url: str, namespace: str, interrupt: Interrupt, match_is_there: bool, status: str
) -> None:
    """If the match is gone too, nobody knows that it was delivered, so the text is kept once more."""
    settings = NearDupSettings(store=redis_url, namespace=namespace, action="drop")
    first, second, later = (NearDupDetector(settings, delivers_later=True) for _ in range(3))
    await first.open()
    original, copy = (first.document(text("a"), url=f"https://wire.example/{page}") for page in "ab")
    await first.check(original)
    await second.open()

    async def end() -> None:
        first.delivery.deliver([original.id])
        await first.close()

    interrupt(second.index, end)
    assert (await second.check(copy)).would_drop
    await second.close()
    key = bytes.fromhex(original.id)
    await later.open()
    if not match_is_there:
        await later.index.store.ask(lambda client: client.send([Call("HDEL", later.index.layout.records(key), (key,))]))

    assert (await later.check(later.document(text("a"), url=copy.url))).status == status
    await later.close()


async def test_what_was_learned_is_added_once_if_its_answer_was_lost(
    open_index: OpenIndex, redis_url: str, interrupt: Interrupt
) -> None:
    index = await open_index(redis_url)
    interrupt(index, loses_answers=99)
    counted = pack_counts(3, np.bincount([7], minlength=SLOTS).astype(np.uint32))
    learned = LearnedEntries((b"line",), (b"document",))
    assert unpack_counts(await index.learned.add_frequencies("x", counted))[0] == 3
    assert unpack_counts(await index.learned.add_frequencies("x", NOTHING))[0] == 3
    assert await index.learned.exchange_boilerplate({b"site": learned}) == {b"site": learned}


async def test_grants_that_nobody_confirms_are_not_kept_without_end(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_neardup.index.events.MOST_WAITING", 1)
    await joined(index, join("a", MINUTE, "a.example"))
    for level, token in (("watch", "a"), ("breaking", "b")):
        assert await index.events.claim(Claim(FIRST.id, level, token=token)) is not None  # type: ignore[arg-type]
    assert [each.claim.token for each in await index.events.take_over(0)] == ["a"]
