"""Document -> Verdict: what is said of which document, over an empty window in memory."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from newsdesk import MINUTE, START, made_up, opened, text

from scrapy_neardup.detector import NearDupDetector, judge_of
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.index.stories import JoinedStories
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.story import Join, Member

pytestmark = pytest.mark.versions

HOUR = 3600
URL = "https://www.wire.example/news/bridge"
OTHER = "https://paper.example/2023/bridge-closed"


STORY = made_up("story", 300)


def text_of(tokens: list[str]) -> str:
    """Paragraphs of 30 words."""
    return "\n".join(" ".join(tokens[start : start + 30]) for start in range(0, len(tokens), 30))


def edited(tokens: list[str], every: int) -> list[str]:
    return [word if number % every else word[::-1] for number, word in enumerate(tokens, 1)]


async def judge(
    detector: NearDupDetector, tokens: list[str] | str, url: str = "", title: str = "", at: float = START
) -> Verdict:
    text = tokens if isinstance(tokens, str) else text_of(tokens)
    return await detector.check(detector.document(text, url=url, title=title, seen_at=at))


@pytest.mark.parametrize(("first", "second"), [(300, 120), (120, 300)], ids=["abridged", "extended"])
async def test_a_copy_of_another_length_is_abridged_or_extended(
    detector: NearDupDetector, first: int, second: int
) -> None:
    await judge(detector, STORY[:first], url=URL)
    verdict = await judge(detector, STORY[:second], url=OTHER)
    assert (verdict.status, verdict.kind) == ("duplicate", "abridged" if second < first else "extended")
    assert (verdict.containment or 0) > 0.8 > 0.6 > (verdict.similarity or 0)
    assert verdict.share == pytest.approx(1 if second < first else 0.4, abs=0.15)
    assert verdict.would_drop is (second < first)


async def test_a_report_that_shares_a_third_is_related(detector: NearDupDetector) -> None:
    original = detector.document(text_of(STORY), url=URL)
    await detector.check(original)
    verdict = await judge(detector, STORY[:105] + made_up("own reporting", 195), url=OTHER)
    assert (verdict.status, verdict.kind, verdict.story) == ("related", None, original.id)


async def test_without_updates_only_a_page_with_quite_another_text_is_an_update() -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://", keep_updates=False))
    await detector.open()
    await judge(detector, STORY, url=URL)
    texts = edited(STORY, 12), made_up("new beginning", 60) + STORY, made_up("rewritten", 300)
    verdicts = [await judge(detector, each, url=URL, at=START + HOUR) for each in texts]
    await detector.close()
    found = [(each.status, each.kind, each.would_drop) for each in verdicts]
    assert found == [("duplicate", "revisit", True), ("duplicate", "extended", True), ("update", None, False)]


async def test_a_link_that_two_articles_share_is_no_page(detector: NearDupDetector) -> None:
    """Outside of a crawl, such as in a replay, two articles come together if they come within minutes."""
    entries = [made_up("outage", 120), made_up("repair", 120)]
    first, second = [await judge(detector, each, URL, " ".join(each[:3]), START + n) for n, each in enumerate(entries)]
    assert (first.status, second.status) == ("original", "original")
    later = await judge(detector, made_up("rewritten", 120), URL, "Another headline", START + 3600)
    assert later.status == "update"


async def test_a_short_text_is_judged_only_against_itself(detector: NearDupDetector) -> None:
    short = "Watch the video of the bridge"
    assert await judge(detector, short) == Verdict("unchecked", reason="too-short")
    assert await judge(detector, short.replace("video", "pictures")) == Verdict("unchecked", reason="too-short")
    assert (await judge(detector, short.upper())).kind == "exact"


async def test_the_clock_dates_what_has_no_time(detector: NearDupDetector) -> None:
    assert detector.document("text").seen_at == START


async def test_a_detector_nobody_opened_opens_itself_once() -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    verdicts = await asyncio.gather(*(judge(detector, STORY) for _ in range(20)))
    await detector.close()
    assert sorted(verdict.status for verdict in verdicts) == ["duplicate"] * 19 + ["original"]


async def test_texts_are_sketched_and_judged_outside_the_event_loop(
    store_url: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_on_loop: list[bool] = []

    def noting(function: Callable[..., object]) -> Callable[..., object]:
        def noted(*arguments: object) -> object:
            is_on_loop.append(threading.current_thread() is threading.main_thread())
            return function(*arguments)

        return noted

    for owner, name in ((Sketcher, "fingerprints"), (Judge, "decide"), (JoinedStories, "join")):
        monkeypatch.setattr(owner, name, noting(getattr(owner, name)))
    async with opened(store=store_url, namespace=namespace) as room:
        for number in range(2):
            await room.publish("ferry", "", number)
    assert is_on_loop == [False] * 5


VICTIM = "https://harbour.blogspot.com/2026/11/ferry.html"


async def test_pages_of_one_blog_make_no_boilerplate_of_another_blog() -> None:
    async with opened(store="memory://") as room:
        for number, title in enumerate(("Garden in May", "Cheap flights tonight", "Chess for beginners")):
            url = f"https://attacker.blogspot.com/{number}"
            await room.detector.check(room.detector.document(text("ferry"), url=url, title=title, seen_at=START))
        verdict = await room.publish("ferry", "", 10, url=VICTIM)
        assert (verdict.status, verdict.reason) == ("duplicate", None)


async def test_an_article_number_is_valid_within_one_blog() -> None:
    """Two pages of one source in two languages with one article number are translations."""
    async with opened(store="memory://") as room:
        await room.publish("ferry", "", 0, url="https://harbour.github.io/news/1234567", language="en")
        stranger = await room.publish("volcano", "", 1, url="https://attacker.github.io/news/1234567", language="is")
        translation = await room.publish("Fähre", "", 2, url="https://harbour.github.io/de/1234567", language="de")
        assert (stranger.status, translation.kind) == ("original", "translation")


@pytest.mark.parametrize("platform", ["blogspot.com", "substack.com"])
async def test_many_blogs_of_a_platform_are_one_owner_unless_owners_are_named(platform: str) -> None:
    owners = {f"Author {n}": [f"blog{n}.{platform}"] for n in range(20, 25)}
    settings = NearDupSettings.from_mapping({"NEARDUP_STORE": "memory://", "NEARDUP_SOURCE_OWNERS": owners})
    async with opened(store="memory://", source_owners=settings.source_owners) as room:
        for n in range(20):
            await room.publish("fire", "", n * MINUTE, url=f"https://blog{n}.{platform}/fire")
        assert room.events == []
        for n in range(20, 25):
            await room.publish("fire", "", n * MINUTE, url=f"https://blog{n}.{platform}/fire")
        (event,) = room.events
        assert event.level == "breaking"
        assert (event.members[0].source, event.members[0].owner) == (f"blog0.{platform}", platform)
    assert settings.owner_of(f"blog24.{platform}") == "Author 24"


@pytest.mark.parametrize(
    ("named", "kept", "other"),
    [
        ("blogspot.com", "harbour.blogspot.com", "harbour.github.io"),
        ("harbour.blogspot.com", "harbour.blogspot.com", "attacker.blogspot.com"),
        ("https://bücher.example/", "xn--bcher-kva.example", "bucher.example"),
        ("xn--bcher-kva.example", "bücher.example", "bucher.example"),
        ("BÜCHER。example.", "www.bücher.example", "bucher.example"),
        ("wire.example", "news.wire.example", "notwire.example"),
    ],
)
def test_settings_name_a_source_or_all_sources_of_a_platform(named: str, kept: str, other: str) -> None:
    settings = NearDupSettings.from_mapping(
        {"NEARDUP_KEEP_SOURCES": [named], "NEARDUP_SOURCE_OWNERS": {"Ann": [named]}}
    )
    drops = [not judge_of(settings).policy.keeps(source_of(f"https://{host}/a")) for host in (kept, other)]
    assert drops == [False, True]
    assert (
        settings.owner_of(source_of(f"https://{kept}/a")) == "Ann" != settings.owner_of(source_of(f"https://{other}/"))
    )


@pytest.mark.every_store
async def test_a_blog_and_a_whole_platform_can_be_purged(shared_url: str, namespace: str) -> None:
    hosts = ["harbour.blogspot.com", "other.blogspot.com", "paper.example", "bücher.example"]
    async with opened(store=shared_url, namespace=namespace) as room:
        for number, host in enumerate(hosts):
            await room.publish(number, "", number, url=f"https://{host}/{number}")
        for number in range(3):
            url, title = f"https://other.blogspot.com/{number}", text(number, 3)
            await room.detector.check(room.detector.document(text("wall"), url=url, title=title, seen_at=START))
    async with opened(store=shared_url, namespace=namespace) as room:
        found = [await room.detector.purge(source=name, dry_run=True) for name in ("blogspot.com", *hosts)]
        assert found == [5, 1, 4, 1, 1]
        assert await room.detector.purge(source="https://HARBOUR.blogspot.com/any") == 1
        assert await room.detector.purge(source="blogspot.com") == 4
        assert [await room.detector.purge(source=name) for name in hosts[2:]] == [1, 1]
    async with opened(store=shared_url, namespace=namespace) as room:
        again = await room.publish("wall", "", 10, url="https://other.blogspot.com/")
        assert again.status == "original", "what was learned of each blog is removed too"


async def test_documents_that_come_together_are_read_as_if_one_by_one(detector: NearDupDetector) -> None:
    """Titles of later documents say nothing about earlier ones."""
    documents = [
        detector.document(
            text(f"page {number}", 200),
            url=f"https://paper.example/{number}",
            title=f"Harbour {' '.join(made_up(f'title {number}', 4))}",
            seen_at=START + number,
        )
        for number in range(6)
    ]
    together, alone = Sketcher(PRESETS["news"]), Sketcher(PRESETS["news"])
    found = together.fingerprints(documents)
    assert found == [alone.fingerprint(document) for document in documents]
    assert len(found[0].titles) > len(found[-1].titles), "the word that all titles have is known by then"


async def test_closing_waits_for_the_checks_under_way() -> None:
    async with opened(store="memory://") as room:
        documents = [
            room.detector.document(text(f"page {number}", 3000), url=f"https://s{number}.example/1")
            for number in range(3)
        ]
        checks = [asyncio.ensure_future(room.detector.check(document)) for document in documents]
        await asyncio.sleep(0)
    assert [verdict.status for verdict in await asyncio.gather(*checks)] == ["original"] * 3


async def test_a_document_without_words_teaches_nothing(detector: NearDupDetector) -> None:
    for number, title in enumerate(["Budget vote", "Ferry sinks", "Kane wins"]):
        document = detector.document("… — …", url=f"https://paper.example/{number}-1234567.html", title=title)
        assert (await detector.check(document)).reason == "no-text"
    assert detector.sketcher.boilerplate.pending == 0
    document = detector.document(text("page"), url="https://paper.example/real-1234567.html", title="Harbour accident")
    assert any(detector.sketcher.fingerprint(document).article_hash)


async def test_a_document_without_words_needs_no_store() -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    assert (await judge(detector, "… — …")).reason == "no-text"
    assert (await judge(detector, STORY)).status == "original"
    await detector.close()


async def test_a_check_that_is_cancelled_leaves_the_others_to_the_next(tmp_path: Path) -> None:
    async with opened(store=f"sqlite:///{tmp_path}/window.sqlite") as room:
        documents = [
            room.detector.document(text(f"page {number}"), url=f"https://s{number}.example/") for number in range(3)
        ]
        checks = [asyncio.ensure_future(room.detector.check(document)) for document in documents]
        for _ in range(3):  # the first one has the turn then
            await asyncio.sleep(0)
        checks[0].cancel()
        first, *others = await asyncio.gather(*checks, return_exceptions=True)
        assert isinstance(first, asyncio.CancelledError)
        assert [each.status for each in others if isinstance(each, Verdict)] == ["original"] * 2
        assert len(await room.detector.index.documents.records()) >= 2


async def test_a_document_that_fails_costs_no_other_one_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    detector = NearDupDetector(NearDupSettings(store=f"sqlite:///{tmp_path}/window.sqlite"))
    await judge(detector, STORY)
    sketch = detector.sketcher.fingerprints

    def failing(documents: Sequence[Document]) -> list[Fingerprint]:
        if any("poison" in each.text for each in documents):
            raise RuntimeError("a bug")
        return sketch(documents)

    monkeypatch.setattr(detector.sketcher, "fingerprints", failing)
    texts = [text("a"), text("b"), text("poison") + " poison", text("c")]
    checks = [asyncio.ensure_future(judge(detector, each)) for each in texts]
    await asyncio.sleep(0)
    await detector.close()
    verdicts = await asyncio.gather(*checks, return_exceptions=True)
    assert [getattr(each, "status", str(each)) for each in verdicts] == ["original", "original", "a bug", "original"]


def test_a_detector_may_be_used_in_one_event_loop_after_the_other(tmp_path: Path) -> None:
    detector = NearDupDetector(NearDupSettings(store=f"sqlite:///{tmp_path}/window.sqlite"))

    async def judge_three() -> list[Verdict]:
        return await asyncio.gather(*(judge(detector, text(number), f"https://s{number}.example/") for number in "abc"))

    assert [verdict.status for verdict in asyncio.run(judge_three())] == ["original"] * 3
    assert [verdict.kind for verdict in asyncio.run(judge_three())] == ["revisit"] * 3
    asyncio.run(detector.close())


async def test_an_unchanged_page_is_compared_with_its_newest_version(detector: NearDupDetector) -> None:
    """Versions that differ in a line too short to compare have one text."""
    text = f"{text_of(STORY)}\nStatus: "
    first = await judge(detector, f"{text}open", url=URL, at=START)
    second = await judge(detector, f"{text}closed", url=URL, at=START + 60)
    third = await judge(detector, f"{text}closed", url=URL, at=START + 120)
    assert second.match == first.id
    assert (third.match, third.kind, third.would_drop) == (second.id, "revisit", True)


async def test_a_changed_notice_tells_its_new_sentences(detector: NearDupDetector) -> None:
    await judge(detector, "The ferry to Skerrow is late.", url=URL, at=START)
    second = await judge(detector, "The pier of Skerrow is shut for all guests today.", url=URL, at=START + 3600)
    assert (second.status, second.news) == ("update", ("The pier of Skerrow is shut for all guests today.",))


async def test_the_clock_of_a_source_is_wrong_for_all_processes_once_it_gives_a_time_that_is_yet_to_come(
    tmp_path: Path,
) -> None:
    settings = NearDupSettings(store=f"sqlite:///{tmp_path / 'window.db'}")

    async def printed(at: float, source: str) -> tuple[float, bool]:
        """Return the time that a document gives, and whether its clock is known to be wrong, in a new process."""
        detector = NearDupDetector(settings, clock=lambda: START, run="")
        await detector.open()
        text = f"{text_of(STORY)} {source} {at}"
        document = detector.document(text, url=f"https://{source}.example/{at}", seen_at=at, counts_now=True)
        (known,) = await detector.knowledge.meet([document])
        await detector.check(document)
        await detector.close()
        member = Member(known.id, known.url, "", source, source, "related")
        join = Join(member, member, counted_at=START, document=known)
        return join.printed_at, known.is_clock_wrong

    assert await printed(START - 3600, "a") == (START - 3600, False)
    assert await printed(START + 7200, "b") == (START, True)
    assert await printed(START - 3600, "b") == (START, True)
    assert await printed(START - 1800, "a") == (START - 1800, False)


MATCH = (
    "United beat Rovers on Saturday at the old ground by the river in front of nine thousand people. Abara scored twice"
    " before the break and Lund added a third goal. Rovers stay in third place before the derby next week."
)


@pytest.mark.parametrize(
    ("title", "line", "page", "expected"),
    [("Abara double sinks Rovers", "", "d", ("duplicate", True)),
     ("Rovers beaten by United", "He died in his cell.", "a", ("update", False))],
)  # fmt: skip
async def test_a_document_is_compared_with_the_one_that_has_its_title_and_its_last_line(
    title: str, line: str, page: str, expected: tuple[str, bool]
) -> None:
    pages = [("a", "Rovers beaten by United", ""), ("b", "Abara double sinks Rovers", ""), (page, title, line)]
    async with opened(store="memory://", action="drop") as room:
        for number, (site, headline, last) in enumerate(pages):
            more = {"url": f"https://www.{site}.example/match", "title": headline, "text": f"{MATCH}\n{last}"}
            verdict = await room.publish("match", site, number * MINUTE, **more)
    assert (verdict.status, verdict.would_drop) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(["", "He won.", "He lost.", "He left.", "He died in his cell."], ["update"] * 4),
     (["He is dead.", "He is alive.", "He is dead."], ["update", "duplicate"]),
     (["Đã bắt kẻ bị bán ở chợ.", "Đã bắt kẻ bị bắn ở chợ."], ["update"]),
     (["12°C Cloudy", "14°C Sunny"], ["duplicate"])],
)  # fmt: skip
async def test_each_new_short_sentence_of_a_page_is_an_update_and_none_is_dropped(
    lines: list[str], expected: list[str]
) -> None:
    found = []
    async with opened(store="memory://", action="drop") as room:
        for number, line in enumerate(lines):
            text = f"{MATCH}\n{line}"
            found.append(await room.publish("match", "a", number * MINUTE, url="https://www.a.example/1", text=text))
    assert [each.status for each in found[1:]] == expected
    assert not any(each.would_drop for each in found)
