"""Make the member of a story from a verdict, and the join that adds it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from scrapy_neardup.document import Document, Join, Match, Member, Verdict, one_line

_LEAD = 220  # characters
_FIRST_SENTENCE = re.compile(r".{40,}?[.!?…。！？](?=[\s”\"»]|$|(?<=[。！？]))")
_LEAD_WORDS = 6
_MOST_OF_LEAD = 20_000  # characters in which a lead is looked for


class JoinMaker:
    """Makes joins. ``owner_of`` returns who runs a source, and ``source_of`` the source of a url."""

    def __init__(self, owner_of: Callable[[str], str], source_of: Callable[[str], str]) -> None:
        self._owner_of = owner_of
        self._source_of = source_of

    def make(
        self,
        document: Document,
        verdict: Verdict,
        match: Match,
        *,
        figures: bytes,
        figures_before: bytes,
        figures_after: bytes,
        terms: tuple[str, ...],
    ) -> Join:
        """Return the join of a document that matched; for the figures see ``Join``, for the terms ``Member``."""
        # A match that is a later document of a story holds only the key of the story's first document.
        is_first = match.original == match.story
        url, title = (match.url, match.title) if is_first else ("", "")
        # When a story begins, the candidate is its first document, whose language is known. A copy of the first
        # document has the same language.
        language = match.language if match.candidate == match.story or not match.related else ""
        other = match.neighbour
        return Join(
            self._first(match.story, url, title, language),
            replace(self._member(document, verdict), topic=match.topic, terms=terms),
            # Each step from one related text to the next loses likeness. So a text that is related only to a related
            # text does not count as coverage, unless its topic is that of the whole story.
            counted=(not match.is_seen or not match.same_url) and (is_first or not match.related or match.topic > 0),
            registered_before=match.registered_before,
            counted_at=document.counted_second,
            figures_before=figures_before,
            figures_after=figures_after,
            figures=figures,
            neighbour=other if other and not other.unites else None,
            lead=_lead(document.text),
            also=self._first(other.story, other.url, other.title, other.language) if other and other.unites else None,
        )

    def _first(self, story: str, url: str, title: str, language: str) -> Member:
        """Return the first document of a story. It has no url if that is not known."""
        source = self._source_of(url) if url else ""
        return self._member(Document(story, url, source, title, "", 0.0, language=language), Verdict("original"))

    def _member(self, document: Document, verdict: Verdict) -> Member:
        return Member(
            id=document.id,
            url=document.url,
            title=document.title or _lead(document.text),
            source=document.source,
            owner=self._owner_of(document.source),
            status=verdict.status,
            kind=verdict.kind,
            changes=verdict.changes,
            language=document.language,
        )


def _lead(text: str) -> str:
    """Return the first sentence of a text: of its first line that is a sentence rather than a byline."""
    lines = (line.strip() for line in text[:_MOST_OF_LEAD].split("\n", 20))
    line = next((line for line in lines if len(line.split()) >= _LEAD_WORDS), "")
    sentence = _FIRST_SENTENCE.match(line[: 2 * _LEAD])
    return one_line(sentence[0] if sentence else line, _LEAD)
