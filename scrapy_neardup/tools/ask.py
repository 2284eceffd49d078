"""Questions to a window for programs: what is new since the last time, who reports it, and who only reprints it.

``scrapy neardup ask`` and ``scrapy neardup mcp`` ask them, and the commands for people do too. Answers are plain data,
ready for JSON. Nothing is registered or changed. Titles, urls and figures in answers are texts of strangers' pages.
"""

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from scrapy_neardup import Member, NearDupDetector, Story
from scrapy_neardup.content.head import language_code
from scrapy_neardup.content.urls import require_page
from scrapy_neardup.evidence.figures.tolls import tolls_of
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.exceptions import InputError
from scrapy_neardup.records.documents import Record, StoredText, seconds_of
from scrapy_neardup.records.stories import StoryChange, owner_hash
from scrapy_neardup.rules.decision import Decision
from scrapy_neardup.rules.ledger import newest_of_owners, note
from scrapy_neardup.sketch.origin import packed_language, page_hash
from scrapy_neardup.stories.report import iso, languages_of, special_report, why_joined
from scrapy_neardup.stories.summary import headline_of, label_of, read_change, states_of
from scrapy_neardup.story import LEVELS, Ledger
from scrapy_neardup.text.words import has_words
from scrapy_neardup.tools.claim import MOST_WORDS, Claim, is_claim

MOST_CHANGES_READ = 500  # by one answer

# An answer on what is new ends with ``next``, the cursor behind it, and with ``more``: True if there is more to ask.
# ``gap`` is True if changes may have been forgotten before they were read. ``gone`` counts changes that cannot be told:
# the story has left the window, or it is so large that it does not list the document.
Answer = dict[str, Any]


class Ask:
    """Asks the window of an open detector, which judges no documents.

    ``since`` is the ``next`` of an earlier answer. Without it the answer begins with the first change that the window
    still has. Each answer reads at most ``most`` changes.

    Errors of the store are passed on. A cursor, an id or an address that cannot be read raises InputError.
    """

    def __init__(self, detector: NearDupDetector) -> None:
        self._detector = detector
        self._index = detector.index

    async def stories(
        self,
        since: str | None = None,
        *,
        sources: int = 1,
        language: str = "",
        source: str = "",
        most: int = MOST_CHANGES_READ,
    ) -> Answer:
        """Return each story that has changed, as it is now, with the documents that joined it and what else happened.

        A document becomes a story when another one joins it, so single documents are not told.

        Only stories with so many independent sources, reports in a language or of a source are returned, if these are
        given. Such a story is told when a document joins it next.
        """
        code, names = _wanted(language, source)
        news, end = await self._since(since, most)
        rows: dict[str, Answer] = {}
        for change, story, members in news:
            of_language = not code or code in languages_of(members)
            of_source = not names or any(names & {each.source, each.owner.casefold()} for each in members)
            if len(story.sources) < sources or not of_language or not of_source:
                continue
            row = rows.setdefault(
                story.id, {**_summary(story, members), "joined": [], "levels_since": [], "united": []}
            )
            if change.kind in LEVELS:
                row["levels_since"].append(change.kind)
            elif change.kind == "united":
                row["united"].append(change.story.hex())
            else:
                row["joined"] += map(_document, _joined(change, members))
        return {"stories": list(rows.values()), **end}

    async def changes(self, since: str | None = None, *, most: int = MOST_CHANGES_READ) -> Answer:
        """Return the figures that documents changed in their stories, and new states, in the order in which they came.

        A change is ``confirmed`` if enough independent sources print the new figure by now. A state has the first
        document that prints it; ``is_state`` tells it from the value of a single document.
        """
        news, end = await self._since(since, most)
        return {
            "changes": [
                {"story": story.id, **_document(member), **each}
                for change, story, members in news
                for member, each in _figure_rows(change, story, members)
            ],
            **end,
        }

    async def figures(self, since: str | None = None, *, most: int = MOST_CHANGES_READ) -> Answer:
        """Return the figures of each story that has changed: a row for each kind and source, with its newest value.

        ``is_state`` says whether this value counts now. A source whose document the story does not keep is "".
        """
        news, end = await self._since(since, most)
        stories = {story.id: (story, members) for _, story, members in news}.values()
        return {"figures": [row for story, members in stories for row in _printed(story, members)], **end}

    async def events(self, since: str | None = None, *, most: int = MOST_CHANGES_READ) -> Answer:
        """Return a report of each event that has reached a level. Without ``since`` report the events that run now."""
        if since is None:
            _, cursor = await self._index.changes.newest(1)
            running = [bytes.fromhex(story.id) for story in await self._index.events.running()]
            found = await self._index.stories.whole(running)
            return {
                "events": [self._report(*found[key]) for key in running if key in found],
                "next": cursor,
                "more": False,
                "gap": False,
                "gone": 0,
            }
        news, end = await self._since(since, most)
        return {
            "events": [
                self._report(story, members, change) for change, story, members in news if change.kind in LEVELS
            ],
            **end,
        }

    async def one_site(self, *, language: str = "", source: str = "", most: int = MOST_CHANGES_READ) -> Answer:
        """Return the articles of the window of which no other source has a copy or an update, the newest first.

        Each is told by its first document. A text that is too short to compare is left out. ``left_out`` counts what is
        more than ``most``. This reads the whole window.
        """
        code, names = _wanted(language, source)
        articles: defaultdict[bytes, list[tuple[bytes, Record]]] = defaultdict(list)
        for key, record in sorted(await self._index.documents.records(), reverse=True):
            articles[record.original].append((key, record))
        rows = []
        for documents in articles.values():
            key, record = documents[-1]
            is_known = len({each.source_hash for _, each in documents}) == 1 and not record.is_too_short
            if not is_known or (code and record.language != packed_language(code)):
                continue
            row = {**self._stored(key, record), "story": record.story.hex()}
            original = record.of_original(key)[0].decode("utf-8", "replace")  # it may have left the window
            is_chosen = not names or names & {row["source"], row["owner"].casefold()}
            if row["source"] and row["source"] == source_of(original) and is_chosen:
                rows.append(row)
        return {"one_site": rows[: max(1, most)], "left_out": len(rows[max(1, most) :])}

    async def story(self, story: str) -> Answer:
        """Return all that is known of a story: members, independent sources, reprints, and the history of its figures.

        ``story`` may be the id of a story that has become a part of it, or the url of a page that is in it.
        """
        if is_document_id(story):
            keys = [bytes.fromhex(story)]
        else:  # the story of the page's newest document first
            keys = [each.story for _, each in sorted((await self._of_page(story)).items(), reverse=True)]
        found = await self._index.stories.whole(keys)
        if not found:
            raise InputError(f"{story}: the window has no such story")
        return self._report(*next(found[key] for key in keys if key in found))

    async def has_seen(self, url: str) -> Answer:
        """Return the documents of a page that the window has, the newest last."""
        found = await self._of_page(url)
        stories = await self._index.stories.whole({each.story for each in found.values()})
        return {"seen": bool(found), "documents": self._documents(found, stories.values())}

    async def coverage(self, text: str = "", *, title: str = "", url: str = "", document: str = "") -> Answer:
        """Return who reports on the event of a text, of a page of the window, or of its document with an id.

        ``copies`` are the documents of the window with the same text or a version of it. ``reports`` are others on the
        same event. ``owners`` counts the independent owners of all these, ``owners_of_reports`` those of the reports.

        A text of one sentence is a claim. Then ``told`` are the documents that tell it, each with the sentence that
        says so, and ``figures`` says how many owners print its numbers of people harmed, and who contradicts them. A
        document that tells a claim does not prove it, and may quote or deny it.

        If ``measured`` is false, nothing is known, and ``why`` says the reason: nobody may have been asked.
        """
        if is_claim(text) and has_words(text) and not (title or url or document):
            return await self._told(text)
        key, record, status, why = await self._asked(text, title, url, document)
        story = (await self._index.stories.whole([record.story])).get(record.story)
        members = {bytes.fromhex(each.id): _document(each) for each in (story[1] if story else ())}
        records = await self._index.documents.records_of([*{record.original, record.match, *members}])
        known = {each: self._stored(each, found) for each, found in records.items()} | members
        known.pop(key, None)
        copies = {each for each in known if each in records and records[each].original == record.original}
        prints = [known[each] for each in sorted(copies)]
        reports = [known[each] for each in sorted(known.keys() - copies)]
        return {
            "measured": status != "unchecked",
            "why": why,
            "status": status,
            "story": _summary(*story) if story else None,
            "owners": _owners([*prints, *reports]),
            "owners_of_reports": _owners(reports),
            "copies": prints,
            "reports": reports,
        }

    async def _told(self, sentence: str) -> Answer:
        topics = self._detector.sketcher.topics
        if topics is None or not self._index.documents.policy.keep_texts:
            return {"measured": False, "why": "a claim needs the preset news, and a window that keeps texts"}
        # As long as an article, because a short text has no topic.
        _, candidates = await self._look("\n".join([sentence] * MOST_WORDS), sentence)
        claim = Claim(sentence, topics.frequencies)
        if claim.why_not:
            return {"measured": False, "why": claim.why_not}
        told = await self._telling(claim, candidates)
        found = await self._index.stories.whole({record.story for record, *_ in told.values()})
        members = {bytes.fromhex(each.id) for _, members in found.values() for each in members}
        told |= await self._telling(claim, await self._index.documents.records_of(members - candidates.keys()))
        if not told:
            summary = await self._index.summary()
            if summary.documents < 100 or len(summary.documents_per_slice) < 2:  # hours
                return {"measured": False, "why": "the window is too young to say that nobody tells it"}
        printed = Ledger()  # by these documents: one alone is no story
        rows = self._documents({key: record for key, (record, *_) in told.items()}, found.values())
        for row, (key, (_, text, sentence)) in zip(rows, sorted(told.items()), strict=True):
            row["sentence"] = sentence
            note(printed, tolls_of(text.title, text.text), owner_hash(row["owner"]), key, seconds_of(key))
        return {
            "measured": True,
            "why": "",
            "owners": _owners(rows),
            "figures": claim.figures([printed, *(story.ledger for story, _ in found.values())]),
            "stories": [_summary(*each) for each in found.values()],
            "told": rows,
        }

    async def _telling(
        self, claim: Claim, records: Mapping[bytes, Record]
    ) -> dict[bytes, tuple[Record, StoredText, str]]:
        """Return the documents that tell a claim, each with its text, and with its sentence."""
        found = {}
        for key, record in records.items():
            text = await self._index.documents.text_of(record)
            if text and (sentence := claim.sentence_in(text)):
                found[key] = record, text, sentence
        return found

    async def find(self, name: str) -> tuple[bytes, Record]:
        """Return key and record of the document with an id, or else of the newest one of a page."""
        if is_document_id(name):
            found = await self._index.documents.records_of([bytes.fromhex(name)])
        else:
            found = await self._of_page(name)
        if not found:
            raise InputError(f"{name}: not in the window; scrapy neardup watch --window shows what it holds")
        return max(found.items())

    async def _since(
        self, since: str | None, most: int
    ) -> tuple[list[tuple[StoryChange, Story, tuple[Member, ...]]], Answer]:
        """Return changes, each with its story as it is now, which may be another one of which it has become a part."""
        read = await self._index.changes.after(since, max(1, min(most, MOST_CHANGES_READ)))
        stories = await self._index.stories.whole([each.story for each in read.changes])
        news = [(each, *found) for each in read.changes if (found := stories.get(each.story))]
        untold = sum(each.kind == "joined" and not _joined(each, members) for each, _, members in news)
        return news, {
            "next": read.next,
            "more": read.has_more,
            "gap": read.is_gap,
            "gone": len(read.changes) - len(news) + untold,
        }

    def _report(self, story: Story, members: tuple[Member, ...], change: StoryChange | None = None) -> Answer:
        """Return the report of a story as it is now, under the id of the event if it is about the change to a level."""
        event = self._detector.stories.current(story, members)
        if change is not None and change.kind in LEVELS:
            item = None if change.kind == "ended" else change.document.hex()
            event = replace(event, level=change.kind, time=change.second, item=item, claimed_by=change.story.hex())
        report = special_report(event, zone=self._detector.settings.zone)
        return report if story.levels else {**report, "id": story.id, "level": None}

    async def _of_page(self, url: str) -> dict[bytes, Record]:
        page = page_hash(require_page(url))
        _, found = await self._look(url=url)
        return {key: record for key, record in found.items() if record.url_hash == page}

    async def _look(self, text: str = "", title: str = "", url: str = "") -> tuple[Decision, dict[bytes, Record]]:
        # A window of recorded documents is asked at its own time.
        now = time.time()
        newest, _ = await self._index.changes.newest(1)
        last = max((seconds_of(key) for each in newest for key in (each.story, each.document)), default=now)
        seen_at = last if abs(now - last) > self._index.documents.policy.window else now
        try:
            return await self._detector.look(self._detector.document(text, title=title, url=url, seen_at=seen_at))
        finally:
            self._detector.knowledge.discard_learned()

    async def _asked(self, text: str, title: str, url: str, document: str) -> tuple[bytes, Record, str | None, str]:
        """Return key and record of the document that is asked about, and the status and the reason of a text."""
        if text:
            if not has_words(text):
                raise InputError("the text has no words")
            decision, _ = await self._look(text, title, url)
            return b"", decision.record, decision.verdict.status, decision.verdict.reason or ""
        if document and not is_document_id(document):
            raise InputError(f"{document[:80]!r} is no id: an id has 16 hexadecimal digits")
        return *(await self.find(document or url)), None, ""

    def _documents(
        self, records: Mapping[bytes, Record], stories: Iterable[tuple[Story, Sequence[Member]]]
    ) -> list[Answer]:
        """Return documents by time: as their stories list them, or else as their records do."""
        listed = {bytes.fromhex(each.id): _document(each) for _, members in stories for each in members}
        return [listed.get(key) or self._stored(key, record) for key, record in sorted(records.items())]

    def _stored(self, key: bytes, record: Record) -> Answer:
        url = record.url.decode("utf-8", "replace")
        source = source_of(url)
        status = "duplicate"
        if record.original == key:
            status = "unchecked" if record.is_too_short else "original"
        return {
            "id": key.hex(),
            "time": iso(seconds_of(key)),
            "source": source,
            "owner": self._index.partition.judge.owner_of(source),
            "url": url,
            "title": record.title.decode("utf-8", "replace"),
            "status": status,
            "why": "",
        }


def _wanted(language: str, source: str) -> tuple[str, set[str]]:
    """Return the code of a language, and the names in lower case by which a source or owner may be known.

    A source may be given as a url too, and an owner as the tools of ``scrapy neardup mcp`` write it. Raise InputError
    if the language is none.
    """
    code = language_code(language)
    if language and not code:
        raise InputError(f"{language[:80]!r} is no language: give its ISO 639 code, such as en")
    return code, {unquote(source).casefold(), source_of(f"https://{source.rpartition('://')[2]}")} - {""}


def is_document_id(name: str) -> bool:
    return re.fullmatch("[0-9a-f]{16}", name) is not None


def _summary(story: Story, members: Sequence[Member]) -> Answer:
    return {
        "story": story.id,
        "headline": headline_of(members),
        "url": next((each.url for each in members), ""),
        "items": story.items,
        "copies": story.copies,
        "sources": len(story.sources),
        "languages": languages_of(members),
        "levels": list(story.levels),
        "is_muted": story.is_muted,
    }


def _document(member: Member) -> Answer:
    return {
        "id": member.id,
        "time": iso(member.seen_at),
        "source": member.source,
        "owner": member.owner,
        "url": member.url,
        "title": member.title,
        "status": member.status,
        "why": why_joined(member),
        "news": list(member.news),
    }


def _joined(change: StoryChange, members: Iterable[Member]) -> list[Member]:
    return [each for each in members if change.kind == "joined" and each.id == change.document.hex()]


def _figure_rows(change: StoryChange, story: Story, members: Sequence[Member]) -> Iterator[tuple[Member, Answer]]:
    """Yield the figures that a document changed, or the state that a change tells, unless it is no longer kept."""
    confirmed = {(label_of(each.kind), each.words) for each in story.ledger.states}
    for member in _joined(change, members):
        for each in map(read_change, member.changes):
            yield (
                member,
                {
                    **each._asdict(),
                    "words": each.words,
                    "confirmed": (each.figure, each.new) in confirmed,
                    "is_state": False,
                },
            )
    first = story.ledger.changed - len(story.ledger.states)
    for number, fact in enumerate(states_of(story.ledger, members, 0), first):
        is_told = change.kind == "state" and (change.second, change.document) == (number, fact.state.document)
        if is_told and fact.first:
            yield (
                fact.first,
                {
                    "figure": fact.label,
                    "old": fact.old,
                    "new": fact.state.words,
                    "words": fact.words,
                    "confirmed": True,
                    "is_state": True,
                },
            )


def _printed(story: Story, members: Iterable[Member]) -> list[Answer]:
    """Return what each owner prints of each kind of figure."""
    known = {bytes.fromhex(member.id): _document(member) for member in members}
    states = {(each.kind, each.value) for each in story.ledger.current.values()}
    return [
        {
            "time": iso(each.time),
            "story": story.id,
            "figure": label_of(each.kind),
            "value": each.words,
            "is_state": (each.kind, each.value) in states,
            **{name: known.get(each.document, {}).get(name, "") for name in ("source", "url", "title")},
        }
        for kind in sorted({each.kind for each in story.ledger.printed})
        for each in newest_of_owners(story.ledger, kind)
    ]


def _owners(rows: Iterable[Answer]) -> int:
    return len({row["owner"] for row in rows} - {""})
