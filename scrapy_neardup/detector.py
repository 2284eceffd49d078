"""NearDupDetector takes a document and returns its verdict. It works in any asyncio program, without Scrapy."""

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from scrapy_neardup.content.document_maker import DocumentMaker
from scrapy_neardup.content.embedding import Embedding, shared_embedding
from scrapy_neardup.content.extractors import extractor_identity
from scrapy_neardup.content.urls import require_page, url_identity
from scrapy_neardup.document import Document, Fingerprint, Verdict
from scrapy_neardup.evidence.sources import is_of_domain, require_domain, source_of
from scrapy_neardup.exceptions import StoreError, StoreUnavailable
from scrapy_neardup.index import RECORD_VERSIONS, Breaker, Index, index_from_url
from scrapy_neardup.index.batch import CheckedDocument
from scrapy_neardup.index.learned import Knowledge
from scrapy_neardup.index.runs import Run
from scrapy_neardup.index.upkeep import Selection
from scrapy_neardup.records.documents import Record
from scrapy_neardup.rules.decision import Decision, Judge
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.systems import NEWS, PUBLISHED
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch.fingerprint import Sketcher
from scrapy_neardup.sketch.origin import page_hash, source_hash
from scrapy_neardup.stories.event import StoryEvent
from scrapy_neardup.stories.rules import NEWS_AGE
from scrapy_neardup.stories.tracker import StoryTracker
from scrapy_neardup.story import Story
from scrapy_neardup.text.words import has_words

logger = logging.getLogger(__name__)

Answer = asyncio.Future[Verdict]  # to a document that waits for its verdict


def select(source: str = "", url: str = "") -> Selection:
    """Return the selection of the documents of a source, of a page, or of all documents.

    Raise ValueError if ``source`` is not a domain, or ``url`` is not a web address.
    """
    if source:
        domain = require_domain(source)
        return Selection(domain, source_hash(domain), is_named=lambda name: is_of_domain(name, domain))
    if url:
        page = require_page(url)
        return Selection(url_hash=page_hash(page), is_named=lambda name: url_identity(name) == page)
    return Selection()


class NearDupDetector:
    """Judges documents one after the other against the window, which holds the recent documents.

    ``run`` is part of every document id. If the same document is checked again in one run, it keeps its status; the
    match may be another version of its page. In another run the same page is a revisit. Without ``run`` a random one is
    drawn. With ``delivers_later`` a document counts as seen for good only after ``delivery.deliver`` was called with a
    list that has its id. If the process dies before that, the document does not count.
    """

    def __init__(
        self,
        settings: NearDupSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        run: str | None = None,
        delivers_later: bool = False,
    ) -> None:
        self.settings = settings or NearDupSettings()
        self.preset = self.settings.resolved_preset()
        self.sketcher = sketcher_of(self.settings)
        self.embedding = embedding_of(self.settings)
        self.index: Index = index_from_url(
            self.settings.store,
            namespace=self.settings.window_namespace,
            config=self.preset.config(
                records=RECORD_VERSIONS,
                embedder=self.embedding.identity if self.embedding else "",
                extractor=extractor_identity(self.settings.extractor),
            ),
            judge=judge_of(self.settings),
            timeout=self.settings.store_timeout,
        )
        self.stories = StoryTracker(
            self.index.stories,
            self.index.events,
            self.settings.event_rule,
            self.settings.events_per_day,
            min_sources=self.settings.events_min_sources,
        )
        self.breaker = Breaker()
        self.delivery = Run(self.index.runs, self.breaker) if delivers_later else None
        self.timings = Counter[str]()  # of checks
        self._waiting: dict[Answer, Document] = {}  # in the order of their calls
        self._locks = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()
        self.knowledge = Knowledge(self.sketcher, self.index.learned, self.breaker)
        self._documents = DocumentMaker(
            secrets.token_hex(8) if run is None else run, clock, self.settings.source_owners
        )
        self._is_open = False

    async def open(self) -> None:
        """Open the store. Raise StoreError if it cannot be used; ``check`` then tries again by itself."""
        try:
            async with self._lock:
                await self._begin()
        except StoreError as error:
            self.breaker.failed(error, is_known=True)
            raise
        await self.knowledge.exchange(everything=True)

    @property
    def _lock(self) -> asyncio.Lock:
        """Return the lock of this event loop. The task that holds it judges the whole queue, in order."""
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def _begin(self) -> None:
        """Open the store, and begin the run, unless that has been done."""
        if self._is_open:
            return
        await self.index.open()
        if self.delivery is not None:
            await self.delivery.begin()
            self._documents.young_until = NEWS_AGE + await self.index.runs.began(int(self._documents.seconds()))
        self._is_open = True

    async def prepare(self) -> None:
        """Import, in a thread, the modules that the first check needs. So the imports do not block the event loop."""
        await asyncio.to_thread(self._documents.prepare)
        await asyncio.to_thread(self.sketcher.prepare)

    async def close(self) -> None:
        """Wait for the checks under way and close the store."""
        try:
            async with self._lock:
                while group := self._next_group():
                    await self._check_group(group)
            if self._is_open and not self.breaker.is_open:
                await self.confirm_events()
                await self.knowledge.exchange(everything=True, least=1)
        finally:
            try:
                if self.delivery is not None:
                    await self.delivery.end()
            finally:
                await self.index.close()

    async def purge(self, *, source: str = "", url: str = "", dry_run: bool = False) -> int:
        """Remove the documents of one source or of one page. Without arguments remove the whole namespace.

        ``source`` is a domain, or any url of that domain. Copies of a removed original are removed too. Return how many
        documents are removed. With ``dry_run`` only count them. Raise StoreError if the store fails, and ValueError if
        ``source`` is not a domain or ``url`` is not a web address.
        """
        return await self.index.purge(select(source, url), dry_run=dry_run)

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
        section: str = "",
        publisher: str = "",
        site_name: str = "",
        counts_now: bool = False,
        sketch: bytes = b"",
    ) -> Document:
        """Return a document of this run. Never raises: a value that is neither text nor number counts as missing.

        ``seen_at`` is in Unix seconds; the default is the time now. ``canonical`` is the url that the page gives as
        its own. ``url_is_own`` is False if several documents share the page. ``language`` is a tag such as "pt-BR".
        ``section`` names the sections of the page, a line each; else its url does. ``publisher`` is what a feed says,
        ``site_name`` what the page says: sources with one publisher count once for events.
        ``counts_now`` is True if the page itself gives ``seen_at``. Then it counts for events at the time now, unless
        NEARDUP_SOURCE_OWNERS has its source, or the window is young, so that old pages are new to it. A time that is
        yet to come counts as now, and shows that the clock of the source is wrong. ``sketch`` is the one that a worker
        process made of this text.
        """
        return self._documents.make(
            text,
            url=url,
            title=title,
            seen_at=seen_at,
            canonical=canonical,
            url_is_own=url_is_own,
            language=language,
            section=section,
            publisher=publisher,
            site_name=site_name,
            counts_now=counts_now,
            sketch=sketch,
        )

    async def check(self, document: Document) -> Verdict:
        """Return the verdict for one document, and register it in the window.

        If the store fails the verdict is ``unchecked``; nothing is raised.
        """
        return (await self.check_in_order([document]))[0]

    async def check_in_order(self, documents: Sequence[Document]) -> list[Verdict]:
        """Return the verdicts that ``check`` would give one after the other. The documents go to the store together.

        The task that holds the lock also judges the documents of others that wait.
        """
        answers: dict[Answer, Document] = {asyncio.get_running_loop().create_future(): each for each in documents}
        for answer, document in answers.items():
            if not has_words(document.text):
                answer.set_result(Verdict("unchecked", reason="no-text"))
        self._waiting |= answers
        try:
            await asyncio.sleep(0)  # the documents of tasks that run at the same time travel together
            async with self._lock:
                while not all(answer.done() for answer in answers):
                    await self._check_group(self._next_group())
        finally:
            for answer in answers:
                del self._waiting[answer]
                if answer.done():
                    answer.exception()  # only the first one is raised, and asyncio would log the others
        return [self._final(answer.result()) for answer in answers]

    def _next_group(self) -> dict[Answer, Document]:
        """Return the first documents that wait, as many as are judged together. A preset that learns takes one."""
        most = 1 if self.preset.learns else 64
        characters = 0
        group: dict[Answer, Document] = {}
        for answer, document in self._waiting.items():
            if not answer.done():
                characters += len(document.text)  # a group of long texts would hold up the store
                if group and (len(group) == most or characters >= 30_000):
                    break
                group[answer] = document
        return group

    async def _check_group(self, group: Mapping[Answer, Document]) -> None:
        """Answer documents with their verdicts, which are ``unchecked`` if the store fails."""
        verdicts = [Verdict("unchecked", reason="store-unavailable")] * len(group)
        documents = [*group.values()]
        try:
            if self.embedding is not None:
                documents = await asyncio.gather(*map(self.embedding.ask, documents))
            if self.breaker.allows(len(group)):
                await self._begin()
                documents = list(await self.knowledge.meet(documents))  # whose sources have wrong clocks is marked
                fingerprints = await asyncio.to_thread(self.sketcher.fingerprints, documents)
                start = time.perf_counter()
                checked = await self.index.documents.check(list(zip(fingerprints, documents, strict=True)))
                self.timings.update(documents=len(group), microseconds=round(1e6 * (time.perf_counter() - start)))
                self.breaker.succeeded()
                verdicts = [
                    await self._with_event(*each) for each in zip(documents, fingerprints, checked, strict=True)
                ]
        except StoreError as error:
            self.breaker.failed(error, len(group))
        except Exception as error:
            if len(group) == 1:
                next(iter(group)).set_exception(error)
            else:  # only a document that fails alone too gets the error
                for answer, document in group.items():
                    await self._check_group({answer: document})
            return
        for answer, verdict in zip(group, verdicts, strict=True):
            answer.set_result(verdict)
        await self.knowledge.exchange()

    def _final(self, verdict: Verdict) -> Verdict:
        """Return a verdict with its final story: documents that were checked meanwhile may have united two stories."""
        if not verdict.story or (story := self.stories.final_story(verdict.story)) == verdict.story:
            return verdict
        return replace(verdict, story=story)

    async def look(self, document: Document) -> tuple[Decision, dict[bytes, Record]]:
        """Return what ``check`` would decide on a document now, and the records of all candidates, by their keys.

        This registers nothing. Raise StoreError if the store does not answer.
        """
        if self.embedding is not None:
            document = await self.embedding.ask(document)
        fingerprint = await asyncio.to_thread(self.sketcher.fingerprint, document)
        return await self.index.documents.look(fingerprint, document)

    def take_events(self) -> list[StoryEvent]:
        """Return the events that documents have raised since the last call, in the order of their times.

        This call notes that the events of the previous call have been passed on. Call ``confirm_events`` to confirm
        the returned events at once. If an event is not confirmed within a minute, another process passes it on too,
        under the same ``id``.
        """
        return self.stories.outbox.hand_out()

    async def confirm_events(self) -> None:
        """Tell the store that all events returned so far have been passed on. Never raises."""
        self.stories.outbox.pass_on()
        if not self.breaker.is_open:
            await self.breaker.ask(self.stories.outbox.confirm())

    async def final_stories(self) -> dict[str, str]:
        """Return each story of an earlier verdict that has become a part of another story, with that other story.

        Never raises. If the store does not answer, log a warning, and return those that became a part of another story
        through a document of this process.
        """
        try:
            if self.breaker.is_open:
                if not self._is_open:  # no story was read from a store that has never answered
                    return {}
                raise StoreUnavailable("it does not answer")
            return await self.stories.final_stories()
        except StoreError as error:
            logger.warning("The final stories cannot be read from the store, so some may be missing: %s", error)
            return self.stories.known_final_stories()

    async def finish(self, *, all_over: bool = False) -> None:
        """End the events that are over. With ``all_over`` no document follows, so end all events. Never raises."""
        await self.breaker.ask(self.stories.finish(all_over=all_over))

    async def _with_event(
        self, document: Document, fingerprint: Fingerprint, checked: CheckedDocument | StoreError
    ) -> Verdict:
        """Return the verdict on a document that is registered, with the event that it raised.

        Then the clock of the stories goes on: an event does not depend on what came together with its document.
        """
        if isinstance(checked, StoreError):  # data of this document is damaged: others can be judged
            self.breaker.warn_once(f"A document passes unchecked: {checked}")
            return Verdict("unchecked", reason="store-unavailable")
        verdict = checked.decision.verdict
        join = checked.decision.join
        if checked.decision.match is None:
            self.sketcher.learn(fingerprint)  # only originals: a story counts once, however many papers print it
        elif checked.asks_other_run and self.delivery is not None:
            self.delivery.asked.append(checked.key.hex())
        if isinstance(checked.story, StoreError):
            self.breaker.warn_once(f"A story cannot be written to the store: {checked.story}")
        # If the store hangs since an earlier document of the group, do not wait for it again.
        if join is not None and isinstance(checked.story, Story):
            verdict = replace(verdict, news=checked.story.news)
            if not self.breaker.is_open and (event := await self.breaker.ask(self.stories.joined(join, checked.story))):
                verdict = replace(verdict, event=event.level)
        if not self.breaker.is_open:
            await self.breaker.ask(self.stories.advance(document, self.settings.owner_of(document.source)))
        return verdict


# The parts of a detector, made from the settings


def embedding_of(settings: NearDupSettings) -> Embedding | None:
    """Return the user's language model, or None. Raise SettingsError if it does not work."""
    if settings.embedder is None or not settings.resolved_preset().topic_terms:
        return None
    return shared_embedding(settings.embedder)


def sketcher_of(settings: NearDupSettings) -> Sketcher:
    return Sketcher(settings.resolved_preset(), min_words=settings.min_words)


def judge_of(settings: NearDupSettings) -> Judge:
    """Return the judge of an index, with the policy by which it finds and judges candidates."""
    preset = settings.resolved_preset()
    policy = Policy(
        preset,
        settings.window,
        drop_share=settings.drop_share,
        drops=settings.action == "drop",
        keep_texts=settings.keep_texts,
        keep_sources=settings.keep_sources,
        keep_updates=settings.keep_updates,
    )
    system = NEWS if preset.guarded else PUBLISHED
    return Judge(policy, system, settings.owner_of, source_of)
