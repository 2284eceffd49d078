"""Make the fingerprint of a document. This module brings all parts of a sketch together."""

import threading
from collections.abc import Sequence

import xxhash

from scrapy_neardup.document import Document, Fingerprint
from scrapy_neardup.evidence.accents import accents_of
from scrapy_neardup.evidence.figures.tolls import harm_of_head
from scrapy_neardup.evidence.names import CASELESS_WORD, find_names, pack_names, rarest_names
from scrapy_neardup.evidence.source_boilerplate import DocumentLines, SourceBoilerplate
from scrapy_neardup.evidence.titles import pack_terms, terms_of
from scrapy_neardup.evidence.tokens import signs_of
from scrapy_neardup.evidence.topic import TopicWeights, tells_title
from scrapy_neardup.evidence.vectors import VectorMeans
from scrapy_neardup.records.learned import Frequencies
from scrapy_neardup.settings.presets import Preset
from scrapy_neardup.sketch.origin import NO_HASH, Origin, packed_language
from scrapy_neardup.sketch.text_sketch import Draft, TextSketcher, unpack_sketch
from scrapy_neardup.text.folding import fold

_LEAD_CHARACTERS = 2000  # in which a text says what it is about


class Sketcher(TextSketcher):
    """Makes the fingerprints of one configuration, and learns from the documents which lines are boilerplate.

    The same documents in the same order give the same fingerprints everywhere.
    """

    def __init__(self, preset: Preset, *, min_words: int = 20) -> None:
        super().__init__(preset, min_words=min_words)
        # What is learned of sources, None if the preset removes no boilerplate. Use it under ``lock``.
        self.boilerplate = SourceBoilerplate() if preset.guarded else None
        self.topics = TopicWeights(preset.topic_terms) if preset.topic_terms else None
        self.vector_means = VectorMeans()
        self.lock = threading.Lock()  # of what is learned: long texts are sketched in a thread

    @property
    def all_frequencies(self) -> dict[str, Frequencies]:
        """Return all document frequencies that are learned, by the kind of what is counted. Use them under ``lock``."""
        counted = {"features": self._signer.frequencies, "terms": self.topics.frequencies if self.topics else None}
        return {kind: frequencies for kind, frequencies in counted.items() if frequencies is not None}

    def learn(self, fingerprint: Fingerprint) -> None:
        """Count the features of a document."""
        if self._signer.frequencies is not None and fingerprint.features is not None:
            with self.lock:
                self._signer.frequencies.learn(fingerprint.features)

    def fingerprint(self, document: Document) -> Fingerprint:
        return self.fingerprints([document])[0]

    def fingerprints(self, documents: Sequence[Document]) -> list[Fingerprint]:
        """Return the fingerprints that the documents would have if they came one after the other.

        Together they take half the time. A text with fewer than ``min_words`` words has an empty signature: only its
        hash is compared. A text that a worker sketched is only sketched again if some of its lines are left out.
        """
        with_title = self.preset.with_title
        texts = [f"{each.title}\n{each.text}" if with_title and each.title else each.text for each in documents]
        drafts = self.drafts(texts, [unpack_sketch(each.sketch) if each.sketch else None for each in documents])
        origins: list[Origin] = []
        with self.lock:
            for document, draft in zip(documents, drafts, strict=True):
                origin = Origin.of(document)
                if self.boilerplate is not None and origin.source_hash != NO_HASH:
                    draft.left_out = self.boilerplate.learn(
                        origin.source_hash,
                        origin.page,
                        origin.article,
                        origin.terms,
                        draft.lines,
                        DocumentLines(document, draft.read_body),
                        origin.site_terms,
                    )
                origins.append(self._without_usual_terms(document, origin))  # before the next document teaches more
        self.sketch([draft for draft in drafts if draft.sketch is None or draft.left_out])
        with self.lock:
            return list(map(self._fingerprint, documents, drafts, origins))

    def _fingerprint(self, document: Document, draft: Draft, origin: Origin) -> Fingerprint:
        sketch = draft.sketch
        assert sketch is not None
        is_boilerplate = bool(draft.left_out) and not sketch.signed.signature
        # A paywall notice is the same text on every page. So a text that is all boilerplate has only keys of its url.
        # Each kind of key has a seed of its own.
        keys = [] if is_boilerplate else [xxhash.xxh32_intdigest(sketch.text_hash, 0x7E87)]
        if document.url_identity:
            keys.append(xxhash.xxh32_intdigest(origin.url_hash, 0x0421))
        if origin.article_hash != NO_HASH:
            keys.append(xxhash.xxh32_intdigest(origin.article_hash, 0xA271))
        topic, topic_keys = self.topics.topic(sketch.lead, origin.terms) if self.topics else (b"", ())
        names = b""
        name_keys: tuple[int, ...] = ()
        # In German each noun has a capital, so it tells as little.
        caseless = document.language == "de" or bool(
            CASELESS_WORD.search(document.title + document.text[:_LEAD_CHARACTERS])
        )
        if self.topics and self.preset.names and (topic or (caseless and sketch.lead)):
            of_title = pack_names(find_names([fold(document.title)], is_title=True))
            tolls = harm_of_head(document.title, document.text, document.language)
            names, name_keys = rarest_names(of_title + sketch.names, self.topics, caseless=caseless, tolls=tolls)
        # One spelling for what a reader cannot tell apart; and signs and accents, which are no tokens: "$3" and "£3"
        # would be equal.
        words = " ".join(
            [*fold(document.title).casefold().split(), *signs_of(document.text), *accents_of(document.text)]
        )
        language = packed_language(document.language)
        vector = self.vector_means.centred(document.vector, language, origin.source_hash)
        return Fingerprint(
            signature=sketch.signed.signature,
            size=sketch.signed.size,
            text_hash=sketch.text_hash,
            url_hash=origin.url_hash,
            source_hash=origin.source_hash,
            identity_keys=tuple(keys),
            band_keys=sketch.signed.band_keys,
            sample_keys=sketch.signed.sample_keys,
            name_keys=name_keys,
            topic_keys=topic_keys,
            topic=topic,
            names=names,
            vector=vector if topic else b"",
            titles=pack_terms(origin.terms) if self.preset.guarded else b"",
            article_hash=origin.article_hash,
            content_hash=xxhash.xxh64_digest(sketch.content_hash + words.encode("utf-8", "surrogatepass")),
            language=language,
            learned=DocumentLines(document, draft.read_body).texts_of(draft.left_out),
            is_boilerplate=is_boilerplate,
            tells_title=tells_title(sketch.lead, origin.terms),
            features=sketch.signed.features,
        )

    def _without_usual_terms(self, document: Document, origin: Origin) -> Origin:
        """Return an origin without what does not tell the articles of its source apart."""
        if origin.source_hash == NO_HASH or self.boilerplate is None:
            return origin
        if not self.boilerplate.is_article(origin.source_hash, origin.article):
            origin = origin._replace(article_hash=NO_HASH)
        # Terms that most titles of the source have do not tell articles apart, unless the lead of the text has them too
        # and they are not the name of the site.
        usual = self.boilerplate.usual_terms(origin.source_hash) & origin.terms
        if usual - origin.site_terms:
            lead = document.text[:_LEAD_CHARACTERS].replace(document.title, "")
            usual -= terms_of(lead) - origin.site_terms
        return origin._replace(terms=origin.terms - usual)
