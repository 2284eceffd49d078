"""How alike two topics are: laws of the scores, and Lua computes them bit for bit as Python does."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from cases import read_cases
from documents import LANES, Article, policy_with, topic
from hypothesis import given
from hypothesis import strategies as st

from scrapy_neardup.evidence.likeness import resemblance, share_of
from scrapy_neardup.evidence.topic import (
    HEAVIEST_TERM,
    LEAST_SHARED_TERMS,
    MOST_TOPIC_TERMS,
    TERM_WEIGHTS,
    TITLE_BIT,
    share_terms,
    topic_cosine,
    topic_score,
)
from scrapy_neardup.records.documents import Record, StoredText, new_record
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.guards import STRONG_SCORE, TERMS_ONLY_SCORE, only_through_another, other_topic
from scrapy_neardup.rules.match import Measured, Trace, any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.systems import NEWS, compare

FORMS = read_cases(Path(__file__).with_name("title_forms.txt"))
_TERMS = st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40, unique_by=lambda term: term[0])
TOPICS = _TERMS.map(lambda terms: b"".join(struct.pack(">H", slot + TITLE_BIT * titled) for slot, titled in terms))
"""Few slots, so that two topics have some in common."""


def record(**fields: str | int) -> Record:
    article = Article(**fields)  # type: ignore[arg-type]
    return new_record(article.fingerprint, article.document)


def related_topic_score(new: Record, old: Record, policy: Policy) -> float:
    pair = Pair(b"", new, old, policy)
    return 0.0 if any_applies(NEWS.not_by_topic, pair) else pair.topic_score


def slots(packed: bytes) -> list[int]:
    return [term % TITLE_BIT for (term,) in struct.iter_unpack(">H", packed)]


FEW = st.text("abcdef", max_size=6)
DOCUMENTS = st.builds(
    record,
    text=st.sampled_from("xy"),
    like=st.sampled_from(["x", ""]),
    equal=st.integers(0, 256),
    url=st.sampled_from(["", "https://a.example/1", "https://b.example/2"]),
    source=st.sampled_from(["", "a.example"]),
    number=st.sampled_from(["", "7"]),
    language=st.sampled_from(["", "en", "de"]),
    topic=FEW,
    names=FEW,
    vector=st.sampled_from([(), (90, 10), (90, 12)]),
)


@given(new=DOCUMENTS, old=DOCUMENTS)
def test_a_candidate_that_is_left_out_is_no_match(new: Record, old: Record) -> None:
    pair = Pair(b"", new, old, Judge(policy_with(topic_threshold=0.1)).policy)
    assert NEWS.may_match(pair) or compare(pair, NEWS).relation == "none"


@given(one=TOPICS, other=TOPICS)
def test_scores_are_symmetric_shares(one: bytes, other: bytes) -> None:
    for score in (topic_score, topic_cosine):
        assert score(one, other) == score(other, one)
        assert 0.0 <= score(one, other) <= 1.0 + 1e-12


@given(one=TOPICS, other=TOPICS)
def test_a_few_terms_in_common_score_nothing(one: bytes, other: bytes) -> None:
    common = set(slots(one)) & set(slots(other))
    assert (topic_score(one, other) > 0) is (len(common) >= LEAST_SHARED_TERMS)
    assert (topic_cosine(one, other) > 0) is bool(common)
    assert [share_terms(one, other, len(common) + more) for more in (0, 1)] == [True, False]


def test_a_term_weighs_more_than_the_one_behind_it() -> None:
    weights = list(TERM_WEIGHTS)
    assert (len(weights), weights[0]) == (MOST_TOPIC_TERMS, HEAVIEST_TERM)
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] >= 1
    first, between, last = (topic_cosine(topic("abcdef"), topic(each)) for each in ("abcuvw", "uabcvw", "uvwabc"))
    assert first > between > last


def test_two_reports_are_more_alike_if_each_has_the_terms_of_the_title_of_the_other() -> None:
    titles = (("abcdeFGH", "abcdeXYZ"), ("abcdefgh", "abcdewxy"), ("ABcdefgh", "abcdewxy"), ("ABcdefgh", "abCDewxy"))
    neither, unknown, one, both = (topic_score(topic(one), topic(other)) for one, other in titles)
    assert neither < unknown < one < both


TOPICS_AND_NAMES = {
    ("abcdefgh", "abcdefgh", "z"): True,
    ("abcdefgh", "uvwyzabcde", "z"): False,
    ("aBcdeFGhij", "uvWXyabcde", "xz"): False,
    ("aBcdeFGhij", "uvWXyabcde", "xzT"): True,  # people were harmed
    ("aBcdeFGhij", "uvwxYAbcde", "xz"): True,  # each tells of the title of the other
    ("abcdeFGHIJ", "uvwxyAbcde", "xz"): True,  # one title is wholly told
}


@pytest.mark.parametrize(("one", "other", "names"), TOPICS_AND_NAMES)
def test_documents_that_share_one_name_tell_of_each_other_s_title(one: str, other: str, names: str) -> None:
    old, new = (replace(record(topic=each), names=topic(its)) for each, its in ((one, "xy"), (other, names)))
    assert (topic_score(new.topic, old.topic) >= TERMS_ONLY_SCORE) == (one == other)
    assert bool(related_topic_score(new, old, Policy())) == TOPICS_AND_NAMES[one, other, names]
    assert related_topic_score(replace(new, names=old.names), old, Policy()) > 0.28


@pytest.mark.parametrize(
    ("topic", "headline", "equal", "joins"),
    [
        ("uvwxabcdef", "uvwxy", 0, False),
        ("uvwxabcdef", "abwxy", 0, True),
        ("uvwxabcdef", "uvwxy", LANES // 16, True),
        ("abcdefghuv", "uvwxy", 0, True),
    ],
)
def test_a_theme_shares_no_phrase_and_no_words_of_titles(topic: str, headline: str, equal: int, joins: bool) -> None:
    old = record(text="one", topic="abcdefghij", headline="abcde")
    new = record(text="two", like="one", equal=equal, topic=topic, headline=headline)
    assert (topic_score(new.topic, old.topic) >= TERMS_ONLY_SCORE) == (topic != "uvwxabcdef")
    assert bool(related_topic_score(new, old, Policy())) == joins


@pytest.mark.parametrize(("terms", "joins"), [("abcdefgh", True), ("uvwyzabcde", False)])
def test_a_high_score_needs_less_of_the_first_document(terms: str, joins: bool) -> None:
    one, other = record(topic="abcdefgh"), record(topic=terms)
    other.first_topic = topic("ijklmnopqh")
    assert 0.05 < topic_cosine(one.topic, other.first_topic) < 0.15
    assert (topic_score(one.topic, other.topic) >= STRONG_SCORE) == joins
    assert bool(related_topic_score(one, other, Policy())) == joins


@pytest.mark.parametrize(("terms", "is_other"), [("XYZabcdefgh", True), ("AYZbcdefgh", False), ("xyzabcdefgh", False)])
def test_texts_that_share_a_part_tell_something_of_each_other_s_title(terms: str, is_other: bool) -> None:
    new, old = record(text="two", topic=terms, url="https://b.example/"), record(text="one", topic="Abcdefgh")
    assert any_applies((other_topic,), Pair(b"", new, old, Policy())) == is_other


def test_texts_that_begin_alike_are_copies_far_from_the_first_document_of_a_story() -> None:
    old, new = record(text="one", topic="abcdefgh"), record(text="two", topic="ijklmnop")
    old.first_topic = topic("qrstuvwx")
    begins = "The ferry ran aground off Skerrow on Tuesday evening. Its steering failed in heavy seas, we hear.\n"
    texts = (StoredText.of("", begins + rest) for rest in ("All were saved.", "A tug was sent. The harbour is shut."))
    assert any_applies((only_through_another,), Pair(b"", new, old, Policy()))
    assert not any_applies((only_through_another,), Pair(b"", new, old, Policy()).with_texts(*texts, None))


@pytest.mark.parametrize(("case", "relation"), [(case, kind) for kind, cases in FORMS.items() for case in cases])
def test_one_source_fills_in_a_title_twice(case: tuple[str, str, str], relation: str) -> None:
    sides = zip(case[:2], (case[2], "ABcdefgh"), strict=True)
    pair = (record(text=title, title=title, topic=terms, source="paper.example") for title, terms in sides)
    assert compare(Pair(b"", *pair, Policy()), NEWS).relation == relation


def test_the_trace_shows_the_parts_of_a_score_with_vectors() -> None:
    one, other = record(topic="ABcdefgh"), record(topic="ABcdeuvw")
    plain = related_topic_score(one, other, policy_with(topic_threshold=0.0))
    one.vector = other.vector = bytes([100] * 4)
    pair = Pair(b"", one, other, policy_with(topic_threshold=0.0, vector_middle=0.5))
    assert pair.topic_score == pytest.approx(plain + 0.25)
    trace = Trace()
    trace.applies(NEWS.not_by_topic, pair)
    facts = [fact for finding in trace.findings for fact in finding.facts]
    assert f"score of the terms {plain:.3f}, and +0.250 for vectors with a cosine of 1.00" in facts


@pytest.mark.parametrize(
    ("value", "shown"), [(0.41, "0.41 <"), (0.448, "0.448 <"), (0.44996, "0.44996 <"), (0.45, "0.45 >="), (1, "1 >=")]
)
def test_the_trace_shows_as_many_digits_as_tell_a_value_from_its_bound(value: float, shown: str) -> None:
    assert str(Measured("score", value, 0.45)) == f"score {shown} 0.45"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (bytes(range(256)), bytes(range(256)), 1.0),
        (bytes(range(256)), bytes(129) + bytes(range(129, 256)), 127 / 255),
        (bytes(256), bytes(1) + b"\x01" * 255, 0.0),  # as many as are equal by chance
        (b"\x01\x02", b"\x01\x02\x03\x04", 0.0),
    ],
)
def test_resemblance_is_the_share_of_equal_lanes_less_those_by_chance(a: bytes, b: bytes, expected: float) -> None:
    assert resemblance(a, b) == expected


@given(st.sets(st.integers(0, 200), min_size=1), st.sets(st.integers(0, 200), min_size=1))
def test_containment_follows_from_resemblance_and_sizes(a: set[int], b: set[int]) -> None:
    jaccard = len(a & b) / len(a | b)
    assert share_of(jaccard, *sorted((len(a), len(b)))) == pytest.approx(len(a & b) / min(len(a), len(b)))
