"""A new document and an older one, with all that they have in common."""

from copy import copy
from functools import cached_property

from scrapy_neardup.document import WHOLE_TEXT
from scrapy_neardup.evidence.changes import changes_between
from scrapy_neardup.evidence.differences import Comparison, compare
from scrapy_neardup.evidence.edits import Change
from scrapy_neardup.evidence.figures.figure import SENTENCE_ENDS
from scrapy_neardup.evidence.likeness import Likeness, likeness, share_of
from scrapy_neardup.evidence.names import (
    LEAST_COMMON_NAMES,
    SharedTolls,
    is_caseless,
    names_beside,
    names_score,
    shared_tolls,
)
from scrapy_neardup.evidence.page_lines import Side
from scrapy_neardup.evidence.titles import LIKE_TITLES, title_overlap
from scrapy_neardup.evidence.topic import LEAST_SHARED_TERMS, topic_score
from scrapy_neardup.evidence.vectors import cosine_of
from scrapy_neardup.records.documents import DELIVERED, Record, StoredText
from scrapy_neardup.rules.policy import Policy

REWRITTEN_SHARE = 0.7  # of the text of a page that its earlier version holds
TOGETHER = 600  # seconds between two documents that count as those of one run if there are no runs
LEAST_TERMS_WITH_VECTORS = 2  # that two topics share: vectors tell whether more than accident made them share these

VECTOR_WEIGHT = 0.5  # of a cosine of vectors in the score of two topics of one language


class Pair:
    """A new document and a candidate. Each kind of evidence is computed when it is first asked for, once.

    ``key`` is that of the candidate. ``is_seen`` is False if its run died before it delivered the candidate: then
    nothing is a copy of it. ``kept_key`` and ``kept_text`` are those of the document that was kept, if the candidate
    was dropped as a copy of it, otherwise those of the candidate. ``kept_key`` is empty if that document is gone. A
    text is None if the window does not have it, and for all pairs that get no second look.
    """

    def __init__(
        self,
        key: bytes,
        new: Record,
        old: Record,
        policy: Policy,
        *,
        is_seen: bool = True,
        kept_key: bytes = b"",
    ) -> None:
        self.key = key
        self.kept_key = kept_key
        self.new = new
        self.old = old
        self.policy = policy
        self.is_seen = is_seen
        self.new_text: StoredText | None = None
        self.old_text: StoredText | None = None
        self.kept_text: StoredText | None = None
        self.is_passed_over = False
        self.same_text = new.text_hash == old.text_hash
        # A hash or code that is not known is all zeros. ``same_text`` ignores titles, and lines too short to compare.
        self.same_content = any(new.content_hash) and new.content_hash == old.content_hash  # title and every line
        self.same_source = any(new.source_hash) and new.source_hash == old.source_hash
        self.same_url = any(new.url_hash) and new.url_hash == old.url_hash
        self.same_number = any(new.article_hash) and new.article_hash == old.article_hash  # of one source
        self.two_languages = any(new.language) and any(old.language) and new.language != old.language

    def with_texts(self, new: StoredText, old: StoredText | None, kept: StoredText | None) -> "Pair":
        """Return the pair of a second look, which has the texts that are known."""
        pair = copy(self)
        pair.new_text = new
        pair.old_text = old
        pair.kept_text = kept if self.old.is_dropped else old
        return pair

    def passed_over(self) -> "Pair":
        """Return the pair if other candidates get a second look, which are more alike."""
        pair = copy(self)
        pair.is_passed_over = True
        return pair

    # Pages

    @cached_property
    def is_translation(self) -> bool:
        """Return whether two texts that are not alike are one article in two languages, by its number."""
        return not self.are_alike and self.two_languages and self.same_number and not self.same_url

    @cached_property
    def same_page(self) -> bool:
        """Return whether two documents are one page: by its url, or by its source's number for the article.

        A number alone proves nothing, because it may be that of a section: titles or texts must be alike as well. If a
        text has no signature, such as a paywall notice, equal texts prove nothing. Neither does a url with two texts in
        one run: the entries of a feed may share a link.
        """
        if self.is_translation or not (self.same_url or self.same_number):
            return False
        came_together = self.is_one_run
        if self.new.life == DELIVERED:  # outside of a crawl, their times tell
            came_together = abs(self.new.counted_at - self.old.counted_at) < TOGETHER
        if self.same_url and (self.same_text or not came_together):
            return True
        have_titles = bool(self.new.titles and self.old.titles)
        return (self.are_alike and not self.new.is_too_short) or (have_titles and self.title_overlap >= LIKE_TITLES)

    @property
    def is_one_run(self) -> bool:
        return self.old.life != DELIVERED and self.old.run == self.new.run

    # Texts

    @cached_property
    def likeness(self) -> Likeness:
        if self.same_text:
            return Likeness(1.0, 1.0, 1.0)
        return likeness(
            self.policy.preset.measure,
            self.new.signature,
            self.old.signature,
            self.new.size,
            self.old.size,
            self.policy.preset.collisions,
        )

    @cached_property
    def are_alike(self) -> bool:
        """Return whether the texts are alike enough for related documents."""
        return self.likeness.score >= self.policy.preset.related_threshold

    @property
    def is_kept_whole(self) -> bool:
        """Return whether all of the old text was kept, but for lines that its source repeats."""
        return self.same_source or self.old.kept_share_parts == WHOLE_TEXT

    @cached_property
    def comparison(self) -> Comparison | None:
        """Return how the sentences of the two texts compare, None if one of the texts is not there."""
        return self._compare(self.old_text)

    @cached_property
    def kept_comparison(self) -> Comparison | None:
        """Return the same for the document that was kept if the old one was dropped as a copy of it."""
        return self.comparison if self.kept_text is self.old_text else self._compare(self.kept_text)

    def _compare(self, old: StoredText | None) -> Comparison | None:
        if old is None or self.new_text is None:
            return None
        return compare(
            self._side(self.new, self.new_text),
            Side(old.title, old.text, language=self.old.language_code),
            self.new.learned,
        )

    def _side(self, record: Record, text: StoredText) -> Side:
        host = record.url.decode("utf-8", "replace").partition("//")[2].partition("/")[0]  # it may be no valid url
        return Side(text.title, text.text, host, record.language_code)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Return what the new text says in the place of something else, nothing without texts."""
        if self.comparison is None or self.new_text is None or self.old_text is None or not self.policy.keep_updates:
            return ()
        return changes_between(
            self._side(self.new, self.new_text), self._side(self.old, self.old_text), self.comparison
        )

    @property
    def share(self) -> float:
        """Return the share of the new text that the old one holds, both without boilerplate of their sources.

        It is counted in the texts. Without them the signatures tell it.
        """
        return self.estimated_share if self.comparison is None else self.comparison.share

    @cached_property
    def may_be_copy(self) -> bool:
        """Return whether the sketches are so alike that the texts are compared, or the pages are the same."""
        return self.same_text or self.same_page or self.likeness.score >= self.policy.preset.threshold

    @cached_property
    def estimated_share(self) -> float:
        """Return what the signatures tell of the share of the new text that the old one holds."""
        if self.same_text or self.policy.preset.measure in ("hamming", "cosine"):  # these say nothing of two sets
            return self.likeness.similarity
        return share_of(self.likeness.similarity, self.new.size, self.old.size)

    @property
    def containment(self) -> float:
        """Return the share of the smaller text that the larger one holds."""
        if self.comparison is None or self.same_text:
            return self.likeness.containment
        return max(self.comparison.share, self.comparison.share_of_old)

    @property
    def resemblance(self) -> float:
        """Return how alike the texts are, in [0, 1]: the share of the words of both that both have.

        Without texts it is estimated from the signatures: the Jaccard resemblance of the two shingle sets, with a
        standard error of about sqrt(J(1-J)/num_perm), 0.032 at most for 256 lanes. For other signatures it is the share
        of equal lanes, or the cosine.
        """
        if self.comparison is None or self.same_text or self.policy.preset.measure in ("hamming", "cosine"):
            return self.likeness.similarity
        return self.comparison.resemblance

    # Titles

    @cached_property
    def title_overlap(self) -> float:
        return title_overlap(self.new.titles, self.old.titles)

    # Pages that changed

    @property
    def age_rank(self) -> bytes:
        """Return the key by which candidates that are as good are sorted: the oldest first.

        But of the unchanged page the newest: lines too short to compare may have changed.
        """
        if self.same_text and self.same_page:
            return bytes(0xFF - byte for byte in self.key)
        return self.key

    @property
    def is_rewritten(self) -> bool:
        """Return whether the document's own page had another text before, which does not say what the new one says.

        Without texts it is rewritten if its earlier version holds too little of it.
        """
        if not self.same_page or self.same_content:
            return False
        if self.comparison is None:
            return not self.same_text and self.share < REWRITTEN_SHARE
        # If only lines too short for ``same_text`` differ, those without a full stop are counters, clocks and the like.
        # Of a title the figures count.
        return any(
            not self.same_text or sentence.has_firm_difference or sentence.text.endswith(SENTENCE_ENDS)
            for sentence in self.comparison.differing
        )

    @property
    def is_wall(self) -> bool:
        """Return whether the source prints the text under titles without a common word: then it is no article.

        So it is with "Subscribe to read on". A text that says what its title says is an article all the same.
        """
        is_on_two_pages = self.same_text and self.same_source and not self.same_page
        return is_on_two_pages and not self.title_overlap and not self.new.tells_title

    # Topics

    @cached_property
    def vector_cosine(self) -> float | None:
        """Return the cosine of the vectors, None if a document has none."""
        return cosine_of(self.new.vector, self.old.vector)

    @property
    def least_terms(self) -> int:
        """Return how many terms two topics must share: fewer if vectors tell the rest, in one language."""
        if self.new.vector and self.old.vector and not self.two_languages:
            return LEAST_TERMS_WITH_VECTORS
        return LEAST_SHARED_TERMS

    @property
    def least_names(self) -> int:
        """Return how many names two languages must share, tolls among them: fewer if vectors or tolls tell the rest."""
        if self.new.vector and self.old.vector:
            return 1
        # A text without capitals is known by its many names. German has as many, because all its nouns have a capital.
        lacks_capitals = any(is_caseless(record.names) for record in (self.new, self.old) if record.language != b"de")
        others = names_beside(self.tolls, self.new.names, self.old.names, lacks_capitals=lacks_capitals)
        return min(LEAST_COMMON_NAMES, self.tolls.equal + others)

    @cached_property
    def term_score(self) -> float:
        """Return the score of the two topics by their terms."""
        return topic_score(self.new.topic, self.old.topic, self.least_terms)

    @cached_property
    def vector_part(self) -> float:
        """Return what vectors add to the score of two topics, or take off it. Topics without common terms get none."""
        if self.vector_cosine is None or not self.term_score:
            return 0.0
        return VECTOR_WEIGHT * (self.vector_cosine - self.policy.preset.vector_middle)

    @property
    def topic_score(self) -> float:
        return min(1.0, self.term_score + self.vector_part)

    @cached_property
    def tolls(self) -> SharedTolls:
        return shared_tolls(self.new.names, self.old.names)

    @property
    def same_source_without_tolls(self) -> bool:
        """Return whether one source printed both, and no toll shows that the new one goes on with the old one."""
        return self.same_source and not any(self.tolls)

    @cached_property
    def names_score(self) -> float:
        """Return how well the names agree, in one alphabet: their cosine, less with three common ones, 0 with fewer."""
        return names_score(self.new.names, self.old.names, self.least_names)
