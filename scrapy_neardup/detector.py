"""NearDupDetector: Document -> Verdict, the one door to everything below. Works in any asyncio program."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

import xxhash

from scrapy_neardup.content import (
    LONGEST_URL,
    article_number,
    domain_of,
    language_code,
    source_of,
    url_identity,
    without_surrogates,
)
from scrapy_neardup.document import (
    EVERYWHERE,
    Document,
    Fingerprint,
    Join,
    Kind,
    Learned,
    Match,
    Member,
    Reason,
    Status,
    Verdict,
)
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index import RECORD_VERSIONS, Breaker, Index, Selection, StoreSummary, index_from_url
from scrapy_neardup.index.runs import Run
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch import Sketcher, has_words, source_hash, unpack_sketch
from scrapy_neardup.sketch.guards.figures import Change, changed_figures, find_figures, unpack_figures, value_hashes
from scrapy_neardup.sketch.signatures.simhash import finds_every_match
from scrapy_neardup.stories import StoryEvent, StoryTracker
from scrapy_neardup.timings import Timings

logger = logging.getLogger(__name__)

R = TypeVar("R")
_LEAD = 120  # characters
_LEAD_WORDS = 6
_MOST_OF_LEAD = 20_000  # characters in which it is looked for
_SKETCHED_TOGETHER = 16
_LONGEST_TITLE = 1000  # characters
_SKETCHED_CHARACTERS = 30_000  # together
_DIGIT_EFFORT = 6
_LONG_TEXT = 8_000  # characters; from here on sketching the worst of texts would hold up the event loop
_LEARNED_TOGETHER = 64  # documents whose features are counted before a store is told
_LAST_SECOND = 0xFFFF_FFFF
_MOST_WARNINGS = 100  # of a kind that names documents
_NEAR_SIZE = 0.75  # a copy whose shingle set is smaller than this share of the other's is abridged or extended


class NearDupDetector:
    """Judges documents one by one against the window.

    ``run`` makes document ids: within one run the same document, checked again, keeps its verdict; another run that
    meets the same page is a revisit. It is drawn at random unless given.

    With ``delivers_later`` documents count as seen for good only once ``delivery`` is told that they are delivered;
    what is registered when the process dies counts for nothing.
    """

    def __init__(
        self,
        settings: NearDupSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        run: str | None = None,
        index: Index | None = None,
        delivers_later: bool = False,
    ) -> None:
        self.settings = settings or NearDupSettings()
        self.preset = self.settings.resolved_preset()
        by_source = self.settings.scope == "same-source"
        self.sketcher = Sketcher(
            self.preset,
            min_words=self.settings.min_words,
            figures=self.settings.keep_updates,
            by_source=by_source,
        )
        self.index = index or index_from_url(
            self.settings.store,
            namespace=self.settings.window_namespace,
            config=self.preset.config(by_source=by_source, records=RECORD_VERSIONS),
            policy=self.settings.policy(),
            timeout=self.settings.store_timeout,
            shards=self.settings.shards,
        )
        self.stories = StoryTracker(self.index, self.settings.event_rule, self.settings.events_per_day)
        self.breaker = Breaker()
        self.delivery: Run | None = None
        if delivers_later:
            self.delivery = Run(
                self.index, lambda call: self._kept(call, "What was delivered"), lambda: self.breaker.is_open
            )
        self._events: list[StoryEvent] = []
        self._taken: list[StoryEvent] = []
        self._clock = clock
        self._run = secrets.token_hex(8) if run is None else run
        self._serial = itertools.count()
        self._opened = False
        self._beginning = asyncio.Lock()
        self._told: set[str] = set()  # warnings
        self._turn = asyncio.Lock()  # whose turn it is to be sketched; the first that waits is the next
        self.times = {"sketch": self.sketcher.timings, "check": Timings()}
        self._sketched = False
        self._long_texts = ThreadPoolExecutor(1, thread_name_prefix="neardup-sketch")

    async def open(self) -> None:
        """Open the store. Raises StoreError where it cannot be used; ``check`` then tries again by itself."""
        try:
            await self.index.open()
        except StoreError as error:
            self.breaker.failed(error)
            raise
        await self._begin()
        await self._share_frequencies()
        await self._share_boilerplate()

    async def _begin(self) -> None:
        async with self._beginning:  # several checks may open the store together
            if not self._opened and self.delivery is not None:
                await self.delivery.begin()
            self._opened = True

    async def prepare(self) -> None:
        """Import in a thread what the first document needs: half a second's work, no longer the event loop's."""
        await asyncio.get_running_loop().run_in_executor(self._long_texts, self._import)
        self._sketched = True

    def _import(self) -> None:
        source_of("https://www.example.com/"), url_identity("https://www.example.com/")
        self.sketcher.prepare()

    async def close(self) -> None:
        """Wait for the checks under way and let go of the store."""
        self._long_texts.shutdown(wait=False, cancel_futures=True)
        if self._opened and not self.breaker.is_open:
            await self.confirm_events()
            await self._share_frequencies()
            await self._share_boilerplate()
        try:
            if self.delivery is not None:
                await self.delivery.end()
        finally:
            await self.index.close()

    async def summary(self) -> StoreSummary:
        """What the store holds. Raises StoreError where it cannot be asked."""
        return await self.index.summary()

    async def purge(self, *, source: str = "", url: str = "", dry_run: bool = False) -> int:
        """Remove the documents of a source (a domain or url of it) or of a page, or the whole namespace.

        Returns how many documents go, with those that name one of them as their original. ``dry_run`` only counts.
        Raises StoreError where the store fails, and ValueError on what is no source or web address.
        """
        return await self.index.purge(_selection(source, url), dry_run=dry_run)

    async def similar(self, document: Document, most: int = 20) -> list[Match]:
        """What the store holds that is like a document, copies and related texts, best first; it is not registered.

        Reads everything the store holds, or, if the plan of a SimHash is sure to find every match, its tables alone.
        Raises StoreError where it cannot be asked.
        """
        fingerprint = await self._fingerprint(document)
        return await self.index.similar(fingerprint, document, most, by_keys=finds_every_match(self.preset))

    def document(
        self,
        text: str,
        *,
        url: str = "",
        title: str = "",
        seen_at: float | None = None,
        canonical: str = "",
        url_is_own: bool = True,
        language: str = "",
    ) -> Document:
        """A document of this run. Never raises: a value of another type than text or number counts as none.

        ``canonical`` is the url that the page gives as its own, where it gives one; ``url_is_own`` is False where the
        url is a page that holds several documents. ``language`` is a tag as "en" or "pt-BR".
        """
        text, url, title, canonical, language = map(_as_text, (text, url, title, canonical, language))
        url, title = without_surrogates(url), without_surrogates(title[:_LONGEST_TITLE])
        seconds = min(max(self._seconds(seen_at), 0.0), float(_LAST_SECOND))
        salt = f"{self._run}\n{next(self._serial)}\n{url[:LONGEST_URL]}"
        key = int(seconds).to_bytes(4, "big") + xxhash.xxh32_digest(salt.encode("utf-8", "surrogatepass"))
        page = (canonical or url) if url_is_own else ""
        return Document(
            id=key.hex(),
            url=url[:LONGEST_URL],
            source=source_of(url),
            title=title,
            text=text,
            seen_at=seconds,
            url_identity=url_identity(page),
            article=article_number(page),
            language=language_code(language),
        )

    def _seconds(self, seen_at: float | None) -> float:
        """Return the time given, or the clock's if there is none that can be used."""
        try:
            given = math.nan if seen_at is None else float(seen_at)
        except (TypeError, ValueError, OverflowError):
            given = math.nan
        return self._clock() if math.isnan(given) else given

    def take_over(self, document: Document, sketch: bytes) -> None:
        """Take a document's sketch from the worker that extracted its text, see ``sketch.ahead``."""
        self.sketcher.take_over(document.text, *unpack_sketch(sketch))

    async def check(self, document: Document) -> Verdict:
        """The verdict for one document; it is registered in the window. Never raises for the store's sake."""
        if not has_words(document.text):
            return unchecked("no-text")
        async with self._turn:
            await self._meet([document])
            fingerprint = await self._fingerprint(document)
        # Nothing is awaited until the check is in the store's queue: documents are registered in the order of calls.
        verdict, event = await self._check(document, fingerprint)
        self._events += [event] if event else []
        await self._advance([document])
        return verdict

    async def check_in_order(self, documents: Sequence[Document]) -> list[Verdict]:
        """Verdicts as if the documents were checked one after the other; they travel to the store together."""
        # Tasks start in this order, and none waits for anything before its check is in the store's queue.
        checks: list[asyncio.Task[tuple[Verdict, StoryEvent | None]]] = []
        await self._meet(documents)
        for group in _groups(documents):
            for document, fingerprint in zip(group, await self._fingerprints(group), strict=True):
                has_text = has_words(document.text)
                judged = self._check(document, fingerprint) if has_text else _ready(unchecked("no-text"))
                checks.append(asyncio.create_task(judged))
            if self.sketcher.frequencies is not None:
                await asyncio.wait(checks)  # originals among them are learned: the next sketches depend on them
            await asyncio.sleep(0)  # the store answers these while the next are sketched
        answers = await asyncio.gather(*checks)
        self._events += [event for _, event in answers if event]
        await self._advance(documents)
        return [verdict for verdict, _ in answers]

    def take_events(self) -> list[StoryEvent]:
        """Return what the documents checked since the last call have raised, in their order.

        Events taken before count as passed on. Whoever passes events on at once calls ``confirm_events`` then: of those
        that are not confirmed within a minute, another process tells as well, under the same ``id``.
        """
        self.stories.pass_on(self._taken)
        self._taken, self._events = self._events, []
        return list(self._taken)

    async def confirm_events(self) -> None:
        """Tell the store that all events taken so far have been passed on. Never raises."""
        self.stories.pass_on(self._taken)
        self._taken = []
        if not self.breaker.is_open:
            await self._kept(self.stories.confirm())

    async def current_events(self) -> list[StoryEvent]:
        """Events that have not ended, as they stand. Raises StoreError where the store cannot be asked."""
        stories = await self.index.open_events()
        return [self.stories.current(story, await self.index.members(story.id)) for story in stories]

    async def finish(self, *, all_over: bool = False) -> None:
        """End the events that are over by now; all of them where no document will come any more. Never raises."""
        self._events += await self._kept(self.stories.finish(all_over=all_over)) or []

    async def _check(self, document: Document, fingerprint: Fingerprint) -> tuple[Verdict, StoryEvent | None]:
        if not self.breaker.allows():
            return unchecked("store-unavailable"), None
        try:
            match = await self._check_index(fingerprint, document)
            changes: tuple[Change, ...] = ()
            if match is not None and match.is_seen:
                changes = await self._changes_of(document, fingerprint, match)
            verdict = self._verdict(document, fingerprint, match, changes)
        except StoreError as error:
            self.breaker.failed(error)
            return unchecked("store-unavailable"), None
        self.breaker.succeeded()
        if match is None:
            self.sketcher.learn(document)  # a story counts once, however many papers print it
        # A text too short to be compared is a notice or a caption: copies of it are no coverage.
        if match is None or not fingerprint.signature:
            return verdict, None
        if match.is_seen and match.same_url and verdict.status != "update":
            return verdict, None
        event = await self._kept(self.stories.join(self._join(document, fingerprint, match, verdict, changes)))
        return (replace(verdict, event=event.level), event) if event else (verdict, None)

    def _join(
        self, document: Document, fingerprint: Fingerprint, match: Match, verdict: Verdict, changes: Sequence[Change]
    ) -> Join:
        # Of a related document's story the match knows no more than its key, unless it is the first document itself.
        is_first = match.original == match.story
        url, title = (match.url, match.title) if is_first else ("", "")
        # A story begins with its first copy, whose candidate is the first document; a copy of it has its language too.
        language = match.language if match.candidate == match.story or not match.related else ""
        first = Document(match.story, url, source_of(url), title, "", 0.0, language=language)
        return Join(
            self._member(first, Verdict("original")),
            self._member(document, verdict),
            # Likeness thins out from one related text to the next: past the first step it is no coverage.
            counted=(not match.is_seen or not match.same_url) and (is_first or not match.related),
            registered_before=match.registered_before,
            figures_before=b"".join(change.before for change in changes),
            figures_after=b"".join(change.after for change in changes),
            figures=value_hashes(unpack_figures(fingerprint.figures)),
            neighbour=match.neighbour,
        )

    def _member(self, document: Document, verdict: Verdict) -> Member:
        return Member(
            id=document.id,
            url=document.url,
            title=document.title or _lead(document.text),
            source=document.source,
            owner=self.settings.source_owners.get(document.source, document.source),
            status=verdict.status,
            kind=verdict.kind,
            changes=verdict.changes,
            language=document.language,
        )

    async def _advance(self, documents: Sequence[Document]) -> None:
        if self.sketcher.frequencies is not None and self.sketcher.frequencies.pending >= _LEARNED_TOGETHER:
            await self._share_frequencies()
        if (boilerplate := self.sketcher.boilerplate) is not None and boilerplate.pending >= _LEARNED_TOGETHER:
            await self._share_boilerplate()
        if not self.breaker.is_open:
            seconds = [int(document.seen_at) for document in documents]
            self._events += await self._kept(self.stories.advance(*seconds)) or []

    async def _share_frequencies(self) -> None:
        """Tell the store of features counted here, and learn of those counted elsewhere. Never raises."""
        if (frequencies := self.sketcher.frequencies) is None or self.breaker.is_open:
            return
        taken = frequencies.take_pending()
        total = await self._kept(self.index.add_frequencies(taken), "The frequencies of features")
        try:
            frequencies.replace(total or b"")
        except ValueError as error:
            frequencies.give_back(taken)
            if total is not None:
                logger.warning("Document frequencies cannot be read: %s", error)

    async def _meet(self, documents: Sequence[Document]) -> None:
        """Ask what the store knows of the sources that this process meets for the first time."""
        if (boilerplate := self.sketcher.boilerplate) is not None:
            new = boilerplate.unmet(source_hash(document.source) for document in documents if document.source)
            if new:
                await self._share_boilerplate(new)

    async def _share_boilerplate(self, asked: Iterable[bytes] = ()) -> None:
        """Tell the store what was learned of boilerplate here, and learn what was elsewhere. Never raises."""
        if (boilerplate := self.sketcher.boilerplate) is None or not self._opened or self.breaker.is_open:
            return
        taken = boilerplate.take_pending()
        # What is known everywhere comes with what is told, not with each new source.
        questions = {source: Learned() for source in asked or [EVERYWHERE]} | taken
        told: dict[bytes, Learned] | None = None
        try:
            told = await self.index.share_learned(questions)
        except StoreError as error:
            self._warn(f"What was learned of boilerplate cannot be shared: {error}")
        finally:
            if told is None:
                boilerplate.give_back(taken)
        if told is not None:
            boilerplate.merge(told)

    async def _kept(self, answer: Awaitable[R], what: str = "A story") -> R | None:
        """Return None if the store fails: a verdict is not lost for the sake of its story. Each reason is told once."""
        try:
            return await answer
        except StoreUnavailable as error:
            if not self.breaker.is_open:
                self.breaker.failed(error)
        except StoreError as error:
            self._warn(f"{what} cannot be kept: {error}")
        return None

    def _warn(self, warning: str) -> None:
        """Say it once."""
        if warning not in self._told and len(self._told) < _MOST_WARNINGS:
            self._told.add(warning)
            logger.warning("%s", warning)

    async def _check_index(self, fingerprint: Fingerprint, document: Document) -> Match | None:
        if not self._opened:
            await self.index.open()
            await self._begin()
        with self.times["check"].measure():
            return await self.index.check(fingerprint, document)

    async def _fingerprint(self, document: Document) -> Fingerprint:
        (fingerprint,) = await self._fingerprints([document])
        return fingerprint

    async def _fingerprints(self, documents: Sequence[Document]) -> list[Fingerprint]:
        # The first sketch imports scipy, which takes as long as a thousand sketches; until it is done, all go there.
        if self._sketched and sum(_effort(document.text) for document in documents) < _LONG_TEXT:
            return self.sketcher.fingerprints(documents)
        loop = asyncio.get_running_loop()
        fingerprints = await loop.run_in_executor(self._long_texts, self.sketcher.fingerprints, documents)
        self._sketched = True
        return fingerprints

    def _verdict(
        self, document: Document, fingerprint: Fingerprint, match: Match | None, changes: Sequence[Change]
    ) -> Verdict:
        if match is None or not match.is_seen or (fingerprint.is_boilerplate and not match.same_text):
            return self._first(match.story if match else document.id, fingerprint)
        status: Status
        kind: Kind | None = None
        if match.related:
            status = "related"
        elif changes or self._is_changed_page(match):
            status = "update"
        else:
            status, kind = "duplicate", self._kind(match)
            self._deliver_with_match(document, match)
        return Verdict(
            status,
            kind=kind,
            original=match.original,
            original_url=match.url or None,
            match=match.candidate,
            match_url=match.candidate_url or None,
            similarity=round(match.similarity, 4),
            containment=round(match.containment, 4),
            share=round(match.share, 4),
            would_drop=status == "duplicate" and self._would_drop(document, match),
            story=match.story,
            changes=tuple(change.line for change in changes),
        )

    @staticmethod
    def _first(story: str, fingerprint: Fingerprint) -> Verdict:
        if fingerprint.is_boilerplate:
            return unchecked("boilerplate")
        return Verdict("original", story=story) if fingerprint.signature else unchecked("too-short")

    def _deliver_with_match(self, document: Document, match: Match) -> None:
        """Deliver a copy that is dropped with its match."""
        if self.delivery is None or not self.index.policy.drops or not self._would_drop(document, match):
            return
        if not match.run:
            self.delivery.deliver([document.id])
        elif match.run == self.index.run:
            self.delivery.deliver_with(document.id, match.candidate)

    def _would_drop(self, document: Document, match: Match) -> bool:
        return match.kept_share >= self.index.policy.least_dropped_share(document.source)

    def _is_changed_page(self, match: Match) -> bool:
        if not match.same_url or match.same_text:
            return False
        return self.settings.keep_updates or match.score < self.preset.threshold

    async def _changes_of(self, document: Document, fingerprint: Fingerprint, match: Match) -> tuple[Change, ...]:
        # Also of the same body: the figure may be in a headline too short to enter the fingerprint.
        if match.figures == fingerprint.figures or not (match.figures and fingerprint.figures):
            return ()
        if len(document.text) < _LONG_TEXT:
            return self._changes(document, fingerprint, match)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._long_texts, self._changes, document, fingerprint, match)

    def _changes(self, document: Document, fingerprint: Fingerprint, match: Match) -> tuple[Change, ...]:
        try:
            old = unpack_figures(match.figures)
        except ValueError as error:
            raise StoreError(f"figures of document {match.candidate}: {error}") from error
        if not changed_figures(old, unpack_figures(fingerprint.figures)):
            return ()
        # What is packed has no labels: they are read from the text where there is something to say.
        return changed_figures(old, find_figures(document.text))

    @staticmethod
    def _kind(match: Match) -> Kind:
        if match.same_text:
            return "revisit" if match.same_url else "exact"
        ratio = match.similarity / match.containment if match.containment else 1.0
        if ratio >= _NEAR_SIZE:
            return "near"
        # What of the smaller one is in the larger is the share of the one that is smaller.
        return "abridged" if match.share >= match.containment else "extended"


def unchecked(reason: Reason) -> Verdict:
    """The verdict for what cannot be judged."""
    return Verdict("unchecked", reason=reason)


def _selection(source: str, url: str) -> Selection:
    """By the hashes the sketch makes of a document."""
    if source:
        domain = domain_of(source)
        if not domain:
            raise ValueError(f"{source!r} is no source: name a domain such as example.com, or a url of it")
        return Selection(source=domain, source_hash=source_hash(domain))
    if url:
        identity = url_identity(url)
        if not identity:
            raise ValueError(f"{url!r} is no web address: https://example.com/page")
        url_hash = xxhash.xxh64_digest(identity.encode("utf-8", "surrogatepass"))
        return Selection(url_hash=url_hash, is_page=lambda other: url_identity(other) == identity)
    return Selection()


def _groups(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """Documents that are sketched together, of a bounded length."""
    group: list[Document] = []
    characters = 0
    for document in documents:
        if group and (len(group) == _SKETCHED_TOGETHER or characters + len(document.text) >= _SKETCHED_CHARACTERS):
            yield group
            group, characters = [], 0
        group.append(document)
        characters += len(document.text)
    if group:
        yield group


def _effort(text: str) -> int:
    """Return what a text takes to sketch, in characters of prose; figures take the most."""
    return len(text) + _DIGIT_EFFORT * sum(map(text.count, "0123456789")) if len(text) < _LONG_TEXT else len(text)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _lead(text: str) -> str:
    """What stands for a missing headline: the first line that is a sentence rather than a byline."""
    lines = (line.strip() for line in text[:_MOST_OF_LEAD].split("\n", 20))
    return next((line[:_LEAD] for line in lines if len(line.split()) >= _LEAD_WORDS), "")


async def _ready(verdict: Verdict) -> tuple[Verdict, None]:
    return verdict, None
