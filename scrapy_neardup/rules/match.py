"""What a new document is to a candidate: a copy, related, or neither. The best candidate is the match.

What a guard finds in a pair is here too. The findings of a decision, in the order of its guards, are its trace.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple

from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.rules.pair import Pair


class Measured(NamedTuple):
    """A value with its bound. ``option`` names the parameter of the preset that is the bound."""

    what: str
    value: float
    bound: float
    option: str = ""

    @property
    def is_reached(self) -> bool:
        return self.value >= self.bound

    def __str__(self) -> str:
        """Return ``containment 0.448 < threshold = 0.45``: two digits, or as many as tell the value from its bound."""
        shown = str(self.value)
        if isinstance(self.value, float):
            enough = (size for size in (2, 3, 4) if self.value == self.bound or round(self.value, size) != self.bound)
            shown = f"{self.value:.{next(enough, 5)}f}"
        relation = ">=" if self.is_reached else "<"
        return f"{self.what} {shown} {relation} {self.option and f'{self.option} = '}{self.bound:g}"


class Finding(NamedTuple):
    """The answer of a guard: whether its statement ``applies``, and why."""

    applies: bool
    facts: tuple[Measured | str, ...]


def applies_if(applies: bool, fact: str) -> Finding | None:
    """Return a finding that applies, or None: then there is nothing to say."""
    return Finding(True, (fact,)) if applies else None


def too_low(*facts: Measured | str) -> Finding:
    """Return a finding that applies if one of the values does not reach its bound."""
    return Finding(any(isinstance(fact, Measured) and not fact.is_reached for fact in facts), facts)


# A rule: a function of one pair. It returns None if it has nothing to say of such a pair.
Guard = Callable[[Pair], Finding | None]


class Trace:
    """What guards found in a pair, in the order in which they were asked."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def applies(self, guards: Iterable[Guard], pair: Pair) -> bool:
        """Ask guards in their order, up to the first that applies. Return whether one does."""
        for guard in guards:
            finding = guard(pair)
            if finding is not None:
                self.findings.append(finding)
                if finding.applies:
                    return True
        return False


def any_applies(guards: Iterable[Guard], pair: Pair) -> bool:
    return Trace().applies(guards, pair)


@dataclass(slots=True)  # not frozen: a check may make dozens, and that takes three times as long
class Match:
    """A pair as the rules judge it. ``topic_score`` is 0 unless only topics or names relate the documents.

    ``findings`` are those of all guards that were asked, in their order.
    """

    pair: Pair
    relation: Literal["none", "copy", "related"]
    findings: list[Finding]
    topic_score: float = 0.0

    @property
    def related(self) -> bool:
        """Return whether it is similar enough to join the story, and too different to be a copy."""
        return self.relation == "related"

    @property
    def is_by_text(self) -> bool:
        """Return whether the texts themselves are alike, and not only their topics or names."""
        return not self.pair.is_translation and not self.topic_score

    @property
    def original(self) -> str:
        """Return the id of the candidate, or of the document that the candidate is a copy of."""
        return self.pair.old.original.hex()

    @property
    def original_url(self) -> str:
        return self.pair.old.of_original(self.pair.key)[0].decode("utf-8", "replace")

    @property
    def original_title(self) -> str:
        return self.pair.old.of_original(self.pair.key)[1].decode("utf-8", "replace")

    @property
    def story(self) -> str:
        """Return the id of the story's first document."""
        return self.pair.old.story.hex()

    @property
    def id(self) -> str:
        return self.pair.key.hex()

    @property
    def rank(self) -> tuple[bool, ...]:
        """Return the key by which candidates are sorted before they are sorted by ``nearness``, the best first."""
        pair = self.pair
        return (
            not pair.same_text,  # the same text first
            not pair.same_page,  # then the page itself, unchanged or changed
            not pair.is_wall,  # then a wall: it decides before an article with this text
            not pair.same_content or pair.same_page,  # then the same title, on another page
            pair.is_passed_over,  # then those whose texts were read
            self.related,  # copies before related texts
            self.topic_score > 0,  # those before texts that only share the topic
        )

    @property
    def nearness(self) -> tuple[float, bytes]:
        """Return the key of candidates of one rank. Their whole texts are compared for it.

        The most similar first, also by resemblance: with such a version figures and kind are best compared.
        """
        return -(self.topic_score or (self.pair.resemblance + self.pair.share) / 2), self.pair.age_rank

    @property
    def kept_share(self) -> float:
        """Return the share of the new document's text that is in a document that was kept.

        If the candidate was dropped, it is counted in the text of the document that was kept. If that text is gone, or
        the candidate would only have been dropped, it is the share in the candidate, times the share of the
        candidate's text that was kept.
        """
        if self.pair.old.is_dropped and self.pair.kept_comparison is not None:
            return self.pair.kept_comparison.share
        return self.pair.share * self.pair.old.kept_share_parts / WHOLE_TEXT


def best_match(matches: Iterable[Match]) -> Match | None:
    ranked = sorted(matches, key=attrgetter("rank"))
    # ``nearness`` reads whole texts, so it is asked only of those that share the best rank.
    first = [match for match in ranked if match.rank == ranked[0].rank]
    return min(first, key=attrgetter("nearness"), default=None)
