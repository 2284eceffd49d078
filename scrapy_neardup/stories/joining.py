"""Judge a document with its match: the verdict, and the join that adds the document to the story of the match."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_neardup.contracts import Judged
from scrapy_neardup.document import Document, Fingerprint, Join, Member
from scrapy_neardup.evidence.figures import Change, changed_figures, unpack_figures, value_hashes, with_labels
from scrapy_neardup.evidence.lead import find_lead
from scrapy_neardup.evidence.names import shared_names
from scrapy_neardup.evidence.topic import shared_words
from scrapy_neardup.rules.decision import verdict_of
from scrapy_neardup.rules.match import Match
from scrapy_neardup.rules.policy import Policy

Named = Callable[[str], str]


def judge(
    owner_of: Named, source_of: Named, fingerprint: Fingerprint, policy: Policy, document: Document, match: Match | None
) -> Judged:
    """Return the verdict on a document, and its join if it joins a story.

    ``owner_of`` returns who runs a source, and ``source_of`` the source of a url.
    """
    changes = _changes(document, fingerprint, match)
    told = [change for change in changes if change.line]
    verdict = verdict_of(document, fingerprint, match, [change.line for change in changes], policy)
    # A notice or a caption: copies of it are not coverage of a story.
    is_no_article = not fingerprint.signature or (match is not None and match.is_wall)
    if match is None or is_no_article or (match.is_seen and match.same_page and verdict.status != "update"):
        return Judged(verdict)

    def first(story: str, url: str, title: str, language: str) -> Member:
        """Return the first document of a story. It has no url if that is not known."""
        source = source_of(url) if url else ""
        return Member(story, url, title, source, owner_of(source), "original", language=language)

    terms = _shared(fingerprint, match, document) if match.topic else ()
    # Only the first document of a story has its url and title in the match.
    is_first = match.original == match.story
    url, title = (match.url, match.title) if is_first else ("", "")
    # When a story begins, the candidate is its first document, whose language is known. A copy of the first
    # document has the same language.
    language = match.language if match.candidate == match.story or not match.related else ""
    other = match.also
    join = Join(
        first(match.story, url, title, language),
        Member(
            id=document.id,
            url=document.link,
            title=document.title or find_lead("", document.text),
            source=document.source,
            owner=owner_of(document.source),
            status=verdict.status,
            kind=verdict.kind,
            changes=verdict.changes,
            language=document.language,
            topic=match.topic,
            terms=terms,
        ),
        is_coverage=_is_coverage(match),
        earlier_of_page=match.earlier_of_page,
        counted_at=document.counted_second,
        figures_before=b"".join(change.before for change in told),
        figures_after=b"".join(change.after for change in told),
        figures=value_hashes(unpack_figures(fingerprint.figures)),
        lead=find_lead(document.title, document.text),
        also=first(other.story, other.url, other.title, other.language) if other else None,
    )
    return Judged(verdict, join)


def _is_coverage(match: Match) -> bool:
    """Decide whether a document counts as coverage of its story: another page, that is about the same event."""
    if match.is_seen and match.same_page:
        return False
    # Each step from one related text to the next loses likeness. So a text that is related only to a related text does
    # not count. Topics do not lose likeness: they are compared with any member.
    return not match.related or match.topic > 0 or match.original == match.story


def _shared(fingerprint: Fingerprint, match: Match, document: Document) -> tuple[str, ...]:
    """Return the terms, or in another language the names, by which a document joined the story of its match."""
    of_topic = shared_words(fingerprint.topic, match.record.topic, document.title, document.text)
    of_names = shared_names(fingerprint.names, match.record.names, document.title, document.text)
    return of_topic if len(of_topic) >= len(of_names) else of_names


def _changes(document: Document, fingerprint: Fingerprint, match: Match | None) -> tuple[Change, ...]:
    """Return the figures that changed since the match, with their labels."""
    if match is None or not match.is_seen:
        return ()
    # Compare figures even if the bodies are equal: the figure may be in a headline that is left out of the body.
    if match.figures == fingerprint.figures or not (match.figures and fingerprint.figures):
        return ()
    # Packed figures have no labels but those of their kinds. The others are read from the text, if a figure changed.
    old, new, are_copies = unpack_figures(match.figures), unpack_figures(fingerprint.figures), not match.related
    if not changed_figures(old, new, are_copies=are_copies):
        return ()
    return changed_figures(old, with_labels(new, document.text), are_copies=are_copies)
