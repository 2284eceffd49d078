"""Say in sentences which rules lead to the verdict on a document, given one earlier document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scrapy_neardup.document import Fingerprint, Kind, counted
from scrapy_neardup.evaluation.pairs import LookUp, Pair
from scrapy_neardup.evaluation.topics import TopicScore
from scrapy_neardup.records.documents import Record
from scrapy_neardup.similarity.likeness import STRONG_EVIDENCE, is_copy_within_source, template_evidence
from scrapy_neardup.similarity.verification import LEAST_WEIGHT

_KIND_MEANS = {
    "near": "about the same length",
    "abridged": "the match holds nearly all of it",
    "extended": "it holds its match and adds to it",
}
_TEMPLATES = {
    "places": "names and figures between the same words differ",
    "first names": "both are short, and their first sentences have no name in common",
}


def is_never_compared(pair: Pair, look_up: LookUp | None) -> bool:
    """Return whether only the look-up keys keep two documents apart. Without a look-up this is not known."""
    if not pair.are_signed or _excluded_by_scope(pair):
        return False
    return look_up is not None and look_up.shared_weight < LEAST_WEIGHT


def reasons_for(pair: Pair, topic: TopicScore | None, look_up: LookUp | None = None) -> Iterator[str]:
    """Yield the rules that led to the status of the second document, in the order they are applied.

    ``topic`` is None if the preset compares no topics, and ``look_up`` if the keys of the documents are not known.
    """
    if pair.same_url:
        yield f"the same url, with {'the same' if pair.same_text else 'another'} text"
    elif excluded := _excluded_by_scope(pair):
        yield excluded
    elif pair.same_text:
        is_copy = pair.same_page or pair.is_copy_by_text
        objection = "" if is_copy else ", but too few words for a copy under titles without a common word"
        yield f"the same text, except for case and punctuation{objection}"
    elif look_up is not None and is_never_compared(pair, look_up):
        yield from _never_compared(topic, look_up)
    elif pair.are_signed:
        yield _by_likeness(pair, topic)


def describe_kind(kind: Kind | None, resemblance: float, containment: float) -> Iterator[str]:
    """Say why a copy is of this kind, if resemblance and containment decide that."""
    if kind in _KIND_MEANS and containment:
        yield f"resemblance is {resemblance / containment:.2f} of containment: {_KIND_MEANS[kind]}"


def too_short(names: Sequence[str], prints: Sequence[Fingerprint], words: Sequence[int], least: int) -> Iterator[str]:
    """Yield a sentence for each text that has no signature."""
    for name, fingerprint, count in zip(names, prints, words, strict=True):
        if fingerprint.is_boilerplate:
            yield f"all of {name} is boilerplate: only the same page matches"
        elif not fingerprint.signature:
            yield f"{name} has {counted(count, 'word')}, under NEARDUP_MIN_WORDS = {least}: only exact repeats match"


def no_signature(names: Sequence[str], records: Sequence[Record]) -> Iterator[str]:
    """Yield a sentence for each document of a window that has no signature."""
    for name, record in zip(names, records, strict=True):
        if not record.signature:
            yield f"{name} is too short to compare: only exact repeats match"


def relation(value: float, bound: float, name: str = "") -> str:
    """Return ``0.85 >= 0.45`` or ``0.448 < NAME = 0.45``, with so many digits that the relation can be seen."""
    sign = ">=" if value >= bound else "<"
    digits = next((digits for digits in (2, 3, 4) if value == bound or round(value, digits) != bound), 5)
    return f"{value:.{digits}f} {sign} {f'{name} = ' if name else ''}{bound:g}"


def _never_compared(topic: TopicScore | None, look_up: LookUp) -> Iterator[str]:
    bands = f"never compared: none of {look_up.bands} bands"
    if topic is None:
        yield f"{bands} in common"
        return
    keys = f"{counted(look_up.shared_topic_keys, 'look-up key')} of the topics in common"
    yield f"{bands} and {keys}; 1 band or {LEAST_WEIGHT} keys are needed"
    if topic.role != "none":
        yield f"{_topic_clause(topic)}: {'enough, if they were compared' if topic.is_enough else 'not enough either'}"


def _excluded_by_scope(pair: Pair) -> str:
    if pair.in_scope or pair.same_page:
        return ""
    sources = "one source" if pair.same_source else "two sources"
    return f"NEARDUP_SCOPE = {pair.policy.scope} allows no match of {sources}"


def _by_likeness(pair: Pair, topic: TopicScore | None) -> str:
    clause, objection = _text_clause(pair), ""
    if pair.is_copy:
        return f"{clause}: a copy"
    if not pair.is_copy_by_text:
        clause, objection = _with_topics(pair, topic, clause)
    if objection:
        return f"{clause}: {objection}"
    if template := template_evidence(pair.a.specifics, pair.b.specifics):
        return f"{clause}, but {_TEMPLATES[template]}: reports of one template"
    return f"{clause}: the same story, not a copy" if pair.status == "related" else f"{clause}, but it is no match"


def _with_topics(pair: Pair, topic: TopicScore | None, clause: str) -> tuple[str, str]:
    """Return the clause with what the topics add to it, and why the documents are not related, "" if they may be."""
    if topic is None:
        return clause, "" if pair.shares_a_part else "another story"
    joins = topic.role == "join"
    if joins and topic.is_enough:
        clause = _topic_clause(topic)  # the text does not count
    elif topic.needed:
        clause = f"{clause}, {'and' if topic.is_enough != joins else 'but'} {_topic_clause(topic)}"
    if not topic.is_enough:
        return clause, "another story" if joins else "a part that unrelated texts share"
    if joins and topic.story_cosine is not None and topic.story_cosine < topic.least_story_cosine:
        unlike = relation(topic.story_cosine, topic.least_story_cosine)
        return f"{clause}, but those of B and of the whole story of A score {unlike}", "another story"
    return clause, ""


def _text_clause(pair: Pair) -> str:
    """Say how the likeness of the texts compares with the thresholds."""
    measure, score, threshold = pair.policy.measure, pair.score, pair.policy.threshold
    if pair.is_copy and not (pair.in_scope and pair.is_copy_by_text):
        return f"{measure} {score:.2f}, and the same article number in both urls"
    if score >= threshold:
        clause = f"{measure} {relation(score, threshold, 'NEARDUP_THRESHOLD')}"
        return clause if pair.is_copy or pair.is_copy_by_text else f"{clause}, but {_why_no_copy(pair)}"
    if pair.is_copy_by_text:
        larger = relation(pair.share_of_larger, STRONG_EVIDENCE)
        below = relation(score, threshold, "NEARDUP_THRESHOLD")
        return f"{measure} {below}, but the texts share {larger} of the larger one, which is enough within one source"
    clause = f"{measure} {relation(score, pair.policy.related_threshold, 'NEARDUP_RELATED_THRESHOLD')}"
    if score < pair.policy.related_threshold:
        return clause
    if not pair.shares_a_part:
        return f"{clause}, but one source has them under titles without a common word"
    return f"{clause}, though below NEARDUP_THRESHOLD = {threshold:g}"


def _why_no_copy(pair: Pair) -> str:
    """Say why two texts of one source are no copies, though the threshold is reached."""
    a, b = pair.a, pair.b
    if a.edition and b.edition and a.edition != b.edition:
        return "their titles name two days"
    if is_copy_within_source(pair.title_overlap, pair.score, pair.share_of_larger, pair.policy.threshold):
        return "most of their figures differ"
    return "one source has them under different titles, so a copy needs more"


def _topic_clause(topic: TopicScore) -> str:
    if topic.shared < topic.least_shared:
        return f"the topics have {counted(topic.shared, 'term')} in common, under {topic.least_shared}"
    return f"the topics score {relation(topic.score, topic.needed)}"
