"""Reports of one event are related by their topics."""

import math
from dataclasses import replace

import pytest
from conftest import OpenIndex
from documents import HOUR, MINUTE, Article, band_keys, check, checked, lanes, policy_with, story_of, topic

from scrapy_neardup.evidence.topic import KEYS, topic_score
from scrapy_neardup.index import Index
from scrapy_neardup.index.postings import MAX_CANDIDATES, MOST_POSTINGS
from scrapy_neardup.rules.guards import SAME_SOURCE_EXTRA
from scrapy_neardup.rules.match import Match
from scrapy_neardup.settings.presets import PRESETS

pytestmark = pytest.mark.in_memory


async def match_of(index: Index, *articles: Article) -> Match | None:
    """Check articles one after the other, and return the match of the last one."""
    for article in articles:
        match = await check(index, article)
    return match


@pytest.mark.parametrize(
    ("one", "other", "matches"),
    [
        ("ABcdefgh", "ABcdefgh", True),
        ("ABcdefgh", "ABcdeuvw", True),
        ("ABcdefgh", "ABcduvwx", False),  # four terms may be those of a theme
        ("ABcdefgh", "abUVwxyz", False),  # each title says something else
        ("ABcdefgh", "abcdeuvw", True),
        ("abcdefgh", "abcdeuvw", True),
        ("abcdefgh", "abcuvwxy", False),
        ("", "ABcdefgh", False),
    ],
)
async def test_a_report_with_the_same_terms_is_related(index: Index, one: str, other: str, matches: bool) -> None:
    match = await match_of(index, Article("wire", topic=one), Article("own report", topic=other))
    assert (match is not None) is matches
    if match is not None:
        assert match.related
        assert match.pair.likeness.score < PRESETS["news"].related_threshold
        assert match.topic_score == topic_score(topic(one), topic(other))


@pytest.mark.parametrize(
    ("one", "source", "extra"),
    [
        ("ABcdefgh", "other.example", 0.0),
        ("ABcdefgh", "wire.example", SAME_SOURCE_EXTRA),
        ("abcdefgh", "wire.example", SAME_SOURCE_EXTRA),
    ],
)
async def test_a_topic_counts_from_its_very_threshold_on(
    open_store: OpenIndex, one: str, source: str, extra: float
) -> None:
    """A daily column by one source on one politician is no coverage, so one source needs more."""
    other = "ABCDefuv" if one[0] == "A" else "abcdefuv"
    score = topic_score(topic(one), topic(other))
    threshold = score - extra
    while threshold + extra > score:  # rounded up
        threshold = math.nextafter(threshold, 0)
    for asked, matches in ((threshold, True), (threshold + 1e-9, False)):
        index = await open_store(policy_with(topic_threshold=asked), namespace=f"{matches}")
        first, report = (
            Article("wire", source="wire.example", topic=one),
            Article("own report", source=source, topic=other),
        )

        match = await match_of(index, first, report)

        assert (match is not None) is matches
        copy = await check(index, report.copy(at=MINUTE))
        assert copy.story == (first.id if matches else report.id)  # as the store has registered the report


@pytest.mark.parametrize(
    ("other", "is_candidate"),
    [("satuvwxyz012MNOPQR", False), ("astuvwxyz012MNOPQR", True), ("zabuvwxyz012MNOPQR", True)],
)
async def test_two_common_keys_make_a_candidate_and_one_if_it_is_the_first(
    index: Index, other: str, is_candidate: bool
) -> None:
    """The topics are alike, but by terms that are too light to be keys."""
    one = "abcdefghijklMNOPQR"
    match = await match_of(index, Article("wire", topic=one), Article("own report", topic=other))
    assert len(set(one[:KEYS]) & set(other[:KEYS])) == 1 + (other[0] == "z")
    assert topic_score(topic(one), topic(other)) > PRESETS["news"].topic_threshold
    assert (match is not None) is is_candidate


@pytest.mark.parametrize(("bands", "is_copy"), [(3, True), (1, False)])
async def test_a_key_of_the_text_counts_more_than_one_of_the_topic(
    open_store: OpenIndex, bands: int, is_copy: bool
) -> None:
    """More reports on the topic than are read, each with four common keys; the copy has a few common bands."""
    index = await open_store()
    original = Article("wire", topic="rstuv")
    fingerprint = replace(original.fingerprint, band_keys=original.fingerprint.band_keys[:bands])
    await checked(index, fingerprint, original.document)
    groups = ("ABCD", "EFGH", "IJKL")
    reports = [Article(f"report {n}", at=MINUTE, topic=groups[n % 3] + "12345678z") for n in range(MAX_CANDIDATES + 4)]
    assert len(reports) / len(groups) <= MOST_POSTINGS
    match = await match_of(index, *reports, Article("copy", like="wire", equal=100, topic="ABCDEFGHIJKLz"))
    assert (match.id == original.id, match.related) == (is_copy, not is_copy)
    assert len(band_keys(original.fingerprint.signature)) > bands


async def test_of_many_documents_that_share_one_name_the_newest_are_candidates(index: Index) -> None:
    others = [Article(f"other {n}", topic=f"{n}", names="PQRS"[n % 4]) for n in range(MAX_CANDIDATES + 4)]
    wire = Article("wire", topic="abcdefghijklMNOPQR", names="P", at=MINUTE)
    report = Article("own report", topic="stuvwxyz0123MNOPQR", names="PQRS", at=2 * MINUTE)
    match = await match_of(index, *others, wire, report)
    assert match.id == wire.id


async def test_a_report_joins_the_story_of_the_member_that_it_resembles(index: Index) -> None:
    first, second = Article("wire", topic="ABCdefgh"), Article("report", topic="ABCdeuvw", at=MINUTE)
    match = await match_of(index, first, second, Article("report of both", topic="DUVWabxyz", at=2 * MINUTE))
    assert (match.id, match.story) == (second.id, first.id)


async def test_a_story_does_not_drift_from_one_topic_to_the_next(index: Index) -> None:
    first, second = Article("wire", topic="ABCdefgh"), Article("digest", topic="ABCUVWdexyz", at=MINUTE)
    third = Article("another event", topic="UVWxyz012", at=2 * MINUTE)
    assert topic_score(topic("UVWxyz012"), topic("ABCUVWdexyz")) > PRESETS["news"].topic_threshold
    assert await match_of(index, first, second) is not None
    assert await match_of(index, third) is None


async def checked_with(index: Index, article: Article, **shared: bytes) -> tuple[Match | None, bytes]:
    """Check a document that shares 30 lanes from a place on with each of these signatures. Return its own, too."""
    signature = bytearray(lanes(article.text))
    for place, other in ((int(name[1:]), other) for name, other in shared.items()):
        signature[place : place + 30] = other[place : place + 30]
    mixed = bytes(signature)
    fingerprint = replace(article.fingerprint, signature=mixed, band_keys=band_keys(mixed))
    return (await checked(index, fingerprint, article.document)).decision.match, mixed


@pytest.mark.parametrize("first", ["ABCdefgh", ""])
async def test_nobody_joins_a_story_through_a_page_with_two_events(index: Index, first: str) -> None:
    """The page shares sentences with a story. A report of another event shares other sentences with the page."""
    _, wire = await checked_with(index, Article("wire", topic=first))
    joined, page = await checked_with(index, Article("page", topic="ABCdeUVWXY" if first else "", at=MINUTE), _0=wire)
    other, _ = await checked_with(index, Article("other", topic="UVWXYz01" if first else "", at=2 * MINUTE), _40=page)
    follow_up, _ = await checked_with(index, Article("more", topic="ABCdemno" if first else "", at=HOUR), _80=page)
    assert joined is not None
    assert other is None
    assert (follow_up is not None) is bool(first)


@pytest.mark.parametrize(("topic", "joins"), [("ABCdefuv", True), ("UVWXYZ01", False)])
async def test_nobody_joins_through_a_page_with_sentences_of_two_stories(index: Index, topic: str, joins: bool) -> None:
    """A report shares sentences with the page, and terms with one of the stories. If they are alike, it joins."""
    _, one = await checked_with(index, Article("one", topic="ABCdefgh"))
    apart, other = await checked_with(index, Article("other", source="wire.example", topic=topic, at=MINUTE))
    _, page = await checked_with(index, Article("page", topic="ABCdeUVWXY", at=HOUR), _0=one, _40=other)
    report, _ = await checked_with(index, Article("report", topic="ABCUVWmno", at=2 * HOUR), _80=page)
    assert (apart is not None) is joins
    assert (report is not None) is joins


@pytest.mark.parametrize("like", ["", "report"])
async def test_a_translation_unites_the_stories_of_both_languages(index: Index, like: str) -> None:
    """It shares no terms with the page that it translates. The hash of source and number has a byte that is zero."""
    of_page = {"source": "one.example", "number": "118"}
    page = Article("page", language="en", topic="ABCdefgh", **of_page)
    report = Article("report", source="two.example", language="ru", topic="UVWXyz01", at=MINUTE)
    read = {"like": like, "equal": 100 if like else 0, "language": "ru", "topic": "UVWXyz02", "at": 2 * MINUTE}
    await match_of(index, page, report)
    united = await story_of(index, Article("translation", **read, **of_page))
    assert united == ((report.id, page.id) if like else (page.id, report.id))


@pytest.mark.parametrize(
    ("name", "names", "unites"), [("P", "PQABRST", True), ("P", "PQABCDx", False), ("X", "PQABRST", False)]
)
async def test_a_report_unites_its_story_with_one_in_another_language_if_names_are_enough(
    index: Index, name: str, names: str, unites: bool
) -> None:
    """A page that has the names of two events unites nothing: the first reports of each share no name."""
    page = Article("page", language="en", topic="ABCdefgh", names="PQRS")
    report = Article("report", language="ru", topic="UVWXYz01", names=name, at=MINUTE)
    assert await match_of(index, page, report) is None
    more = Article("more", language="ru", topic="UVWXYz02", names=names, at=2 * MINUTE)
    assert await story_of(index, more) == (report.id, page.id if unites else None)


async def test_a_copy_joins_by_the_topic_of_its_own(index: Index) -> None:
    first = Article("wire", topic="ABCdefgh")
    copy = Article("copy", like="wire", equal=100, topic="ABCdtuvw")
    by_copy = await match_of(index, first, copy, Article("own report", topic="ABTuvwxy"))
    assert (by_copy.original, by_copy.story, by_copy.id) == (first.id, first.id, copy.id)


async def test_a_copy_is_related_to_nothing_by_its_topic(index: Index) -> None:
    original = Article("wire")
    for article in (Article("another report", topic="ABCdefgh"), original):
        await check(index, article)
    match = await check(index, Article("copy", like="wire", equal=100, topic="ABCdefgh"))
    assert (match.original, match.related, match.topic_score) == (original.id, False, 0.0)


@pytest.mark.parametrize(
    ("source", "other", "matches"),
    [
        ("other.example", "ABcdeuvw", True),
        ("other.example", "aUVWXYZ1", False),  # other words, another title: a paragraph that is used again
        ("wire.example", "ABcdeuvw", True),
        ("wire.example", "abcdeUVW", True),
        ("other.example", "AcdefUVWXYZijklmnopq0123456789", True),  # half of the threshold is enough across sources
        ("wire.example", "AcdefUVWXYZijklmnopq0123456789", False),
        ("other.example", "cdefgUVWXYZijklmnopq0123456789", False),  # neither tells the title of the other
        ("wire.example", "", False),  # a table or a list
    ],
)
async def test_texts_that_share_a_part_are_related_if_their_topics_allow_it(
    index: Index, source: str, other: str, matches: bool
) -> None:
    first = Article("wire", source="wire.example", topic="ABcdefgh")
    match = await match_of(index, first, Article("a part of it", like="wire", equal=30, source=source, topic=other))
    assert (match is not None) is matches
    assert match is None or (match.related, match.topic_score) == (True, 0.0)


@pytest.mark.parametrize(
    ("other", "unites"),
    [
        ("eABUVW01", True),
        ("UVWXy201", False),  # the document fits both, but they have nothing in common
        ("uvefyijklmnopqrst0123456789z", False),  # hardly enough to join it
    ],
)
async def test_stories_are_one_if_a_document_fits_two_members_that_are_alike(
    open_store: OpenIndex, other: str, unites: bool
) -> None:
    index = await open_store(policy_with(topic_threshold=0.2))
    first, second = Article("wire", topic="ABCDefgh"), Article("other wire", topic=other, at=MINUTE)
    assert await match_of(index, first, second) is None
    found = await story_of(index, Article("report", topic="ABCDefUVWXy", at=2 * MINUTE))
    assert found == (first.id, second.id if unites else None)
