"""Limits of verdicts and matches: what counts if a value is exactly at its limit, unusual or damaged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from documents import WIRE, Article, check, topic

from scrapy_neardup.document import Match
from scrapy_neardup.evidence.topic import TITLE_BIT, topic_score
from scrapy_neardup.index import Index, Policy
from scrapy_neardup.rules.decision import is_same_source, is_same_url
from scrapy_neardup.rules.verdicts import verdict_of

ARTICLE = Article(url=WIRE, source="wire.example")


@pytest.fixture
async def match(index: Index) -> Match:
    """The match of a page that is crawled again with another text."""
    await check(index, ARTICLE)
    found = await check(index, ARTICLE.copy(text="edited", like="wire", equal=110))
    assert found is not None
    return found


@pytest.mark.parametrize(("beyond", "status"), [(-0.001, "update"), (0.0, "duplicate")])
def test_a_page_whose_text_reaches_the_threshold_is_a_copy(match: Match, beyond: float, status: str) -> None:
    policy = Policy(keep_updates=False)
    match = replace(match, score=policy.threshold + beyond)
    assert verdict_of(ARTICLE.document, ARTICLE.fingerprint, match, (), policy).status == status


def test_shares_have_four_digits(match: Match) -> None:
    match = replace(match, similarity=0.712345, containment=0.812345, share=0.912345)
    verdict = verdict_of(ARTICLE.document, ARTICLE.fingerprint, match, (), Policy())
    assert (verdict.similarity, verdict.containment, verdict.share) == (0.7123, 0.8123, 0.9123)


def test_a_hash_may_have_a_byte_of_zeros() -> None:
    one = replace(ARTICLE.fingerprint, source_hash=b"\0\1\2\3", url_hash=b"\0\1\2\3\4\5\6\7")
    assert is_same_source(one, one)
    assert is_same_url(one, one)


@pytest.mark.parametrize(("language", "read"), [("de", "de"), ("DE", ""), ("d1", ""), ("\0\0", ""), ("é", "")])
async def test_a_language_is_two_small_letters_or_unknown(index: Index, language: str, read: str) -> None:
    await check(index, replace(ARTICLE, language=language))
    found = await check(index, ARTICLE.copy())
    assert found is not None
    assert found.language == read


def test_the_first_slot_may_be_a_term_of_the_title() -> None:
    title, lead = TITLE_BIT.to_bytes(2, "big"), bytes(2)
    assert topic_score(title + topic("abcd"), title + topic("abcd")) > topic_score(
        lead + topic("abcd"), lead + topic("abcd")
    )
