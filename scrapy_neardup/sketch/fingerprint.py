"""Make the fingerprint of a document. This module brings all parts of a sketch together."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import xxhash

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.figures import figures_of_body, pack_figures, with_title
from scrapy_neardup.evidence.names import NAME_WORDS, find_names, pack_names, rarest_names
from scrapy_neardup.evidence.source_boilerplate import LEAST_WORDS, SourceBoilerplate
from scrapy_neardup.evidence.templates import find_specifics
from scrapy_neardup.evidence.titles import pack_terms, site_terms, terms_of, title_terms, title_without_site
from scrapy_neardup.evidence.topic import TOPIC_WORDS, TopicWeights, read_lead, tells_title
from scrapy_neardup.evidence.vectors import VectorMeans
from scrapy_neardup.records.feature_counts import Frequencies
from scrapy_neardup.sketch.signatures import UNSIGNED, SignedText, signer_for
from scrapy_neardup.sketch.signatures.presets import Preset
from scrapy_neardup.text.body import Body, read_bodies
from scrapy_neardup.text.folding import fold
from scrapy_neardup.timings import Timings

_TEXT_KEY_SEED = 0x7E87
_URL_KEY_SEED = 0x0421
_ARTICLE_KEY_SEED = 0xA271
_NOTHING = bytes(4)  # instead of the hash of a source or article
_LEAD_CHARACTERS = 2000  # in which a text says what it is about


class Origin(NamedTuple):
    """Hashes of a document's source, page and title."""

    source_hash: bytes  # zeros if it has no source
    url_hash: bytes
    article_hash: bytes  # of source and article number, zeros if it has none
    terms: frozenset[int]  # of the title
    site_terms: frozenset[int]  # terms of the title that may be the name of the site
    page: int  # 32-bit hash of the url, or of the text if there is no url

    @property
    def article(self) -> int:
        return int.from_bytes(self.article_hash, "big")

    @classmethod
    def of(cls, document: Document) -> Origin:
        source, article = document.source, document.article
        return cls(
            source_hash(source),
            page_hash(document.url_identity),
            xxhash.xxh32_digest(_encoded(f"{source}\n{article}")) if source and article else _NOTHING,
            title_terms(title_without_site(document.title, source)),
            site_terms(document.title),
            xxhash.xxh32_intdigest(_encoded(document.url_identity or document.text)),
        )


@dataclass(frozen=True, slots=True)
class TextSketch:
    """The part of a fingerprint that depends only on the text and on which of its lines are boilerplate."""

    lines: frozenset[int]  # keys of the lines that may be boilerplate
    signed: SignedText
    text_hash: bytes
    figures: bytes
    specifics: bytes
    lead: bytes  # see evidence.topic
    names: bytes  # of the first words, see evidence.names


@dataclass(slots=True)
class Draft:
    """A text on its way to its sketch. Its body is read when somebody needs it, for a worker may have sketched it."""

    text: str
    lines: frozenset[int]  # keys of the lines that may be boilerplate
    read: Callable[[Sequence[str]], list[Body]]
    body: Body | None = None
    sketch: TextSketch | None = None  # first that of all lines, if a worker made it
    left_out: frozenset[int] = frozenset()  # keys of lines that are boilerplate
    terms_of_lines: dict[int, frozenset[int]] = field(default_factory=dict)  # by key, once somebody asked

    def read_body(self) -> Body:
        if self.body is None:
            (self.body,) = self.read([self.text])
        return self.body

    def terms_in(self, keys: frozenset[int]) -> frozenset[int]:
        """Return the terms in the lines with these keys."""
        if not self.terms_of_lines:
            lines = (line for line, is_long in self.read_body().read_lines if is_long)
            self.terms_of_lines = {line.key: terms_of(line.text) for line in lines}
        return frozenset().union(*(self.terms_of_lines.get(key, frozenset()) for key in keys))


class Sketcher:
    """Makes the fingerprints of one configuration, and learns from the documents which lines are boilerplate.

    The same documents in the same order give the same fingerprints everywhere.
    """

    def __init__(self, preset: Preset, *, min_words: int = 20, figures: bool = True, by_source: bool = False) -> None:
        """With ``by_source`` the keys of two sources differ, so copies in other sources do not crowd out candidates."""
        self.preset = preset
        self.by_source = by_source
        self.min_words = min_words
        self.figures = figures
        self.timings = Timings()
        self._sources = SourceBoilerplate()
        self.topics = TopicWeights(preset.topic_terms) if preset.topic_terms else None
        self.vector_means = VectorMeans()
        self._signer = signer_for(preset)
        self.lock = threading.Lock()  # of what is learned: long texts are sketched in a thread

    def prepare(self) -> None:
        """Read the tables that the first sketch needs: 40 ms of work."""
        self.whole("any word " * self.min_words)

    def shingle_width(self, body: Body) -> int:
        """Return how many tokens a shingle has in most of the text."""
        return self.preset.shingle_characters if body.unspaced else self.preset.shingle_words

    @property
    def boilerplate(self) -> SourceBoilerplate | None:
        """Return the learned boilerplate of sources, None if the preset removes none. Use it under ``lock``."""
        return self._sources if self.preset.guarded else None

    @property
    def all_frequencies(self) -> dict[str, Frequencies]:
        """Return all document frequencies that are learned, by the kind of what is counted. Use them under ``lock``."""
        found = {"features": self._signer.frequencies, "terms": self.topics.frequencies if self.topics else None}
        return {kind: frequencies for kind, frequencies in found.items() if frequencies is not None}

    def learn(self, fingerprint: Fingerprint) -> None:
        """Count the features of a document."""
        if self._signer.frequencies is not None and fingerprint.features is not None:
            with self.lock:
                self._signer.frequencies.learn(fingerprint.features)

    def fingerprint(self, document: Document) -> Fingerprint:
        return self.fingerprints([document])[0]

    def fingerprints(self, documents: Sequence[Document], ahead: Sequence[TextSketch | None] = ()) -> list[Fingerprint]:
        """Return the fingerprints that the documents would have if they came one after the other.

        Together they take half the time. A text with fewer than ``min_words`` words has an empty signature: only its
        hash is compared. ``ahead`` are the sketches that ``whole`` made of their texts in another process, None for a
        document that has none. Such a text is only sketched again if some of its lines are left out.
        """
        start = time.perf_counter()
        titled = self.preset.with_title
        texts = [f"{each.title}\n{each.text}" if titled and each.title else each.text for each in documents]
        drafts = self._drafts(texts, ahead or [None] * len(texts))
        origins: list[Origin] = []
        with self.lock:
            for document, draft in zip(documents, drafts, strict=True):
                origin = Origin.of(document)
                draft.left_out = self._leave_out(draft, origin)
                origins.append(self._telling(document, origin))  # before the next document teaches more
        unsketched = [draft for draft in drafts if draft.sketch is None or draft.left_out]
        if unsketched:
            runs = sum(draft.sketch is None for draft in drafts)  # a sketch that was made ahead is counted already
            self._sketch(unsketched)
            self.timings.add((time.perf_counter() - start) * 1000, runs)
        with self.lock:
            return list(map(self._fingerprint, documents, drafts, origins))

    def _fingerprint(self, document: Document, draft: Draft, origin: Origin) -> Fingerprint:
        sketch = draft.sketch
        assert sketch is not None
        source_hash = origin.source_hash
        salt = int.from_bytes(source_hash, "big") if self.by_source else 0
        is_boilerplate = bool(draft.left_out) and not sketch.signed.signature
        # A paywall notice is the same text on every page. So a text that is all boilerplate has only keys of its url.
        keys = [] if is_boilerplate else [xxhash.xxh32_intdigest(sketch.text_hash, _TEXT_KEY_SEED) ^ salt]
        if document.url_identity:
            keys.append(xxhash.xxh32_intdigest(origin.url_hash, _URL_KEY_SEED))
        if origin.article_hash != _NOTHING:
            keys.append(xxhash.xxh32_intdigest(origin.article_hash, _ARTICLE_KEY_SEED))
        topic, topic_keys = self.topics.topic(sketch.lead, origin.terms) if self.topics else (b"", ())
        names, name_keys = self._names(document, sketch) if topic else (b"", ())
        language = packed_language(document.language)
        vector = self.vector_means.centred(document.vector, language, source_hash)
        return Fingerprint(
            signature=sketch.signed.signature,
            size=sketch.signed.size,
            text_hash=sketch.text_hash,
            url_hash=origin.url_hash,
            source_hash=source_hash,
            identity_keys=tuple(keys),
            band_keys=_salted(sketch.signed.band_keys, salt),
            sample_keys=_salted(sketch.signed.sample_keys, salt),
            name_keys=_salted(name_keys, salt),
            topic_keys=_salted(topic_keys, salt),
            figures=with_title(sketch.figures, document.title, document.language) if self.figures else b"",
            topic=topic,
            names=names,
            vector=vector if topic else b"",
            specifics=sketch.specifics,
            titles=pack_terms(origin.terms) if self.preset.guarded else b"",
            article_hash=origin.article_hash,
            language=language,
            is_boilerplate=is_boilerplate,
            tells_title=tells_title(sketch.lead, origin.terms),
            features=sketch.signed.features,
        )

    def _names(self, document: Document, sketch: TextSketch) -> tuple[bytes, tuple[int, ...]]:
        """Return the rarest names of a document, packed, and their look-up keys."""
        if self.topics is None or not self.preset.names:
            return b"", ()
        of_title = pack_names(find_names([fold(document.title)], is_title=True))
        return rarest_names(of_title + sketch.names, self.topics)

    def _telling(self, document: Document, origin: Origin) -> Origin:
        """Return an origin without what does not tell the articles of its source apart."""
        if origin.source_hash == _NOTHING or not self.preset.guarded:
            return origin
        is_article = self._sources.is_article(origin.source_hash, origin.article)
        terms = origin.terms - self._usual_terms(document, origin)
        return origin._replace(terms=terms, article_hash=origin.article_hash if is_article else _NOTHING)

    def _usual_terms(self, document: Document, origin: Origin) -> frozenset[int]:
        """Return the terms of a title that do not tell articles apart: most titles of the source have them.

        A term that is in the lead of the text too does tell articles apart, unless it may be the name of the site.
        """
        usual = self._sources.usual_terms(origin.source_hash) & origin.terms
        if not usual - origin.site_terms:
            return usual
        lead = document.text[:_LEAD_CHARACTERS].replace(document.title, "")
        return usual - (terms_of(lead) - origin.site_terms)

    def whole(self, *texts: str) -> list[TextSketch]:
        """Return the sketches of texts with all their lines, boilerplate or not. Nothing is learned."""
        return self._sketch(self._drafts(texts, [None] * len(texts)))

    def _drafts(self, texts: Sequence[str], ahead: Sequence[TextSketch | None]) -> list[Draft]:
        """Read the texts of which no sketch was made ahead. They are read together."""
        unread = [text for text, sketch in zip(texts, ahead, strict=True) if sketch is None]
        bodies = iter(self.read_texts(unread) if unread else ())  # to read nothing takes as long as a short text
        drafts = []
        for text, sketch in zip(texts, ahead, strict=True):
            body = next(bodies) if sketch is None else None
            lines = self._lines(body) if body is not None else sketch.lines if sketch else frozenset()
            drafts.append(Draft(text, lines, self.read_texts, body, sketch))
        return drafts

    def _lines(self, body: Body) -> frozenset[int]:
        lines = body.kept
        return frozenset(lines.keys[lines.words >= LEAST_WORDS].tolist() if self.preset.guarded else ())

    def _leave_out(self, draft: Draft, origin: Origin) -> frozenset[int]:
        """Learn from a document; return the keys of its lines that are boilerplate of its source."""
        if not self.preset.guarded or origin.source_hash == _NOTHING:
            return frozenset()
        return self._sources.learn(
            origin.source_hash,
            origin.page,
            origin.article,
            origin.terms,
            draft.lines,
            mentioned=draft.terms_in,
            site_terms=origin.site_terms,
        )

    def read_texts(self, texts: Sequence[str]) -> list[Body]:
        """Read texts with all their lines."""
        return read_bodies(texts, min_words=self.min_words, min_block_words=self.preset.min_block_words)

    def _sketch(self, drafts: Sequence[Draft]) -> list[TextSketch]:
        """Sketch texts together, without the lines that are left out."""
        bodies = [draft.read_body().without(draft.left_out) for draft in drafts]
        long_enough = [body for body in bodies if body.words >= self.min_words]
        signed = iter(self._signer.sign(long_enough) if long_enough else ())
        specifics = iter(self._specifics(long_enough))
        sketches = []
        for draft, body in zip(drafts, bodies, strict=True):
            is_long_enough = body.words >= self.min_words
            parts = (next(signed), next(specifics)) if is_long_enough else (UNSIGNED, b"")
            draft.sketch = self._text_sketch(draft, body, *parts)
            sketches.append(draft.sketch)
        return sketches

    def _text_sketch(self, draft: Draft, body: Body, signed: SignedText, specifics: bytes) -> TextSketch:
        whole = draft.sketch
        lead, names = (whole.lead, whole.names) if whole else (b"", b"")
        figures = pack_figures(figures_of_body(body)) if self.figures else b""
        if not signed.signature:
            lead = names = b""
        elif whole is None or body.lead(TOPIC_WORDS) != body.without(frozenset()).lead(TOPIC_WORDS):
            lead = read_lead(body.lead(TOPIC_WORDS)) if self.preset.topic_terms else b""
            names = pack_names(find_names(body.lead(NAME_WORDS))) if lead and self.preset.names else b""
        return TextSketch(
            lines=draft.lines,
            signed=signed,
            text_hash=body.text_hash,
            figures=figures,
            specifics=specifics if signed.signature else b"",
            lead=lead,
            names=names,
        )

    def _specifics(self, bodies: Sequence[Body]) -> list[bytes]:
        if not self.preset.guarded:
            return [b""] * len(bodies)
        together = itertools.groupby(bodies, lambda body: id(body.reading))
        return [specifics for _, group in together for specifics in find_specifics(list(group))]


def packed_language(code: str) -> bytes:
    """Return the two letters of an ISO 639-1 code, zeros for any other."""
    packed = code.encode("ascii", "ignore")[:2]
    return packed if len(packed) == 2 else bytes(2)


def _salted(keys: tuple[int, ...], salt: int) -> tuple[int, ...]:
    return tuple(key ^ salt for key in keys) if salt else keys


def source_hash(source: str) -> bytes:
    """Return a hash of a source in 4 bytes, zeros if there is none."""
    return xxhash.xxh32_digest(_encoded(source)) if source else _NOTHING


def page_hash(identity: str) -> bytes:
    """Return a hash of a url identity in 8 bytes, zeros if it is empty."""
    return xxhash.xxh64_digest(_encoded(identity)) if identity else bytes(8)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
