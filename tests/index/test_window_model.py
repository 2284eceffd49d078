"""Whatever runs do, every store answers as a list would: no index, no expiry, no packing, each document looked at."""

import asyncio
import math
import os
import uuid
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import pytest
from documents import HOUR, Article, ScriptedJudge, decision_on, silence
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from long_form import tries

from scrapy_neardup.index import Policy, index_from_url
from scrapy_neardup.index import runs as run_rules
from scrapy_neardup.index.runs import MOST_LINKS
from scrapy_neardup.records.documents import DELIVERED, WITHDRAWN, Record, StoredText, new_record, with_next_key
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.pair import Pair

EXAMPLES = int(os.environ.get("NEARDUP_TEST_EXAMPLES", tries(80)))
DEAD, SILENCE = 1500.0, 3000.0
POLICY = Policy(drops=True)
RUNS = (1, 2, 3)
MOST_OF_A_FAMILY = 15
"""Beyond 16 documents a key a store looks at the newest alone."""

Step = tuple[Any, ...]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs die after minutes, so that no test depends on how fast the machine is."""
    monkeypatch.setattr(run_rules, "DEAD_SECONDS", DEAD)


@dataclass
class Model:
    """The window as a list, and the runs and whether they live."""

    records: dict[bytes, Record] = field(default_factory=dict)
    texts: dict[bytes, StoredText] = field(default_factory=dict)
    beats: dict[int, bool] = field(default_factory=dict)
    begun: dict[int, float] = field(default_factory=dict)  # the first heartbeats in seconds, and below the last ones
    beaten: dict[int, float] = field(default_factory=dict)
    now: float = 0.0

    def beat(self, run: int) -> None:
        self.now += 0.01
        self.begun.setdefault(run, self.now)
        self.beaten[run] = self.now
        self.beats[run] = True

    def end(self, run: int) -> None:
        for each in (self.begun, self.beaten, self.beats):
            each.pop(run, None)

    def kept(self, record: Record) -> tuple[bytes, Record | None]:
        """Follow a dropped copy to what was kept. Return the key of that too."""
        key = b""
        found: Record | None = record
        for _ in range(MOST_LINKS + 1):
            if found is None or not found.is_dropped:
                return key, found
            key = found.match
            found = self.records.get(key)
        return key, None

    def pair(self, key: bytes, new: Record, old: Record, own: int) -> Pair:
        kept_key, kept = self.kept(old)
        return Pair(key, new, old, POLICY, is_seen=self.is_seen(old, own), kept_key=kept_key if kept else b"")

    def is_seen(self, record: Record, own: int) -> bool:
        _, kept = self.kept(record)
        if kept is None or kept.life in (0, own):
            return True
        run = kept.life
        return self.beats.get(run, False) and self.beaten[run] >= self.begun.get(own, -math.inf)

    def check(self, article: Article, run: int) -> Decision:
        key, new = bytes.fromhex(article.id), new_record(article.fingerprint, article.document, run)
        while key in self.records and self.records[key].life == WITHDRAWN:
            new = with_next_key(new)
            key = new.original
        if key in self.records:
            known = self.records[key]
            new = replace(known, tells_title=known.story != key)
            old = self.records.get(known.match) if known.match != key else None
            found = [self.pair(known.match, new, old, run)] if old else []
        else:
            found = [self.pair(other, new, old, run) for other, old in self.records.items()]
        decision = Judge(POLICY).decide(replace(article.document, id=key.hex()), new, found, self.texts)
        if key not in self.records:
            self.records |= {changed: after for changed, (_, after) in decision.changed.items()}
            self.records[key] = decision.record
        self.texts.setdefault(key, StoredText.of(article.title, article.prose))
        return decision

    def deliver(self, article: Article) -> None:
        key = bytes.fromhex(article.id)
        if key in self.records and self.records[key].life != WITHDRAWN:
            self.records[key] = replace(self.records[key], life=0)

    def withdraw(self, article: Article) -> None:
        key = bytes.fromhex(article.id)
        if key in self.records:
            self.records[key] = replace(self.records[key], life=WITHDRAWN)


def texts_of(decision: Decision) -> tuple[StoredText | None, ...]:
    """Return the texts that the judge had of a document, of its match, and of what was kept instead of that."""
    pair = decision.match and decision.match.pair
    return (pair.new_text, pair.old_text, pair.kept_text) if pair else ()


ARTICLES = st.builds(
    lambda family, page, edit, at: Article(
        f"story {family}, {edit}",
        like=f"story {family}",
        equal=128 if edit == 0 else {1: 118, 2: 100, 3: 60}[edit],
        at=at,
        url=f"https://paper{page}.example/{family}",
        source=f"paper{page}.example",
        size=300 + 40 * (edit == 2),
    ),
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from((0, 0, 0, 0, 1, 2, 3)),
    st.integers(0, 23 * HOUR - 1),
)
PAGE = Article("story 0, 0", like="story 0", url="https://paper0.example/0", source="paper0.example")
PLACES = st.integers(0, 40)  # of a document among those checked before
STEPS = st.one_of(
    st.tuples(st.just("check"), st.sampled_from(RUNS), ARTICLES),
    st.tuples(st.just("check"), st.sampled_from(RUNS), ARTICLES),
    st.tuples(st.just("check"), st.sampled_from(RUNS), ARTICLES),
    st.tuples(st.just("again"), st.sampled_from(RUNS), PLACES),
    st.tuples(st.sampled_from(("deliver", "withdraw")), PLACES),
    st.tuples(st.just("beat"), st.sampled_from(RUNS)),
    st.tuples(st.just("end"), st.sampled_from(RUNS)),
    st.tuples(st.just("dead"), st.sampled_from(RUNS)),
    st.tuples(st.just("reopen")),
)


class Stage:
    """One store and the model, taken through the same steps."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.namespace = f"model-{uuid.uuid4().hex}"
        self.model = Model()
        self.checked: list[Article] = []

    async def play(self, steps: list[Step]) -> None:
        await self._open()
        try:
            for run in RUNS:
                await self._beat(run)
                await silence(self.index, run, 2 * DEAD)
                self.model.begun[run] -= 2 * DEAD
            for run in RUNS:
                await self._beat(run)
            for number, (name, *values) in enumerate(steps):
                await getattr(self, f"_{name}")(*values, told=f"step {number}: {name} {values}")
        finally:
            await self.index.close()

    async def _open(self) -> None:
        self.index = index_from_url(
            self.url, namespace=self.namespace, config="00000001", judge=ScriptedJudge(POLICY), timeout=60
        )
        await self.index.open()

    async def _reopen(self, told: str = "") -> None:
        if "memory" not in self.url:
            await self.index.close()
            await self._open()

    async def _beat(self, run: int, told: str = "") -> None:
        # A heartbeat of Redis is told to the millisecond.
        for other in self.model.beats:
            await silence(self.index, other, 0.01)
        self.index.partition.run = run
        await self.index.runs.beat()
        self.model.beat(run)

    async def _end(self, run: int, told: str = "") -> None:
        self.index.partition.run = run
        await self.index.runs.beat(is_over=True)
        self.model.end(run)

    async def _dead(self, run: int, told: str = "") -> None:
        if self.model.beats.get(run):
            await silence(self.index, run, SILENCE, beat_alone=True)
            self.model.beats[run] = False
            self.model.beaten[run] -= SILENCE

    async def _check(self, run: int, article: Article, told: str = "") -> None:
        if sum(each.like == article.like for each in self.checked) < MOST_OF_A_FAMILY:
            article = article.copy(serial=len(self.checked))  # the same keys whenever these steps are tried again
            self.checked.append(article)
            await self._compare(run, article, told)

    async def _again(self, run: int, place: int, told: str = "") -> None:
        if self.checked:
            await self._compare(run, self.checked[place % len(self.checked)], told)

    async def _compare(self, run: int, article: Article, told: str) -> None:
        self.index.partition.run = run
        answer = await decision_on(self.index, article)
        expected = self.model.check(article, run)
        for part in (attrgetter("verdict"), attrgetter("record"), texts_of):
            assert part(answer) == part(expected), f"{self.url}, {told}"

    async def _deliver(self, place: int, told: str = "") -> None:
        if self.checked:
            article = self.checked[place % len(self.checked)]
            await self.index.runs.settle([article.id], DELIVERED)
            self.model.deliver(article)

    async def _withdraw(self, place: int, told: str = "") -> None:
        if self.checked:
            article = self.checked[place % len(self.checked)]
            await self.index.runs.settle([article.id], WITHDRAWN)
            self.model.withdraw(article)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@example(
    steps=[("check", 1, PAGE.copy()) for _ in range(9)] + [("withdraw", 0), ("check", 1, PAGE.copy()), ("again", 1, 0)]
)
@example(  # two equal candidates: the older one is read, and the newer one was dropped as a copy of a third
    steps=[("check", 1, PAGE), ("dead", 1)]
    + [("check", 2, PAGE.copy(at=at * HOUR)) for at in (10, 9)]
    + [("check", 2, PAGE.copy(text="story 0, 3", equal=60))]
)
@given(steps=st.lists(STEPS, min_size=5, max_size=50))
def test_every_store_answers_as_a_list_would(store_url: str, steps: list[Step]) -> None:
    asyncio.run(Stage(store_url).play(steps))
