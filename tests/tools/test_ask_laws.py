"""Whatever crawls do meanwhile, whoever asks on with a cursor is told everything once, and is told of each gap."""

import asyncio
import os
import uuid
from collections import Counter
from dataclasses import replace
from typing import Any

from documents import HOUR, ScriptedJudge, beginning, joined, joining
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from long_form import tries

from scrapy_neardup import NearDupDetector, NearDupSettings
from scrapy_neardup.detector import select
from scrapy_neardup.index import Index, index_from_url
from scrapy_neardup.index.store import Call, answers
from scrapy_neardup.story import LEVELS, Claim, Extent
from scrapy_neardup.tools.ask import Ask

EXAMPLES = int(os.environ.get("NEARDUP_TEST_EXAMPLES", tries(80)))
CRAWLS = 8
FIRSTS = [beginning(f"story {number}", number) for number in range(4)]

Step = tuple[str, Any]

STORY = st.integers(0, len(FIRSTS) - 1)
JOIN = st.tuples(STORY, st.integers(-20, 20), st.booleans())  # the story, the hour, and whether a figure changed
KEPT = (
    st.tuples(st.just("join"), st.lists(JOIN, min_size=1, max_size=12)),
    st.tuples(st.just("join"), st.lists(JOIN, min_size=1, max_size=3)),
    st.tuples(st.just("ask"), st.sampled_from((1, 2, 5, 500))),
    st.tuples(st.just("unite"), st.tuples(STORY, STORY)),
    st.tuples(st.just("claim"), st.tuples(STORY, st.sampled_from(LEVELS))),
    st.tuples(st.just("mute"), STORY),
)
LOST = (*KEPT, st.tuples(st.just("expire"), STORY), st.tuples(st.just("empty"), st.none()))
STEPS = st.one_of(*(st.lists(st.one_of(*steps), min_size=3, max_size=25) for steps in (KEPT, LOST)))


class Asker:
    """Keeps the cursor of each question and what it was told, and nothing else."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.next: dict[str, str | None] = {"stories": None, "changes": None}
        self.told: Counter[object] = Counter()
        self.states: dict[str, dict[str, Any]] = {}
        self.gaps: dict[str, int] = {}
        self.gone: dict[str, int] = {}

    async def __call__(self, most: int) -> None:
        for question in ("stories", "changes", "events"):
            answer = await getattr(self.ask, question)(self.next.get(question), most=most)
            self.next[question] = answer["next"]
            self.gaps[question] = self.gaps.get(question, 0) + answer["gap"]
            self.gone[question] = self.gone.get(question, 0) + answer["gone"]
            getattr(self, f"_{question}")(answer[question])

    def _stories(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            news = {name: row.pop(name) for name in ("joined", "levels_since", "united")}
            self.told.update(("joined", each["id"]) for each in news["joined"])
            self.told.update(("united", each) for each in news["united"])
            self.states = {story: state for story, state in self.states.items() if story not in news["united"]}
            self.states[row["story"]] = row

    def _changes(self, rows: list[dict[str, Any]]) -> None:
        self.told.update(("figure", row["id"], row["new"]) for row in rows)

    def _events(self, rows: list[dict[str, Any]]) -> None:
        self.told.update(("event", row["level"], row["time"]) for row in rows if row["level"] is not None)


class History:
    """What eight crawls did, and what has to be told of it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.settings = NearDupSettings(store=url, namespace=f"ask-{uuid.uuid4().hex}")
        self.truth: Counter[object] = Counter()
        self.expired = self.was_emptied = False
        self.gaps: dict[str, int] = {}  # as they were told when the window was emptied
        self.serial = 0

    async def play(self, steps: list[Step]) -> None:
        detector = NearDupDetector(self.settings)
        await detector.open()
        layout, judge = detector.index.layout, ScriptedJudge(detector.index.documents.policy)
        if self.url == "memory://":
            crawls = [Index(detector.index.store, layout.namespace, layout.config, judge)] * CRAWLS
        else:
            names = {"namespace": layout.namespace, "config": layout.config}
            crawls = [index_from_url(self.url, **names, judge=judge, timeout=60) for _ in range(CRAWLS)]
        for crawl in crawls:
            await crawl.open()
        asker = Asker(Ask(detector))
        await asker(500)  # the first answer on events is a list of those that run
        try:
            for name, value in steps:
                await getattr(self, f"_{name}")(crawls, asker, value)
            for _ in range(self.serial + len(steps)):
                await asker(5)
            await self._compare(crawls[0], asker)
        finally:
            await detector.close()
            for crawl in crawls:
                await crawl.close()

    async def _join(self, crawls: list[Index], asker: Asker, joins: list[tuple[int, int, bool]]) -> None:
        """Let all documents join at once, while somebody asks."""
        work = [asker(3)] if len(joins) % 2 else []
        for story, hour, is_update in joins:
            self.serial += 1
            join = joining(FIRSTS[story], f"document {self.serial}", hour * HOUR, f"s{self.serial % 5}.example")
            if is_update:
                changes = (f"dead: 4 -> {self.serial}",)
                join = replace(join, member=replace(join.member, status="update", changes=changes))
                self.truth["figure", join.member.id, str(self.serial)] = 1
            self.truth["joined", join.member.id] = self.truth["joined", join.first.id] = 1
            work.append(joined(crawls[self.serial % CRAWLS], join))  # type: ignore[arg-type]
        await asyncio.gather(*work)

    async def _ask(self, crawls: list[Index], asker: Asker, most: int) -> None:
        await asker(most)

    async def _unite(self, crawls: list[Index], asker: Asker, pair: tuple[int, int]) -> None:
        one, other = sorted(pair)
        if one != other and ("joined", FIRSTS[one].id) in self.truth:
            ids = [FIRSTS[one].id, FIRSTS[other].id]
            final = await crawls[0].stories.final_stories(ids)
            moved = max(final.get(each, each) for each in ids)
            await crawls[0].stories.unite(FIRSTS[one].id, FIRSTS[other])
            if moved in await crawls[0].stories.final_stories([moved]):
                self.truth["joined", FIRSTS[other].id] = self.truth["united", moved] = 1

    async def _claim(self, crawls: list[Index], asker: Asker, claim: tuple[int, str]) -> None:
        self.serial += 1
        story, level = claim
        made = Claim(
            FIRSTS[story].id, level, 2**32 - 1, Extent(self.serial, self.serial, self.serial), time=self.serial
        )  # type: ignore[arg-type]
        if await crawls[-1].events.claim(made) is not None:
            minutes, seconds = divmod(self.serial, 60)
            self.truth["event", level, f"1970-01-01T00:{minutes:02}:{seconds:02}Z"] = 1

    async def _mute(self, crawls: list[Index], asker: Asker, story: int) -> None:
        await crawls[1].stories.mute(FIRSTS[story].id, muted=self.serial % 2 == 0)

    async def _expire(self, crawls: list[Index], asker: Asker, story: int) -> None:
        self.expired = True
        key = bytes.fromhex(FIRSTS[story].id)
        layout = crawls[0].layout
        calls = [Call("UNLINK", layout.story(key)), Call("HDEL", layout.events, (key,))]
        await crawls[0].store.ask(lambda client: answers(client, calls))
        asker.states.clear()

    async def _empty(self, crawls: list[Index], asker: Asker, _: None) -> None:
        expected = {
            name: asker.gaps[name] + (not (cursor or "").startswith("0-0@")) for name, cursor in asker.next.items()
        }
        await crawls[0].purge(select())
        self.expired = self.was_emptied = True
        asker.states.clear()
        await asker(500)
        assert asker.gaps == expected, "a gap is told if something was known before"
        self.gaps = expected

    async def _compare(self, crawl: Index, asker: Asker) -> None:
        assert asker.gaps == (self.gaps or dict.fromkeys(asker.gaps, 0))
        # A story that has expired begins again with the same document, and may be united again.
        again = {(what, each.id) for what in ("joined", "united") for each in FIRSTS}
        assert all(count == 1 or each in again for each, count in asker.told.items())
        untold = self.truth.keys() - asker.told.keys()
        assert asker.told.keys() <= self.truth.keys()
        assert not untold or self.expired, untold
        assert self.expired or set(asker.gone.values()) == {0}
        if self.expired and not self.was_emptied and untold:
            assert asker.gone["stories"]
        for story, state in asker.states.items():
            now = await asker.ask.story(story)
            assert (now["items"], now["copies"], now["is_muted"]) == (
                state["items"],
                state["copies"],
                state["is_muted"],
            )
            assert now["story"] == story


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
@example(steps=[("join", [(1, -18, False)]), ("join", [(0, 0, False)]), ("join", [(0, 7, False), (0, 7, False)])])
def test_everything_is_told_once_and_gaps_are_told(store_url: str, steps: list[Step]) -> None:
    asyncio.run(History(store_url).play(steps))
