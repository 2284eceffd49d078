"""Every store: reports on the same names are related, and reports of one template are no match."""

from __future__ import annotations

import pytest
from conftest import OpenIndex
from documents import WIRE, Article, check, specifics

from scrapy_neardup.index import Index, Policy


@pytest.mark.parametrize(
    ("one", "other", "matches"),
    [
        ("abcde", "abcde", True),
        ("abcd", "abcd", False),  # too few to tell
        ("abcdefghijkl", "abcdemnopqrst", True),  # 5 of 12 and of 13 are 0.4
        ("abcdefghijklm", "abcdenopqrstu", False),
        ("efghijkl", "abcdefgh", False),  # no two of the first four in common: never compared
        ("", "abcdefgh", False),
    ],
)
async def test_a_report_on_the_same_names_is_related(index: Index, one: str, other: str, matches: bool) -> None:
    await check(index, Article("wire", names=one))

    match = await check(index, Article("own report", names=other))

    assert (match is not None) is matches
    assert match is None or (match.related, match.score < Policy().related_threshold) == (True, True)


async def test_a_topic_is_asked_from_its_very_threshold_on(open_index: OpenIndex, store_url: str) -> None:
    for threshold, matches in ((0.625, True), (0.626, False)):
        index = await open_index(store_url, Policy(topic_threshold=threshold), namespace=f"{threshold}")
        await check(index, Article("wire", names="abcdefgh"))

        match = await check(index, Article("own report", names="abcdeijk"))

        assert (match is not None) is matches


async def test_a_topic_joins_what_the_story_began_with_alone(index: Index) -> None:
    """Copies of the first document are what it was; a rewrite of it may be about something else already."""
    first = Article("wire", names="abcdefgh")
    await check(index, first)
    rewrite = Article("rewrite", names="abcdefxy")
    by_rewrite = await check(index, rewrite)
    of_rewrite = await check(index, Article("rewrite of the rewrite", names="abcxyz"))
    copy = Article("copy", like="wire", equal=100, names="abcdtuvw")
    await check(index, copy)
    by_copy = await check(index, Article("own report", names="abtuvw"))

    assert by_rewrite is not None
    assert (by_rewrite.original, by_rewrite.story, by_rewrite.candidate) == (first.id, first.id, first.id)
    assert of_rewrite is None
    assert by_copy is not None
    assert (by_copy.original, by_copy.story, by_copy.candidate) == (first.id, first.id, copy.id)


@pytest.mark.parametrize(("source", "matches"), [("wire.example", False), ("other.example", True), ("", True)])
async def test_one_source_writes_of_the_same_names_day_by_day(index: Index, source: str, matches: bool) -> None:
    await check(index, Article("wire", source="wire.example", names="abcdefgh"))

    match = await check(index, Article("own report", source=source, names="abcdefgh"))

    assert (match is not None) is matches


async def test_a_copy_is_related_to_nothing_by_its_topic(index: Index) -> None:
    original = Article("wire")
    for article in (Article("another report", names="abcdefgh"), original):
        await check(index, article)

    match = await check(index, Article("copy", like="wire", equal=100, names="abcdefgh"))

    assert match is not None
    assert (match.original, match.related) == (original.id, False)


async def test_reports_of_one_template_are_not_joined_by_their_topic(index: Index) -> None:
    await check(index, Article("wire", names="abcdefgh", specifics=specifics("AB", "123")))

    assert await check(index, Article("report", names="abcdefgh", specifics=specifics("CD", "456"))) is None


@pytest.mark.parametrize(
    ("one", "other", "matches"),
    [
        (("AB", "123"), ("CD", "456"), False),  # another report
        (("AB", "123"), ("AB", "456"), True),  # the report with other figures
        (("AB", "123"), ("AD", "123"), True),  # a name put right
        (("AB", "123"), ("CD", "123"), False),  # three of five is not enough
        (("ABC", "123"), ("ABD", "124"), True),
        (("A", "1"), ("B", "2"), True),  # too few to tell
        (("", "12345"), ("", "67890"), False),  # of a script without case
        (("", "12345"), ("", "17890"), False),
        (("", "12345"), ("", "12890"), True),
        (("", "1234"), ("", "5678"), True),
        (("AB", "123"), ("", ""), True),
        (("", "", "A"), ("", "", "B"), False),  # a few lines about somebody else
        (("", "", "AB"), ("", "", "CDB"), True),
        (("", "", "ABC"), ("", "", "DEF"), False),
        (("", "", "A"), ("AB", "123"), True),  # only one of the two is short
    ],
)
@pytest.mark.parametrize("equal", [110, 30], ids=["a copy", "a related one"])
async def test_another_report_of_one_template_is_no_match(
    index: Index, one: tuple[str, ...], other: tuple[str, ...], matches: bool, equal: int
) -> None:
    await check(index, Article(specifics=specifics(*one)))

    match = await check(index, Article("other", like="wire", equal=equal, specifics=specifics(*other)))

    assert (match is not None) is matches


async def test_a_template_never_hides_the_page_itself_or_its_very_text(index: Index) -> None:
    await check(index, Article(url=WIRE, specifics=specifics("AB", "123")))

    assert await check(index, Article("changed", url=WIRE, specifics=specifics("CD", "456"))) is not None
    assert await check(index, Article(specifics=specifics("CD", "456"))) is not None


async def test_texts_too_short_match_by_exact_text_alone(index: Index) -> None:
    await check(index, Article("Watch the video", short=True))

    same = await check(index, Article("Watch the video", short=True))
    other = await check(index, Article("Watch the pictures", short=True))

    assert same is not None
    assert (same.same_text, same.similarity) == (True, 1.0)
    assert other is None
