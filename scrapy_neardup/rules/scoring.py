"""Score one candidate: whether it is the same page, a copy or a related text, and how much of the new text it holds."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.evidence.figures import (
    have_changed_figures,
    have_other_figures,
    lacks_toll,
    share_of_new_figures,
)
from scrapy_neardup.evidence.minima import SAME, Likeness, likeness_of, share_of, share_of_larger
from scrapy_neardup.evidence.names import LEAST_COMMON_NAMES, LEAST_COSINE, names_score
from scrapy_neardup.evidence.templates import share_of_new_specifics, template_evidence
from scrapy_neardup.evidence.titles import LIKE_TITLES, SAME_TITLES, title_overlap
from scrapy_neardup.evidence.topic import (
    COVERAGE_SHARE,
    LEAST_SHARED_TERMS,
    shared_terms,
    topic_cosine,
    topic_parts,
    topic_score,
)
from scrapy_neardup.evidence.vectors import cosine_of
from scrapy_neardup.records.documents import IS_DROPPED, Record
from scrapy_neardup.rules.match import STRONG_EVIDENCE, CandidateState, Match
from scrapy_neardup.rules.meaning import LEAST_TERMS, foreign_score, with_meaning
from scrapy_neardup.rules.policy import REVISIT_SHARE, Policy
from scrapy_neardup.rules.trace import SILENT, Trace

SAME_SOURCE_EXTRA = 0.15  # two topics of one source need a score that is so much higher
NAMELESS_SCORE = 0.40  # of two topics whose documents have names, but none in common
FIRST_COSINE = 0.15  # of a document and the first document of the story that it joins by its topic
STRONG_SCORE = 0.36  # of two topics: then a story may have moved on from its first document
FIRST_COSINE_IF_STRONG = 0.05
SUPPORTING_SHARE = 0.5  # of the least score: enough if a part of two texts of two sources is the same
SAME_SOURCE_SCORE = 0.7  # least score of two copies by one source
# If the titles differ, and each text has at least this share of names or figures that the other one lacks, these are
# two articles with a common introduction, notice, quotation or background.
OWN_FACTS = 0.15
SAME_LEAD = 0.4  # cosine of the topics of two texts with one beginning
TOLD_TITLES = 0.5  # mean share of two titles that the other text tells, if both are about the same
HELD = 0.8  # under unlike titles of two sources, two texts that share less of the smaller one may quote each other
_TEMPLATES = {
    "places": "names and figures between the same words differ",
    "first names": "both are short, and their first sentences have no name in common",
}


class Relation(NamedTuple):
    """What two documents have in common, if one is a match of the other."""

    same_source: bool
    same_text: bool
    overlap: float  # of the titles, if both are of one source, else 1
    same_page: bool
    related: bool  # too different to be a copy
    is_translation: bool
    topic: float  # score of the topics if they are related only by their topics, else 0


def score_candidate(
    key: bytes, new: Record, old: Record, policy: Policy, state: CandidateState = "seen", trace: Trace = SILENT
) -> Match | None:
    """Return the candidate as a match, or None if it is none under the policy."""
    likeness = likeness_of(new, old, policy.measure, policy.collisions)
    relation = relation_of(new, old, likeness, policy, trace)
    if relation is None:
        return None
    same_source, same_text, overlap, same_page, related, is_translation, topic = relation
    share = likeness.similarity
    if not same_text and policy.measure not in ("hamming", "cosine"):  # an estimate from sets
        share = share_of(share, new.size, old.size)
    # Figures and kind are best compared with the most similar version, so the similarity counts for the rank too.
    ranking_score = topic or ((likeness.similarity + share) / 2 if policy.by_titles else likeness.similarity)
    covered = 1.0 if same_text else new.own_parts / WHOLE_TEXT
    share *= covered  # nobody knows whether the candidate holds the lines that are left out
    is_page_changed = same_page and not same_text and share < REVISIT_SHARE
    is_wall = same_text and same_source and not same_page and not overlap and policy.by_titles and not new.tells_title
    if is_wall:
        trace.note("one source has the text under titles without a common word: it belongs to no article")
    return Match(
        key,
        old,
        state,
        similarity=likeness.similarity,
        containment=likeness.containment,
        score=likeness.score,
        share=share,
        covered=covered,
        same_text=same_text,
        same_page=same_page,
        related=related,
        is_translation=is_translation,
        topic=topic,
        ranking_score=ranking_score,
        lost_facts=0.0 if related or same_text or not policy.by_titles else _lost_facts(new, old),
        is_new_headline=same_source and not same_page and overlap < SAME_TITLES,
        is_wall=is_wall,
        must_stay=(same_page and ((policy.keep_updates and not same_text) or _is_variant_of_run(new, old)))
        or (not related and lacks_toll(old.figures, new.figures)),
        is_page_changed=is_page_changed and (policy.keep_updates or likeness.score < policy.threshold),
        figures=old.figures,
    )


def relation_of(new: Record, old: Record, likeness: Likeness, policy: Policy, trace: Trace) -> Relation | None:
    """Return what a new document has in common with an old one, or None if that is too little for a match."""
    same_source = is_same_source(new, old)
    same_text = new.text_hash == old.text_hash
    if same_text:
        trace.note("the same text, except for case and punctuation")
    overlap = title_overlap(new.titles, old.titles) if same_source else 1.0
    are_alike = likeness.score >= policy.related_threshold
    is_translation = not are_alike and _is_translation(new, old, trace)
    same_page = not is_translation and _is_same_page(new, old, overlap, are_alike, trace)
    if not same_page and not policy.allows(same_source=same_source):
        trace.note(
            f"NEARDUP_SCOPE = {policy.scope} allows no match of {'one source' if same_source else 'two sources'}"
        )
        return None
    if same_page and same_text and new.signature != old.signature and old.kept_share_parts < WHOLE_TEXT:
        return None  # it was dropped because of lines that are known as boilerplate by now: judge it again
    is_guarded = same_source and are_alike and not (same_page or same_text) and policy.by_titles
    if is_guarded and have_other_figures(new.figures, old.figures):
        trace.note("one source has them, and most of their figures differ")
        return None
    is_copy = same_page or _is_copy_by_text(new, old, likeness, overlap, same_source, policy, trace)
    topic = 0.0
    if not is_copy and not is_translation:
        if trace.at_least(policy.measure, likeness.score, policy.related_threshold, "related_threshold"):
            if not _supports(new, old, same_source, policy, trace):
                return None
        else:
            topic = related_topic_score(new, old, policy, trace=trace)
            topic = topic or _related_names_score(new, old, same_source, policy, trace)
            if not topic:
                return None
    # Two sources that report one event in other words do not fill in one template.
    may_be_template = not (same_page or same_text or is_translation) and (same_source or not topic)
    if may_be_template and (template := template_evidence(new.specifics, old.specifics)):
        trace.note(f"reports of one template: {_TEMPLATES[template]}")
        return None
    return Relation(same_source, same_text, overlap, same_page, not is_copy, is_translation, topic)


def _lost_facts(new: Record, old: Record) -> float:
    """Return the share of the names and figures, or of the figures alone, that only the new one of two texts has."""
    return max(share_of_new_specifics(new.specifics, old.specifics), share_of_new_figures(new.figures, old.figures))


def _have_own_facts(new: Record, old: Record, trace: Trace) -> bool:
    """Decide whether each of two texts has names or figures that the other one lacks, as two articles have."""
    return trace.at_least("own facts of each", min(_lost_facts(new, old), _lost_facts(old, new)), OWN_FACTS)


def _tell_both_titles(new: Record, old: Record, trace: Trace) -> bool:
    """Decide whether the beginning of each of two texts says what the title of the other one says."""
    told = topic_parts(new.topic, old.topic).titles / COVERAGE_SHARE
    return trace.at_least("share of both titles that the other text tells", told, TOLD_TITLES)


def _is_new_version(new: Record, old: Record, trace: Trace) -> bool:
    """Decide whether two texts of one source that have facts of their own are two versions of one article.

    Each tells what the title of the other one says, and no figure has another value. In a column, or in reports of one
    template, one of the two is different.
    """
    return _tell_both_titles(new, old, trace) and not have_changed_figures(new.figures, old.figures)


def _supports(new: Record, old: Record, same_source: bool, policy: Policy, trace: Trace) -> bool:
    """Decide whether the topics of two texts that share a part allow that they are related.

    The part may be a template, a frame of the site or a paragraph that is used again. Within one source that is more
    probable. If neither text has a topic, nothing can be said of two sources, and within one nothing is proved.
    """
    if not new.topic and not old.topic:
        return not same_source
    least = SUPPORTING_SHARE * policy.topic_threshold
    if same_source:
        least = policy.topic_threshold + SAME_SOURCE_EXTRA
    return trace.at_least("score of the topics", _topic_score(new.topic, old.topic, trace), least)


def is_same_source(a: Record, b: Record) -> bool:
    """Decide whether two documents have the same source, if they have any."""
    return a.source_hash == b.source_hash and any(a.source_hash)


def is_same_url(a: Record, b: Record) -> bool:
    """Decide whether two documents have the same url, if they have any."""
    return a.url_hash == b.url_hash and any(a.url_hash)


def _is_same_page(new: Record, old: Record, overlap: float, are_alike: bool, trace: Trace) -> bool:
    """Decide whether two documents are one page: by its url, or by its source's number for the article.

    A number alone proves nothing, because it may be that of a section: titles or texts must be alike as well. If a text
    has no signature, such as a paywall notice, equal texts prove nothing.
    """
    if is_same_url(new, old):
        trace.note(f"the same url, with {'the same' if new.text_hash == old.text_hash else 'another'} text")
        return True
    if not _have_same_number(new, old):
        return False
    have_titles = bool(new.titles and old.titles)
    if (are_alike and bool(new.signature)) or (have_titles and overlap >= LIKE_TITLES):
        trace.note("the same article number in both urls")
        return True
    return False


def _is_variant_of_run(new: Record, old: Record) -> bool:
    """Decide whether the old document is a variant, such as a print page, of the page that the new one is."""
    is_one_run = old.run != 0 and old.run & ~IS_DROPPED == new.run & ~IS_DROPPED
    return is_one_run and old.is_variant > new.is_variant


def _have_same_number(new: Record, old: Record) -> bool:
    return new.article_hash == old.article_hash and any(new.article_hash)


def _is_translation(new: Record, old: Record, trace: Trace) -> bool:
    """Decide whether two documents whose texts are not alike are one article in two languages, by its number."""
    if are_two_languages(new, old) and _have_same_number(new, old) and not is_same_url(new, old):
        trace.note("the same article number in both urls, and two languages")
        return True
    return False


def _is_copy_by_text(
    new: Record, old: Record, found: Likeness, overlap: float, same_source: bool, policy: Policy, trace: Trace
) -> bool:
    """Decide whether the texts are alike enough for a copy. ``overlap`` is that of the titles within one source.

    Two sources may quote one statement, or each other. The less the titles of one source agree, the more of its texts
    must agree. If the titles have nothing in common, the smaller text must be ``STRONG_EVIDENCE`` of the larger one:
    the shared text may be a notice that the source prints under every article.
    """
    if not same_source or not policy.by_titles:
        if not trace.at_least(policy.measure, found.score, policy.threshold, "threshold"):
            return False
        if not policy.by_titles or title_overlap(new.titles, old.titles) >= LIKE_TITLES:
            return True
        return _is_copy_under_unlike_titles(new, old, found.score, policy, trace)
    if found is SAME:
        return True
    if new.edition and old.edition and new.edition != old.edition:
        trace.note("one source has them under titles that name two days")
        return False
    if not overlap:
        larger = share_of_larger(found.similarity, new.size, old.size)
        trace.note("one source has them under titles without a common word")
        return trace.at_least("common share of the larger text", larger, STRONG_EVIDENCE)
    if overlap < SAME_TITLES:
        trace.note(f"one source has them under different titles, which share {overlap:.2f} of their terms")
        if _have_own_facts(new, old, trace) and not _is_new_version(new, old, trace):
            return False
    return trace.at_least(policy.measure, found.score, max(policy.threshold, SAME_SOURCE_SCORE))


def _is_copy_under_unlike_titles(new: Record, old: Record, score: float, policy: Policy, trace: Trace) -> bool:
    """Decide whether two texts of two sources are copies: one may quote the other, or both have one background."""
    trace.note("two sources have them under unlike titles, so one may quote the other")
    have_own, have_topics = _have_own_facts(new, old, trace), bool(new.topic and old.topic)
    if not trace.at_least(policy.measure, score, HELD):
        return not have_own and (not have_topics or _tell_both_titles(new, old, trace))
    # Below its own headline a copy begins as its match does, whatever the site adds.
    cosine = topic_cosine(new.topic, old.topic)
    return not (have_own and have_topics) or trace.at_least("cosine of the topics", cosine, SAME_LEAD)


def _topic_score(a: bytes, b: bytes, trace: Trace, least_terms: int = LEAST_SHARED_TERMS) -> float:
    if trace is not SILENT:
        trace.at_least("terms that the topics share", len(shared_terms(a, b)), least_terms)
    return topic_score(a, b, least_terms)


def least_common_terms(new: Record, old: Record) -> int:
    """Return how many terms two topics must share: fewer if vectors tell the rest. Two languages share only names."""
    has_vectors = bool(new.vector and old.vector)
    return LEAST_TERMS if has_vectors and not are_two_languages(new, old) else LEAST_SHARED_TERMS


def related_topic_score(new: Record, old: Record, policy: Policy, extra: float = 0.0, trace: Trace = SILENT) -> float:
    """Return the score of two topics if a document joins the story of another one by its topic, else 0.

    Reports of one event name somebody or something alike; vectors tell it too. The document must resemble the first
    document of the story a little, so that a story does not drift from one topic to the next. A high score, or a score
    with vectors, needs less of this.
    """
    same_source, cosine = is_same_source(new, old), cosine_of(new.vector, old.vector)
    score = _topic_score(new.topic, old.topic, trace, least_common_terms(new, old))
    if cosine is not None:
        score = with_meaning(score, cosine, policy, trace)
    least = policy.topic_threshold + extra + SAME_SOURCE_EXTRA * same_source
    if not trace.at_least("score of the topics", score, least, "" if same_source else "topic_threshold"):
        return 0.0
    if cosine is None and new.names and old.names and not shared_terms(new.names, old.names):
        trace.note("both have names, but none in common")
        if not trace.at_least("score of the topics", score, NAMELESS_SCORE):
            return 0.0
    if not old.first_topic:
        return score
    is_strong = cosine is not None or score >= STRONG_SCORE
    least = FIRST_COSINE_IF_STRONG if is_strong else FIRST_COSINE
    with_first = topic_cosine(new.topic, old.first_topic)
    return score if trace.at_least("cosine with the first document of the story", with_first, least) else 0.0


def _related_names_score(new: Record, old: Record, same_source: bool, policy: Policy, trace: Trace) -> float:
    """Return the score of two documents in two languages if names, with vectors if there are any, join them, else 0."""
    if not are_two_languages(new, old):
        return 0.0
    extra = SAME_SOURCE_EXTRA * same_source
    if (cosine := cosine_of(new.vector, old.vector)) is not None:
        return foreign_score(new, old, cosine, policy, extra, trace)
    score, least = names_score(new.names, old.names), LEAST_COSINE + extra
    if trace is not SILENT:
        trace.at_least("names that both languages share", len(shared_terms(new.names, old.names)), LEAST_COMMON_NAMES)
    return score if trace.at_least("cosine of the names", score, least) else 0.0


def are_two_languages(a: Record, b: Record) -> bool:
    return a.language != b.language and any(a.language) and any(b.language)
