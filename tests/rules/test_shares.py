"""What a drop costs: the share of a document that its match holds, and of this what a kept document holds."""

import pytest
from conftest import OpenIndex
from documents import HOUR, Article, check
from newsdesk import made_up, opened

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Verdict
from scrapy_neardup.evidence.likeness import share_of
from scrapy_neardup.index import Index, Policy
from scrapy_neardup.settings import NearDupSettings

pytestmark = pytest.mark.in_memory


def edit(number: int, equal: int, **changes: object) -> Article:
    """A copy of the wire by a source of its own."""
    source = f"paper{number}.example"
    made = Article(f"edit {number}", like="wire", equal=equal, source=source, url=f"https://{source}/a")
    return made.copy(**changes) if changes else made


@pytest.mark.parametrize(
    ("resemblance", "own", "other", "share"),
    [(1, 300, 300, 1), (0.5, 100, 200, 1), (0.5, 200, 100, 0.5), (0.25, 100, 400, 1), (0, 9, 9, 0), (0.5, 0, 9, 0)],
)
def test_the_share_is_of_the_document_s_own_text(resemblance: float, own: int, other: int, share: float) -> None:
    assert share_of(resemblance, own, other) == pytest.approx(share)


async def test_shares_multiply_along_copies_that_would_be_dropped(open_store: OpenIndex) -> None:
    """The original has left the window by the time of the second copy."""
    index = await open_store(Policy(keep_updates=False))
    await check(index, edit(0, 128))
    first = await check(index, edit(1, 110, at=20 * HOUR))
    again = await check(index, edit(2, 110, at=30 * HOUR))
    assert first.kept_share == pytest.approx(first.pair.share, abs=1e-9)
    assert again.id != again.original
    assert again.kept_share == pytest.approx(again.pair.share * first.pair.share, abs=0.01)


async def test_a_copy_that_is_kept_holds_all_of_its_text(open_store: OpenIndex) -> None:
    """Because too little of it is held, because its source is always kept, or because it is a page that changed."""
    index = await open_store(Policy(drop_share=0.9, keep_sources=frozenset({"paper2.example"})))
    await check(index, edit(0, 128))
    await check(index, edit(1, 100))  # holds too little
    await check(index, edit(2, 126))  # its source is kept
    await check(index, edit(0, 100, text="changed", url="https://paper0.example/a"))
    for number, like in ((1, 100), (2, 126), (0, 100)):
        held = edit(number, like) if number else edit(0, 120, text="changed")
        match = await check(index, held.copy(source="late.example", url=f"https://late.example/{number}"))
        assert match.pair.same_text
        assert match.kept_share == 1


def words(seed: object, count: int) -> str:
    made = made_up(seed, count)
    return "\n".join(" ".join(made[at : at + 20]) + "." for at in range(0, count, 20))


async def verdicts(texts: list[tuple[str, str]], **settings: object) -> list[Verdict]:
    async with opened(store="memory://", **settings) as room:
        return [await room.publish("", "", 0, text=text, url=f"https://{source}/a") for source, text in texts]


WIRE = words("wire", 200)


async def test_the_share_from_which_on_is_dropped_is_a_setting() -> None:
    texts = [("wire.example", WIRE), ("paper.example", f"{WIRE}\n{words('own', 100)}")]
    for drop_share, would_drop in ((0.4, True), (0.9, False)):
        assert (await verdicts(texts, drop_share=drop_share, keep_updates=False))[1].would_drop is would_drop
        assert not (await verdicts(texts, drop_share=drop_share))[1].would_drop, "it has sentences of its own"


async def test_the_very_share_of_the_setting_is_dropped_and_registered_as_dropped() -> None:
    async with opened(store="memory://", action="drop", drop_share=1.0, delivers_later=True) as room:
        for source in ("wire", "paper"):
            copy = room.article("fire", source, 0, text=WIRE)
            verdict = await room.detector.check(copy)
        records = dict(await room.detector.index.documents.records())
    assert verdict.would_drop
    assert records[bytes.fromhex(copy.id)].is_dropped


async def test_nothing_of_a_kept_source_is_dropped() -> None:
    texts = [("wire.example", WIRE), ("www.bbc.co.uk", WIRE), ("paper.example", WIRE)]
    _, kept, dropped = await verdicts(texts, keep_sources=frozenset({"bbc.co.uk"}))
    assert (kept.status, kept.kind, kept.would_drop) == ("duplicate", "exact", False)
    assert (dropped.status, dropped.would_drop) == ("duplicate", True)


async def test_within_a_source_a_text_under_another_headline_is_dropped_only_if_next_to_nothing_is_new() -> None:
    detector = NearDupDetector(NearDupSettings(store="memory://"))
    await detector.open()

    async def judge(path: str, title: str, text: str) -> Verdict:
        return await detector.check(detector.document(text, url=f"https://paper.example/{path}", title=title))

    await judge("1", "Missing actress sought in Skerrow", WIRE)
    found = await judge("2", "Missing actress found in hospital", f"{WIRE}\n{words('found', 50)}")
    again = await judge("3", "Police look for an actress", WIRE)
    await detector.close()
    assert (found.status, found.would_drop) == ("duplicate", False)
    assert 0.7 < (found.share or 0) < 0.9
    assert (again.status, again.would_drop) == ("duplicate", True)


@pytest.mark.parametrize("text", ["update", "copy"])
async def test_a_copy_of_a_kept_update_adds_nothing(text: str, index: Index) -> None:
    """The update holds 0.8 of its text from the original, and its figures differ: it is kept with all of its text."""
    original = Article("wire", figures="4 7", source="wire.example")
    update = edit(1, 116, figures="12 7")
    copy = edit(1, 116, figures="12 7" if text == "update" else "4 7", source="copy.example")
    await check(index, original)
    match = await check(index, update)
    again = await check(index, copy)
    assert match.pair.share < 1
    assert again.kept_share == pytest.approx(again.pair.share), "not the share of the update times its own"


async def test_what_a_verdict_compares_with_is_the_match() -> None:
    """A reports 4 dead, B 12, and C copies B: the original is A, and what is said of C is about B."""
    report = f"{words('a', 100)}\n{{}} people died in the flood, the governor said on Monday.\n{words('b', 100)}"
    texts = [("a.example", report.format(4)), ("b.example", report.format(12)), ("c.example", report.format(12))]
    first, update, copy = await verdicts(texts)
    assert [first.status, update.status, copy.status] == ["original", "update", "duplicate"]
    assert (copy.kind, copy.similarity, copy.share, copy.changes) == ("exact", 1, 1, ())
    assert (copy.original_url, copy.match_url) == ("https://a.example/a", "https://b.example/a")
    assert copy.match != copy.original
