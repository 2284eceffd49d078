"""The guards, each a function of one pair. The lists in ``rules/systems.py`` have their order.

A guard is named after the statement that it checks, and applies if the statement is true. Then two documents are what
the list of this guard says: related, or copies, or no copies.
"""

from collections.abc import Mapping

from scrapy_neardup.evidence.differing_places import filled_in
from scrapy_neardup.evidence.names import least_cosine, tolls_in
from scrapy_neardup.evidence.topic import UNKNOWN_COVERAGE, shared_terms, told_titles, topic_cosine
from scrapy_neardup.rules.match import Finding, Measured, applies_if, too_low
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.text.display import one_line

LEAST_COMMON = 0.49  # mean share that two copies have in common
LEAST_COMMON_OF_ONE_SOURCE = 0.67
WEIGHTS_OF_COMMON = {"resemblance": 4, "containment": 4, "titles": 2, "beginnings": 1}  # in this mean
TOLD_OF_FORM = 0.66  # less of a title is told by the text of another form of its source

SAME_SOURCE_EXTRA = 0.15  # two topics of one source need a score that is so much higher
LEAST_TOLD = 0.12  # of the title of each of two texts that share a part
SUPPORTING_SHARE = 0.5  # of the least score: enough if a part of two texts of two sources is the same
TOLL_LESS = 0.1  # two topics need so much less for each toll that both tell, or that has risen, for two at most
TOLLS_OF_ONE_EVENT = 5.5  # bits of two equal tolls, beside which the cosine of other names says nothing
TERMS_ONLY_SCORE = 0.40  # of two topics whose documents have little more than these terms in common
FIRST_COSINE = 0.15  # of a document and the first document of the story that it joins by its topic
STRONG_SCORE = 0.36  # of two topics: then a story may have moved on from its first document
FIRST_COSINE_IF_STRONG = 0.05
PHRASE = 0.03  # containment of two texts that share a phrase
TITLE_WORDS = 0.26  # overlap of two titles that share words
TOLD = 0.45  # of each title by the other text, if the documents share one name at most; one whole title is enough
# Resemblance of two texts, or of their beginnings, that tell the same, even if it is of several events.
SAME_ARTICLE = 0.6
NAME_SHARE = 0.04  # what a common name of two languages counts, as a cosine of vectors

# PROOFS


def one_page(pair: Pair) -> Finding | None:
    if not pair.same_page:
        return None
    if pair.same_url:
        return Finding(True, (f"the same url, with {'the same' if pair.same_text else 'another'} text",))
    return Finding(True, ("the same article number in both urls, and texts or titles are alike",))


def one_text(pair: Pair) -> Finding | None:
    return applies_if(pair.same_text, "the same text, except for case and punctuation")


# TRANSLATIONS


def translation(pair: Pair) -> Finding | None:
    return applies_if(pair.is_translation, "the same article number in both urls, and two languages")


# no_match


def other_form(pair: Pair) -> Finding | None:
    """Two reports of one form: their beginnings have other names in the same places, or a table has other figures."""
    compared = pair.comparison
    if compared is None or pair.same_page or pair.same_text:
        return None
    is_other = compared.has_other_names or (
        pair.same_source and (compared.has_other_figures or compared.has_other_subject)
    )
    return applies_if(is_other, "two reports of one form, filled in with other names or figures")


# no_copy


def less_alike_than_others(pair: Pair) -> Finding | None:
    return applies_if(pair.is_passed_over, "the texts of other candidates, which are more alike, were compared")


def little_in_common(pair: Pair) -> Finding:
    return too_low(Measured(pair.policy.preset.measure, pair.likeness.score, pair.policy.preset.threshold, "threshold"))


# also in not_by_text and not_by_topic
def filled_in_again(pair: Pair) -> Finding | None:
    """One source filled in a title twice, and a text tells little of the other title; or "Group A" became "Group B".

    If the texts were read, a name must be in the place of another one.
    """
    if not pair.same_source_without_tolls or pair.two_languages:
        return None
    replaced = filled_in(*(record.title.decode("utf-8", "replace") for record in (pair.new, pair.old)))
    if not replaced or (pair.comparison and not pair.comparison.names_another):
        return None
    if all(len(word) == 1 and word.swapcase() != word for word in replaced) and pair.share < 0.85:
        return Finding(True, ("two titles of one form that differ in single letters",))
    told = {*told_titles(pair.new.topic, pair.old.topic)} - {UNKNOWN_COVERAGE}  # of the titles that are known
    return too_low(Measured("share of a title of one form that is told", min(told, default=1.0), TOLD_OF_FORM))


def shared_part(pair: Pair) -> Finding:
    """The texts share only a part: quotations, a background, a notice, or a short article that is in a long one.

    Two articles of one source share more than that: its background, its headlines and its forms. So copies of one
    source must have more in common.

    Only the beginnings are counted in the texts. They are not read if even two equal ones would be too little for a
    copy. The rest is estimated from the sketches.
    """
    shares = {
        "resemblance": pair.likeness.similarity,
        "containment": pair.likeness.containment,
        "titles": pair.title_overlap,
    }
    least = LEAST_COMMON_OF_ONE_SOURCE if pair.same_source else LEAST_COMMON
    most = _mean_share(shares | {"beginnings": 1.0})
    if most >= least and (comparison := pair.comparison) is not None:
        shares["beginnings"] = comparison.held_beginnings
    listed = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    return too_low(f"a common part: {listed}", Measured("their weighted mean", _mean_share(shares), least))


def _mean_share(shares: Mapping[str, float]) -> float:
    weight = sum(WEIGHTS_OF_COMMON[name] for name in shares)
    return sum(WEIGHTS_OF_COMMON[name] * share for name, share in shares.items()) / weight


# NOT_DROPPED


def variant_came_first(pair: Pair) -> Finding | None:
    """The run has this page already, but only as a variant of it, such as a print page."""
    is_variant = pair.is_one_run and pair.old.is_variant > pair.new.is_variant
    return applies_if(pair.same_page and is_variant, "kept: this run only has a variant of its page")


def unread_text(pair: Pair) -> Finding | None:
    """The texts cannot be compared, or only their beginnings, and they are not equal to the last line.

    An equal text of another source that was no exact copy itself may have had lines that only its site repeats.
    """
    if (
        (pair.same_content and pair.is_kept_whole)
        or not pair.policy.keep_updates
        or (pair.kept_comparison and pair.new_text and not pair.new_text.is_cut)
    ):
        return None
    return Finding(True, ("kept: the text of its match is not there to compare, or its own is too long",))


def other_content(pair: Pair) -> Finding | None:
    """A sentence says what the text that was kept does not say."""
    if pair.kept_comparison is None or not pair.policy.keep_updates:
        return None
    sentence = pair.kept_comparison.first_new_statement
    if sentence is None:
        return Finding(False, ("no sentence says what the older text does not say",))
    return Finding(True, (f"kept: the older text does not say this: {one_line(sentence.shown, 120)}",))


# not_by_text; the first one is in no_copy too


def only_through_another(pair: Pair) -> Finding | None:
    """The documents share a part, and the new one is far from the first document of the old one's story.

    The old one may be a page with several events, such as a live blog. Nobody joins a story through it. But texts that
    begin alike are of one event.
    """
    if (
        not pair.old.first_topic
        or pair.likeness.similarity >= SAME_ARTICLE
        or (pair.comparison is not None and pair.comparison.held_beginnings >= SAME_ARTICLE)
    ):
        return None
    return too_low(_to_first(pair, FIRST_COSINE_IF_STRONG))


def other_topic(pair: Pair) -> Finding | None:
    """Two texts share a part, but their topics do not support that they are related.

    The part may be a template, a frame of the site or a paragraph that is used again. Then a title tells of something
    else. Within one source that is more probable. If neither text has a topic, nothing can be said of two sources, and
    within one nothing is proved.
    """
    if not pair.new.topic and not pair.old.topic:
        return applies_if(pair.same_source, "similar texts of one source, and no topics")
    threshold = pair.policy.preset.topic_threshold
    if pair.same_source:
        return too_low(_raised("score of the topics", pair.term_score, threshold, "topic_threshold", SAME_SOURCE_EXTRA))
    told = min(told_titles(pair.new.topic, pair.old.topic))
    return too_low(
        Measured("score of the topics", pair.term_score, SUPPORTING_SHARE * threshold, "half of topic_threshold"),
        Measured("share of each title that the other text tells", told, LEAST_TOLD),
    )


def one_source(pair: Pair) -> Finding:
    return Finding(pair.same_source, ())


# not_by_topic


def never(_: Pair) -> Finding:
    """Nothing relates two documents in this way."""
    return Finding(True, ())


def low_topic_score(pair: Pair) -> Finding:
    added = SAME_SOURCE_EXTRA * pair.same_source_without_tolls
    added -= TOLL_LESS * min(2, pair.tolls.equal + pair.tolls.is_risen)
    measured = _raised(
        "score of the topics", pair.topic_score, pair.policy.preset.topic_threshold, "topic_threshold", added
    )
    if pair.vector_cosine is None:
        return too_low(measured)
    return too_low(
        f"score of the terms {pair.term_score:.3f}, "
        f"and {pair.vector_part:+.3f} for vectors with a cosine of {pair.vector_cosine:.2f}",
        measured,
    )


def only_terms_in_common(pair: Pair) -> Finding | None:
    """Reports of one event share a name, and a phrase or words of their titles; those of one theme need not.

    If they share one name at most, such as that of a speaker, each must tell of the title of the other, unless people
    were harmed. Vectors and tolls of both tell one event too.
    """
    if pair.vector_cosine is not None or any(pair.tolls):
        return None
    new, old = pair.new.names, pair.old.names
    names = len(shared_terms(new, old))
    told = {*told_titles(pair.new.topic, pair.old.topic)} - {UNKNOWN_COVERAGE}
    tell_titles = min(told, default=1) >= TOLD or 1 in told
    have_subject = names > 1 or bool(tolls_in(new) or tolls_in(old)) or tell_titles
    share_words = pair.likeness.containment >= PHRASE or pair.title_overlap >= TITLE_WORDS
    if have_subject and share_words and (names or not (new and old)):
        return None
    shared = f"names in common {names}, titles {pair.title_overlap:.2f}, containment {pair.likeness.containment:.2f}"
    return too_low(shared, Measured("score of the topics", pair.topic_score, TERMS_ONLY_SCORE))


def far_from_first(pair: Pair) -> Finding | None:
    """The document must resemble the first one of the story a little, so that a story does not drift.

    A high score, or a score with vectors, needs less of this.
    """
    if not pair.old.first_topic:
        return None
    is_strong = pair.vector_cosine is not None or pair.topic_score >= STRONG_SCORE or any(pair.tolls)
    return too_low(_to_first(pair, FIRST_COSINE_IF_STRONG if is_strong else FIRST_COSINE))


def _to_first(pair: Pair, least: float) -> Measured:
    return Measured(
        "cosine with the first document of the story", topic_cosine(pair.new.topic, pair.old.first_topic), least
    )


def _raised(what: str, value: float, bound: float, option: str, added: float) -> Measured:
    """Return a value whose bound is a parameter of the preset with something added: "topic_threshold + 0.15"."""
    return Measured(what, value, bound + added, f"{option} + {added:g}" if added else option)


# not_by_names


def few_common_names(pair: Pair) -> Finding | None:
    """In two languages names decide, in one alphabet, unless there are vectors."""
    if pair.vector_cosine is not None:
        return None
    new, old = pair.new.names, pair.old.names
    common = Measured("names that both languages share", len(shared_terms(new, old)), pair.least_names)
    if pair.tolls.bits >= TOLLS_OF_ONE_EVENT and pair.tolls.equal > 1:
        return too_low(common)
    least = least_cosine(new, old)
    added = SAME_SOURCE_EXTRA * pair.same_source_without_tolls
    cosine = _raised("cosine of the names", topic_cosine(new, old), least, f"{least:g}" if added else "", added)
    return too_low(common, cosine)


def other_meaning(pair: Pair) -> Finding | None:
    """The more names two languages share, the less alike their vectors must be."""
    if pair.vector_cosine is None:
        return None
    common = len(shared_terms(pair.new.names, pair.old.names))
    names = Measured("names that both languages share, with vectors", common, 1)
    if not names.is_reached:
        return too_low(names)
    added = SAME_SOURCE_EXTRA * pair.same_source
    parts = f"cosine of the vectors {pair.vector_cosine:.2f}, and {NAME_SHARE} for each of {common} common names"
    return too_low(
        names, parts, _raised("their sum", foreign_score(pair), pair.policy.preset.vector_bar, "vector_bar", added)
    )


def foreign_score(pair: Pair) -> float:
    """Return the score of two documents in two languages: that of their names, or with vectors that of both."""
    if pair.vector_cosine is None:
        return pair.names_score
    return min(1.0, pair.vector_cosine + NAME_SHARE * len(shared_terms(pair.new.names, pair.old.names)))
