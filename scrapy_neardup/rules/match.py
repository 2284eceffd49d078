"""The match of a document: the candidate that it was found to be like, with the numbers that say how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from scrapy_neardup.contracts import Judged
from scrapy_neardup.document import WHOLE_TEXT, Document
from scrapy_neardup.records.documents import Record

CandidateState = Literal["seen", "late", "lost"]
"""``seen``: the candidate is delivered or its run lives. ``late``: its run has been silent for a while. ``lost``: its
run is dead."""

CANDIDATE_STATES: tuple[CandidateState, ...] = get_args(CandidateState)

STRONG_EVIDENCE = 0.9  # if the titles have nothing in common, a copy must hold at least this share of the larger text
NEVER_DELIVERED_SHARE = -1.0  # too low for any copy to be dropped


@dataclass(slots=True)  # not frozen: a check may make dozens, and that takes three times as long
class Match:
    """A candidate of a document that passed verification.

    ``similarity`` is in [0, 1]. For MinHash signatures it estimates the Jaccard resemblance of the two shingle sets,
    with a standard error of about sqrt(J(1-J)/num_perm), 0.032 at most for 256 lanes. For other signatures it is the
    share of equal lanes, or the cosine.
    """

    key: bytes  # of the candidate
    record: Record = field(repr=False)
    state: CandidateState
    similarity: float
    containment: float
    score: float  # compared with the thresholds of the policy
    share: float  # share of the new document's text that the match also has
    covered: float  # share of the new document's text that was compared; the boilerplate of its source does not count
    same_text: bool
    same_page: bool  # or the same article number under another url
    related: bool  # similar enough to join the story, too different to be a copy
    is_translation: bool  # the same article in another language
    topic: float  # score of the topics if only they make it related, else 0; see ``evidence.topic``
    ranking_score: float  # the likeness by which candidates are ranked
    lost_facts: float  # share of the new document's names or figures that the candidate lacks
    is_new_headline: bool  # whether the candidate's source now prints the text under another title
    is_wall: bool  # the text stands under unlike titles of the source: it is no article
    # Whether the new document is kept although the candidate holds its text: its page has other words than before, or
    # it is the page's own url, and the candidate a variant of it in the same run.
    must_stay: bool
    # Whether the document's own url had another text before, in words or in figures that nobody reads. If the match is
    # of another page all the same, ``figures`` are those of that text.
    is_page_changed: bool
    figures: bytes  # packed
    # Id of an earlier document of the same page, which need not be the match. A page counts once in its story.
    earlier_of_page: str = ""
    also: Match | None = None  # the best match in another story, if both stories are one

    @property
    def original(self) -> str:
        """Return the id of the candidate, or of the document that the candidate is a copy of."""
        return self.record.original.hex()

    @property
    def url(self) -> str:
        """Return the url of the original."""
        return _text(self.record.of_original(self.key)[0])

    @property
    def title(self) -> str:
        """Return the title of the original."""
        return _text(self.record.of_original(self.key)[1])

    @property
    def story(self) -> str:
        """Return the id of the story's first document."""
        return self.record.story.hex()

    @property
    def candidate(self) -> str:
        """Return the id of the candidate."""
        return self.key.hex()

    @property
    def candidate_url(self) -> str:
        return _text(self.record.url)

    @property
    def candidate_title(self) -> str:
        return _text(self.record.title)

    @property
    def language(self) -> str:
        """Return the language of the candidate, ISO 639-1; "" if it is unknown."""
        code = self.record.language.decode("ascii", "replace")
        return code if code.isascii() and code.isalpha() and code.islower() else ""

    @property
    def is_seen(self) -> bool:
        """Return False if the candidate's run died before it delivered the candidate: nothing is a copy of it."""
        return self.state != "lost"

    @property
    def run(self) -> int:
        """Return the run that registered the candidate, 0 if the candidate is delivered."""
        return self.record.run_number

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool, float, bytes]:
        """Return the key by which candidates are sorted, the best first.

        The order is: the page itself unchanged, a wall, the same text, the page itself changed, copies, related texts,
        texts on the same topic. Among candidates of one kind the most similar comes first, and among equals the oldest.
        But if the page itself is unchanged, its newest version comes first: lines that are too short to compare may
        have changed since the oldest.
        """
        same_text, same_page = self.same_text, self.same_page
        age_key = bytes(0xFF - byte for byte in self.key) if same_text and same_page else self.key
        score = -self.ranking_score
        return (not same_text, not same_page, not self.is_wall, self.related, self.topic > 0, score, age_key)

    @property
    def kept_share(self) -> float:
        """Return the share of the new document's text that is in the nearest document that was kept.

        It is the share in the candidate, without that of the facts that the candidate lacks, times the share of the
        candidate's text that was kept. If a source prints a text again under another title, it probably adds something:
        then the share is 0 unless nearly all of the text is in the candidate. A candidate that may never be delivered
        does not count, and nothing counts for a document that must stay.
        """
        if self.state != "seen" or self.must_stay:
            return NEVER_DELIVERED_SHARE
        if self.is_new_headline and self.share < STRONG_EVIDENCE:
            return 0.0
        return max(0.0, self.share - self.lost_facts) * self.record.kept_share_parts / WHOLE_TEXT


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


Judge = Callable[[Document, Match | None], Judged]
"""A pure function that judges a document with its match. The document has the id under which it is registered.

A store may call it several times, with other matches, before the document is registered.
"""
