"""The guards of the rules for news, each a function of one pair. ``systems/news.py`` has their order.

If a proof stops, two documents are copies. If another guard stops, they are not what the list of this guard says.
"""

from __future__ import annotations

from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.evidence.figures import have_other_figures
from scrapy_neardup.evidence.minima import share_of_larger
from scrapy_neardup.evidence.names import LEAST_COMMON_NAMES, LEAST_COSINE
from scrapy_neardup.evidence.templates import has_other_name, template_evidence
from scrapy_neardup.evidence.topic import shared_terms, topic_cosine
from scrapy_neardup.rules.findings import Finding, Measured, found, too_low
from scrapy_neardup.rules.pair import Pair

STRONG_EVIDENCE = 0.9  # if the titles have nothing in common, a copy must hold at least this share of the larger text
SAME_SOURCE_SCORE = 0.7  # least score of two copies by one source
# Two texts share only a part if both their resemblance and their containment are below these bounds.
BACKGROUND = (0.52, 0.88)  # of two articles of one source
QUOTATIONS = (0.32, 0.62)  # of two articles of two sources
QUOTATIONS_IF_UNLIKE = (0.40, 0.66)  # the same, if their titles are unlike
SHORT_IN_LONG = (0.20, 0.88)  # a short article, and a long one that has parts of it
HALF_OF_TITLE = 0.5  # two titles that share less of the shorter one are unlike
TOLD_TITLES = 0.4  # mean share of two titles that the other text tells, if both are about the same
HELD = 0.8  # a copy holds this share of the smaller text, if its title is about something else

SAME_SOURCE_EXTRA = 0.15  # two topics of one source need a score that is so much higher
SUPPORTING_SHARE = 0.5  # of the least score: enough if a part of two texts of two sources is the same
NAMELESS_SCORE = 0.40  # of two topics whose documents have names, but none in common
FIRST_COSINE = 0.15  # of a document and the first document of the story that it joins by its topic
STRONG_SCORE = 0.36  # of two topics: then a story may have moved on from its first document
FIRST_COSINE_IF_STRONG = 0.05
NAME_SHARE = 0.04  # what a common name of two languages counts, as a cosine of vectors

_TEMPLATES = {
    "places": "names and figures between the same words differ",
    "first names": "both are short, and their first sentences have no name in common",
}

# Proofs


def one_page(pair: Pair) -> Finding | None:
    if not pair.same_page:
        return None
    if pair.same_url:
        return found(f"the same url, with {'the same' if pair.same_text else 'another'} text")
    return found("the same article number in both urls, and texts or titles are alike")


def one_text(pair: Pair) -> Finding | None:
    return found("the same text, except for case and punctuation") if pair.same_text else None


def translation(pair: Pair) -> Finding | None:
    return found("the same article number in both urls, and two languages") if pair.is_translation else None


# No match


def other_scope(pair: Pair) -> Finding | None:
    """``NEARDUP_SCOPE`` leaves such pairs out. It never leaves out the document's own page."""
    if pair.policy.allows(same_source=pair.same_source) or pair.same_page:
        return None
    sources = "one source" if pair.same_source else "two sources"
    return found(f"NEARDUP_SCOPE = {pair.policy.scope} allows no match of {sources}")


def dropped_boilerplate(pair: Pair) -> Finding | None:
    """The page was dropped because of lines that are known as boilerplate by now: judge it again."""
    if not (pair.same_text and pair.old.kept_share_parts < WHOLE_TEXT and pair.same_page):
        return None
    return found("other lines were compared before") if pair.new.signature != pair.old.signature else None


def other_table(pair: Pair) -> Finding | None:
    """Two tables of one source, such as two draws of a lottery."""
    if not pair.same_source or not pair.are_alike or pair.same_page or pair.same_text:
        return None
    if have_other_figures(pair.new.figures, pair.old.figures):
        return found("one source has them, and most of their figures differ")
    return None


def other_form(pair: Pair) -> Finding | None:
    """Two reports of one template. Two sources that each tell the title of the other do not fill in one template."""
    if pair.same_page or pair.same_text or not (pair.same_source or pair.are_alike):
        return None
    template = template_evidence(pair.new.specifics, pair.old.specifics)
    if not template or (not pair.same_source and _told(pair).is_reached):
        return None
    return found(f"reports of one template: {_TEMPLATES[template]}")


# No copy


def little_in_common(pair: Pair) -> Finding:
    """The texts have too little in common; two texts of one source need more."""
    threshold, option = pair.policy.threshold, "threshold"
    if pair.same_source and threshold < SAME_SOURCE_SCORE:
        threshold, option = SAME_SOURCE_SCORE, ""
    return too_low(Measured(pair.system.measure, pair.likeness.score, threshold, option))


def two_editions(pair: Pair) -> Finding | None:
    if not pair.same_source or not (pair.new.edition and pair.old.edition) or pair.new.edition == pair.old.edition:
        return None
    return found("one source has them under titles that name two days")


def unlike_titles(pair: Pair) -> Finding | None:
    """The shared text may be a notice that the source prints under every article."""
    if not pair.same_source or pair.titles:
        return None
    larger = share_of_larger(pair.likeness.similarity, pair.new.size, pair.old.size)
    measured = Measured("common share of the larger text", larger, STRONG_EVIDENCE)
    return Finding(not measured.is_reached, ("one source has them under titles without a common word", measured))


def shared_background(pair: Pair) -> Finding | None:
    """One source has them under different titles, and they share a background: little of both texts, not all of one."""
    if not pair.same_source or pair.titles == 1:
        return None
    return _small_part(pair, BACKGROUND, "one source has them under different titles")


def shared_quotation(pair: Pair) -> Finding | None:
    """Two sources share quotations: little of both texts, and not most of one."""
    if pair.same_source:
        return None
    return _small_part(
        pair, QUOTATIONS_IF_UNLIKE if pair.titles < HALF_OF_TITLE else QUOTATIONS, "two sources have them"
    )


def short_in_long(pair: Pair) -> Finding | None:
    """Under unlike titles of two sources, a long article has most of a short one, but not all of it."""
    is_asked = _has_unlike_titles_of_two(pair)
    return _small_part(pair, SHORT_IN_LONG, "two sources have them under unlike titles") if is_asked else None


def untold_title(pair: Pair) -> Finding | None:
    """Under unlike titles of two sources, neither beginning tells what the other title says."""
    if not (_has_unlike_titles_of_two(pair) and pair.new.topic and pair.old.topic):
        return None
    return too_low(_told(pair), Measured("containment", pair.likeness.containment, HELD))


def _small_part(pair: Pair, bounds: tuple[float, float], where: str) -> Finding:
    """Stop if both the resemblance and the containment are below their bounds."""
    resemblance = Measured("resemblance", pair.likeness.similarity, bounds[0])
    containment = Measured("containment", pair.likeness.containment, bounds[1])
    return Finding(not (resemblance.is_reached or containment.is_reached), (where, resemblance, containment))


def _has_unlike_titles_of_two(pair: Pair) -> bool:
    return not pair.same_source and pair.titles < HALF_OF_TITLE


def _told(pair: Pair) -> Measured:
    return Measured("share of both titles that the other text tells", pair.told_titles, TOLD_TITLES)


# Not dropped


def form_with_other_names(pair: Pair) -> Finding | None:
    """One source may have filled in a form twice: each title has a word of its own, or a name in one place differs."""
    if not pair.same_source or pair.same_page or pair.same_text:
        return None
    is_other = pair.titles < 1 or has_other_name(pair.new.specifics, pair.old.specifics)
    return found("kept: one source has them with different words in the titles, or another name") if is_other else None


# Not related by its text


def other_topic(pair: Pair) -> Finding | None:
    """Two texts share a part, but their topics do not support that they are related.

    The part may be a template, a frame of the site or a paragraph that is used again. Within one source that is more
    probable. If neither text has a topic, nothing can be said of two sources, and within one nothing is proved.
    """
    if not pair.new.topic and not pair.old.topic:
        return Finding(True, ("one source, and no topics",)) if pair.same_source else None
    least = SUPPORTING_SHARE * pair.policy.topic_threshold
    if pair.same_source:
        least = pair.policy.topic_threshold + SAME_SOURCE_EXTRA
    return too_low(Measured("score of the topics", pair.term_score, least))


# Not related by its topic


def low_topic_score(pair: Pair) -> Finding:
    least = pair.policy.topic_threshold + pair.extra + SAME_SOURCE_EXTRA * pair.same_source
    option = "" if pair.same_source else "topic_threshold"
    measured = Measured("score of the topics", pair.topic_score, least, option)
    if pair.vectors is None:
        return too_low(measured)
    parts = f"score of the terms {pair.term_score:.3f}, and {pair.vector_part:+.3f} for vectors"
    return Finding(not measured.is_reached, (f"{parts} with a cosine of {pair.vectors:.2f}", measured))


def no_common_name(pair: Pair) -> Finding | None:
    """Reports of one event name somebody or something alike; vectors tell it too."""
    if pair.vectors is not None or not (pair.new.names and pair.old.names):
        return None
    if shared_terms(pair.new.names, pair.old.names):
        return None
    measured = Measured("score of the topics", pair.topic_score, NAMELESS_SCORE)
    return Finding(not measured.is_reached, ("both have names, but none in common", measured))


def far_from_first(pair: Pair) -> Finding | None:
    """The document must resemble the first one of the story a little, so that a story does not drift.

    A high score, or a score with vectors, needs less of this.
    """
    if not pair.old.first_topic:
        return None
    is_strong = pair.vectors is not None or pair.topic_score >= STRONG_SCORE
    least = FIRST_COSINE_IF_STRONG if is_strong else FIRST_COSINE
    cosine = topic_cosine(pair.new.topic, pair.old.first_topic)
    return too_low(Measured("cosine with the first document of the story", cosine, least))


# Not related by its names


def few_common_names(pair: Pair) -> Finding:
    """In two languages names decide, in one alphabet."""
    least = LEAST_COSINE + SAME_SOURCE_EXTRA * pair.same_source
    common = Measured(
        "names that both languages share", len(shared_terms(pair.new.names, pair.old.names)), LEAST_COMMON_NAMES
    )
    cosine = Measured("score of the names", pair.names_score, least)
    return Finding(not (common.is_reached and cosine.is_reached), (common, cosine))


def other_meaning(pair: Pair) -> Finding:
    """The more names two languages share, the less alike their vectors must be."""
    assert pair.vectors is not None
    common = len(shared_terms(pair.new.names, pair.old.names))
    names = Measured("names that both languages share, with vectors", common, 1)
    if not names.is_reached:
        return too_low(names)
    bar = pair.policy.vector_bar + SAME_SOURCE_EXTRA * pair.same_source
    measured = Measured("their sum", foreign_score(pair), bar)
    parts = f"cosine of the vectors {pair.vectors:.2f}, and {NAME_SHARE} for each of {common} common names"
    return Finding(not measured.is_reached, (names, parts, measured))


def foreign_score(pair: Pair) -> float:
    """Return the score of two documents in two languages: that of their names, or with vectors that of both."""
    if pair.vectors is None:
        return pair.names_score
    return min(1.0, pair.vectors + NAME_SHARE * len(shared_terms(pair.new.names, pair.old.names)))
