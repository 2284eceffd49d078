"""The systems: which guards each one asks, and what follows if one applies. ``rules/guards.py`` has the guards.

The order of the guards is the rule. The first lists are for every system.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from scrapy_neardup.evidence.topic import share_terms
from scrapy_neardup.rules import guards
from scrapy_neardup.rules.match import Guard, Match, Trace
from scrapy_neardup.rules.pair import Pair

# If one applies, the documents are related.
TRANSLATIONS: Sequence[Guard] = (guards.translation,)

# If one applies, the new document is a copy.
PROOFS: Sequence[Guard] = (guards.one_page, guards.one_text)

# Asked of all copies, also of proven ones: if one applies, the documents are only related. Empty now.
RELATED_ONLY: Sequence[Guard] = ()

# If one applies to a copy that would be dropped, or to an earlier version at its url, the copy is kept.
NOT_DROPPED: Sequence[Guard] = (
    guards.variant_came_first,
    guards.unread_text,
    guards.other_content,
)


class System(NamedTuple):
    """The guards of one system. There are two: ``NEWS`` and ``PUBLISHED``.

    ``may_match`` returns False only if two documents have no relation. It is faster than the guards.
    """

    may_match: Callable[[Pair], bool]
    no_copy: Sequence[Guard]
    not_by_text: Sequence[Guard]
    not_by_topic: Sequence[Guard]
    not_by_names: Sequence[Guard]
    no_match: Sequence[Guard] = ()


def compare(pair: Pair, system: System) -> Match:
    """Return what the new document of a pair is to the old one, with what the guards found."""
    trace = Trace()
    match = Match(pair, "none", trace.findings)
    if trace.applies(TRANSLATIONS, pair):
        match.relation = "related"
    elif trace.applies(PROOFS, pair) or not trace.applies(system.no_copy, pair):
        match.relation = "copy"
    elif pair.are_alike:
        if not trace.applies(system.not_by_text, pair):
            match.relation = "related"
    elif not trace.applies(system.not_by_topic, pair):
        match.relation = "related"
        match.topic_score = pair.topic_score
    elif pair.two_languages and not trace.applies(system.not_by_names, pair):
        match.relation = "related"
        match.topic_score = guards.foreign_score(pair)
    if match.relation != "none" and trace.applies(system.no_match, pair):
        match.relation = "none"
    if match.relation == "copy" and trace.applies(RELATED_ONLY, pair):
        match.relation = "related"
    return match


def may_be_news(pair: Pair) -> bool:
    """Decide whether it is worth while to ask the guards: four of five candidates share two or three rare terms."""
    return (
        pair.same_text
        or pair.same_url
        or pair.same_number
        or share_terms(pair.new.topic, pair.old.topic, pair.least_terms)
        or (pair.two_languages and share_terms(pair.new.names, pair.old.names, pair.least_names))
        or pair.are_alike
    )


NEWS = System(
    may_be_news,
    no_copy=(
        guards.less_alike_than_others,
        guards.little_in_common,
        guards.filled_in_again,
        guards.shared_part,
        guards.only_through_another,
    ),
    not_by_text=(guards.other_topic, guards.only_through_another, guards.filled_in_again),
    not_by_topic=(guards.low_topic_score, guards.only_terms_in_common, guards.far_from_first, guards.filled_in_again),
    not_by_names=(guards.few_common_names, guards.other_meaning),
    no_match=(guards.other_form,),
)

# A likeness, and a threshold for copies, whatever the titles are. See ``docs/published-systems.md``.
PUBLISHED = System(
    lambda _: True,
    no_copy=(guards.little_in_common,),
    not_by_text=(guards.one_source,),
    not_by_topic=(guards.never,),
    not_by_names=(guards.never,),
)
